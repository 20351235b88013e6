// Asks an HTTPS server three times on one connection
// (tests/python/test_loopback_https.py).
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	authority, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted},
	}}
	for i := 0; i < 3; i++ {
		response, err := client.Get("https://127.0.0.1:" + os.Args[2] + "/")
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		fmt.Println(string(text))
	}
}
