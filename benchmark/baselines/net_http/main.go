// Command net_http serves the benchmark with Go's standard library.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"baselines/catalogue"

	"github.com/gorilla/websocket"
)

func main() {
	options := catalogue.OptionsFromFlags()
	pool := catalogue.Open(options)
	hello := []byte("Hello, World!")
	message := []byte(`{"message":"hi"}`)

	http.HandleFunc("GET /plaintext", func(w http.ResponseWriter, r *http.Request) {
		answer(w, "text/plain", hello)
	})
	http.HandleFunc("GET /simple", func(w http.ResponseWriter, r *http.Request) {
		answer(w, "application/json", message)
	})
	http.HandleFunc("GET /read", func(w http.ResponseWriter, r *http.Request) {
		answerFrom(w, pool.Product)
	})
	http.HandleFunc("GET /list", func(w http.ResponseWriter, r *http.Request) {
		answerFrom(w, pool.List)
	})
	http.HandleFunc("GET /compute", func(w http.ResponseWriter, r *http.Request) {
		answerFrom(w, pool.Statistics)
	})
	http.HandleFunc("GET /delay", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * time.Millisecond)
		answer(w, "text/plain", hello)
	})
	http.HandleFunc("GET /ws", echo)
	http.HandleFunc("POST /upload", upload)
	http.HandleFunc("GET /download/{octets}", download)
	files := http.Dir(filepath.Join(filepath.Dir(options.Products), "files"))
	http.Handle("GET /files/", http.StripPrefix("/files", served(files)))

	address := fmt.Sprintf("127.0.0.1:%d", options.Port)
	if options.Certificates != "" {
		// HTTP/2 comes with it.
		log.Fatal(http.ListenAndServeTLS(address,
			options.Certificates+"/server.pem",
			options.Certificates+"/server.key", nil))
	}
	server := http.Server{Addr: address}
	if options.Protocol == "h2c" {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetUnencryptedHTTP2(true)
	}
	log.Fatal(server.ListenAndServe())
}

func answer(w http.ResponseWriter, mediaType string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}

// answerFrom answers with what a source gives.
func answerFrom(w http.ResponseWriter, source func() ([]byte, error)) {
	content, err := source()
	if err != nil {
		http.Error(w, "", http.StatusServiceUnavailable)
		return
	}
	answer(w, "application/json", content)
}

// served gives files the type that others give them without a table.
func served(folder http.Dir) http.Handler {
	files := http.FileServer(folder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		files.ServeHTTP(w, r)
	})
}

var upgrader = websocket.Upgrader{}

func echo(w http.ResponseWriter, r *http.Request) {
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer socket.Close()
	for {
		kind, message, err := socket.ReadMessage()
		if err != nil {
			return
		}
		if err := socket.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

func upload(w http.ResponseWriter, r *http.Request) {
	length, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, "unreadable content", http.StatusBadRequest)
		return
	}
	answer(w, "text/plain", strconv.AppendInt(nil, length, 10))
}

func download(w http.ResponseWriter, r *http.Request) {
	octets, err := strconv.Atoi(r.PathValue("octets"))
	if err != nil || octets < 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(octets))
	source := catalogue.Filler{Remaining: octets}
	source.WriteTo(w)
}
