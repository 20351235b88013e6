// Answers flare's client (tests/python/test_client_peers.py): prints a port
// that speaks plainly, then one that speaks TLS, then one that speaks HTTP/2
// inside of TLS.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

func text(w http.ResponseWriter, _ *http.Request) {
	io.WriteString(w, "hello")
}

func chunked(w http.ResponseWriter, _ *http.Request) {
	for i := 0; i < 64; i++ {
		w.Write(bytes.Repeat([]byte{byte('a' + i%16)}, 1000))
		w.(http.Flusher).Flush()
	}
}

func coded(w http.ResponseWriter, request *http.Request) {
	text := []byte(strings.Repeat("coded", 20_000))
	if !strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
		w.Write(text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	writer := gzip.NewWriter(w)
	writer.Write(text)
	writer.Close()
}

func echo(w http.ResponseWriter, request *http.Request) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		log.Print(err)
		return
	}
	framing := fmt.Sprint(request.ContentLength)
	if request.ContentLength < 0 {
		framing = "none"
	}
	if len(request.TransferEncoding) > 0 {
		framing = request.TransferEncoding[0]
	}
	w.Header().Set("X-Framing", framing)
	w.Write(content)
}

func last(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	io.WriteString(w, "bye")
}

func main() {
	folder := os.Args[1]
	log.SetFlags(0)
	certificate, err := tls.LoadX509KeyPair(
		folder+"/server.pem", folder+"/server.key")
	if err != nil {
		log.Fatal(err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/text", text)
	routes.HandleFunc("/chunked", chunked)
	routes.HandleFunc("/coded", coded)
	routes.HandleFunc("/echo", echo)
	routes.HandleFunc("/last", last)
	routes.Handle("/moved", http.RedirectHandler("/text", http.StatusFound))
	routes.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	for _, secure := range []bool{false, true} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(listener.Addr().(*net.TCPAddr).Port)
		if secure {
			listener = tls.NewListener(listener, &tls.Config{
				Certificates: []tls.Certificate{certificate},
			})
		}
		go http.Serve(listener, routes)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: routes}
	log.Fatal(server.ServeTLS(
		listener, folder+"/server.pem", folder+"/server.key"))
}
