// Package talk has what the peers of tests/interop in Go share.
package talk

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

const (
	MessageOctetsMax = 16 << 20
	Deflate          = "deflate"
)

var (
	Sizes     = []int{0, 5, 125, 126, 65_535, 65_536, 1 << 20}
	Parts     = []string{"é", "", "漢字", "😀"}
	Whole     = strings.Join(Parts, "")
	Protocols = []string{"v1.test", "v2.test"}
)

// Text gives the text of a size.
func Text(size int) string {
	octets := make([]byte, size)
	for i := range octets {
		octets[i] = byte(97 + i*7%26)
	}
	return string(octets)
}

// Check ends the program with an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Expect ends the program unless both are the same.
func Expect(what string, found, wanted any) {
	if found != wanted {
		Check(fmt.Errorf("%s: %.80v, not %.80v", what, found, wanted))
	}
}

// ClientTLS trusts the authority of a file; none where there is no file.
func ClientTLS(arguments []string) *tls.Config {
	if len(arguments) == 0 {
		return nil
	}
	pem, err := os.ReadFile(arguments[0])
	Check(err)
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: authorities}
}

// ExpectCompression checks what the handshake agreed on.
func ExpectCompression(response *http.Response, compression string) {
	extensions := response.Header.Get("Sec-WebSocket-Extensions")
	Expect(
		"compression", strings.HasPrefix(extensions, "permessage-deflate"),
		compression == Deflate,
	)
}

// Serve serves until the program is ended, inside of TLS with a folder of
// certificates.
func Serve(handle http.HandlerFunc, arguments []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: handle}
	if len(arguments) == 0 {
		Check(server.Serve(listener))
	}
	folder := arguments[0]
	Check(server.ServeTLS(listener, folder+"/server.pem", folder+"/server.key"))
}

// Main plays the role that the program is asked for.
func Main(
	converse func(url, compression string, rest []string),
	serve func(compression string, rest []string),
) {
	if os.Args[1] == "server" {
		serve(os.Args[2], os.Args[3:])
	} else {
		converse(os.Args[2], os.Args[3], os.Args[4:])
	}
}
