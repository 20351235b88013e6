#!/bin/sh
# Makes the certificates of the tests in the folder given, unless they are
# there and young enough.
set -eu
case $1 in
    /*) folder=$1 ;;
    *) folder=$PWD/$1 ;;
esac
if [ -n "$(find "$folder/done" -newer "$0" -mmin -720 2>/dev/null)" ]; then
    exit 0
fi
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
here=$PWD
cd "$work"
exec 2>log

new_key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

authority() { # NAME SUBJECT
    # shellcheck disable=SC2086
    openssl req -config authority.cnf -x509 $new_key -keyout "$1.key" \
        -out "$1.pem" -days 30 -subj "$2" -extensions authority
    : >"$1.index"
}

# What openssl takes from a file: `ca` alone can date certificates freely.
cat >authority.cnf <<'END'
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ca]
default_ca = given
[given]
new_certs_dir = .
database = ${ENV::AUTHORITY}.index
certificate = ${ENV::AUTHORITY}.pem
private_key = ${ENV::AUTHORITY}.key
default_md = sha256
default_days = 30
policy = any
unique_subject = no
copy_extensions = copy
rand_serial = yes
email_in_dn = no
[any]
commonName = supplied
organizationName = optional
END
export AUTHORITY=ca
purpose=

leaf() { # NAME SUBJECT ALTERNATIVE-NAMES [OPTION OF ca …]
    name=$1 subject=$2 names=$3
    shift 3
    # shellcheck disable=SC2086
    openssl req -config authority.cnf $new_key -keyout "$name.key" \
        -out "$name.csr" -subj "$subject" \
        ${names:+-addext "subjectAltName=$names"} \
        ${purpose:+-addext "extendedKeyUsage=$purpose"}
    openssl ca -config authority.cnf -batch -notext -in "$name.csr" \
        -out "$name.pem" "$@"
}

authority ca "/CN=Test authority"
authority other_ca "/CN=Other authority"
leaf server /CN=server "DNS:localhost,DNS:server.test,IP:127.0.0.1,IP:::1"
leaf other "/CN=other" "DNS:other.test,DNS:*.wild.test"
leaf client "/O=Flare/CN=client, \"x\"" "DNS:client.test"
leaf renewed /CN=renewed "DNS:localhost"
leaf expired /CN=expired "DNS:localhost" \
    -startdate 20200101000000Z -enddate 20200201000000Z
leaf early /CN=early "DNS:localhost" \
    -startdate 20480101000000Z -enddate 20490101000000Z
leaf nameless /CN=localhost ""
leaf addressed /CN=localhost "IP:127.0.0.1"
leaf mapped /CN=mapped "IP:::ffff:127.0.0.1"
purpose=clientAuth
leaf for_clients /CN=for_clients "DNS:localhost"
purpose=serverAuth
leaf for_servers /CN=for_servers "DNS:localhost"
purpose=
# An authority in between: shown with the certificate, and forgotten.
# shellcheck disable=SC2086
openssl req -config authority.cnf -x509 -CA ca.pem -CAkey ca.key $new_key \
    -keyout middle.key -out middle.pem -days 30 -subj "/CN=Middle authority" \
    -extensions authority
: >middle.index
AUTHORITY=middle
leaf unchained /CN=unchained "DNS:localhost"
cp unchained.key chained.key
cat unchained.pem middle.pem >chained.pem
AUTHORITY=other_ca
leaf stranger /CN=stranger "DNS:localhost"
# shellcheck disable=SC2086
openssl req -config authority.cnf -x509 $new_key -keyout self_signed.key \
    -out self_signed.pem -days 30 -subj /CN=self \
    -addext subjectAltName=DNS:localhost
# Two clients whose names differ behind 6,000 octets.
units=$(for unit in $(seq 100); do printf '/OU=%060d' "$unit"; done)
for end in a b; do
    # shellcheck disable=SC2086
    openssl req -config authority.cnf -x509 -CA ca.pem -CAkey ca.key $new_key \
        -keyout "long_$end.key" -out "long_$end.pem" -days 30 \
        -subj "/O=$end$units/CN=long"
done
openssl req -config authority.cnf -x509 -newkey rsa:1024 -nodes \
    -keyout weak.key -out weak.pem -days 30 -subj /CN=weak
openssl req -config authority.cnf -x509 -newkey rsa:2048 -nodes \
    -keyout rsa.key -out rsa.pem -days 30 -subj /CN=rsa \
    -addext subjectAltName=DNS:localhost
openssl pkey -in server.key -aes128 -passout pass:secret -out encrypted.key
head -c 200 server.pem >truncated.pem
openssl x509 -in server.pem -outform DER -out server.der
openssl ocsp -index ca.index -CA ca.pem -issuer ca.pem -cert server.pem \
    -rsigner ca.pem -rkey ca.key -ndays 30 -respout status.der >&2
head -c 200 status.der >half_status.der
# The authority says only that it is asked too much (tryLater).
printf '\060\003\012\001\003' >no_status.der
: >empty.pem
rm -f ./*.csr
touch done
cd "$here"
rm -rf "$folder"
# Another process may have been faster; its certificates are as good.
mv -T "$work" "$folder" 2>/dev/null || [ -e "$folder/done" ]
