// Holds the conversation of tests/python/test_h2_clients.py with the HTTP/2 of
// Go: the URL of a server, and the certificate of its authority. With two numbers,
// it only reads as much, in pieces of so many octets.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync"
)

var client http.Client

func ask(request *http.Request) (*http.Response, []byte) {
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		log.Fatal(response.Proto)
	}
	octets, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	return response, octets
}

func request(method, url string, content io.Reader) *http.Request {
	made, err := http.NewRequest(method, url, content)
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func readInPieces(url, octets string) {
	response, err := client.Do(request("GET", url, nil))
	if err != nil {
		log.Fatal(err)
	}
	count, err := strconv.Atoi(octets)
	if err != nil {
		log.Fatal(err)
	}
	piece := make([]byte, count)
	total := 0
	for err == nil {
		count, err = response.Body.Read(piece)
		total += count
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	fmt.Println("read", total)
}

func main() {
	url := os.Args[1]
	authority, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client.Transport = &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: trusted},
		ForceAttemptHTTP2: true,
		MaxConnsPerHost:   1,
	}
	if len(os.Args) > 3 {
		readInPieces(url+"/stream/"+os.Args[3], os.Args[4])
		return
	}
	var group sync.WaitGroup
	var right sync.Map
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			_, octets := ask(request("GET", fmt.Sprintf("%s/users/%d", url, i), nil))
			if string(octets) == fmt.Sprintf("user %d", i) {
				right.Store(i, true)
			}
		}(i)
	}
	group.Wait()
	users := 0
	right.Range(func(_, _ interface{}) bool { users++; return true })
	fmt.Println("users", users)
	content := bytes.Repeat([]byte("abcdefg"), 1000000/7+1)[:1000000]
	_, sum := ask(request("POST", url+"/sum", bytes.NewReader(content)))
	fmt.Println("sum", string(sum))
	_, octets := ask(request("GET", url+"/stream/3000000", nil))
	wrong := 0
	for i, octet := range octets {
		if int(octet) != i%251 {
			wrong++
		}
	}
	fmt.Println("stream", len(octets), wrong)
	traced, _ := ask(request("POST", url+"/sum-trailer", strings.NewReader("abc")))
	fmt.Println("trailer", traced.Trailer.Get("X-Octets"))
	hinted := request("GET", url+"/hints", nil)
	early := 0
	hinted = hinted.WithContext(httptrace.WithClientTrace(
		hinted.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(status int, _ textproto.MIMEHeader) error {
				early = status
				return nil
			},
		}))
	_, text := ask(hinted)
	fmt.Println("hints", early, string(text))
	raised, _ := ask(request("GET", url+"/raise", nil))
	fmt.Println("raised", raised.StatusCode)
}
