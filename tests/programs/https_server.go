// Serves HTTPS for flare's client (tests/python/test_tls_servers.py): prints a
// port that asks for no certificate, then one that insists on one, then two that
// show a certificate whose key they do not have, by TLS 1.2 and by TLS 1.3.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	folder := os.Args[1]
	certificate, err := tls.LoadX509KeyPair(
		folder+"/server.pem", folder+"/server.key")
	if err != nil {
		log.Fatal(err)
	}
	authority, err := os.ReadFile(folder + "/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	other, err := tls.LoadX509KeyPair(folder+"/other.pem", folder+"/other.key")
	if err != nil {
		log.Fatal(err)
	}
	stolen := certificate
	stolen.PrivateKey = other.PrivateKey
	log.SetFlags(0)
	for _, config := range []tls.Config{
		{Certificates: []tls.Certificate{certificate}},
		{
			Certificates: []tls.Certificate{certificate},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    trusted,
		},
		{
			Certificates: []tls.Certificate{stolen},
			MaxVersion:   tls.VersionTLS12,
		},
		{
			Certificates: []tls.Certificate{stolen},
			MinVersion:   tls.VersionTLS13,
		},
	} {
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &config)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(listener.Addr().String()[len("127.0.0.1:"):])
		go http.Serve(listener, http.HandlerFunc(answer))
	}
	select {}
}

func answer(w http.ResponseWriter, request *http.Request) {
	name := "nobody"
	if shown := request.TLS.PeerCertificates; len(shown) > 0 {
		name = shown[0].Subject.CommonName
	}
	fmt.Fprintln(w, "hello", name)
}
