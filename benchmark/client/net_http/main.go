// Command net_http asks with the client of Go's standard library:
// PORT CONCURRENCY WARM_UP REQUESTS.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var input = bufio.NewReader(os.Stdin)

func main() {
	var numbers [4]int
	for i := range numbers {
		number, err := strconv.Atoi(os.Args[i+1])
		if err != nil {
			log.Fatal(err)
		}
		numbers[i] = number
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/plaintext", numbers[0])
	// By default only two connections are kept for later.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = numbers[1]
	client := &http.Client{Transport: transport}
	all(client, url, numbers[1], numbers[2])
	tell("ready")
	all(client, url, numbers[1], numbers[3])
	tell("done")
}

func all(client *http.Client, url string, concurrency, requests int) {
	var left atomic.Int64
	left.Store(int64(requests))
	var group sync.WaitGroup
	for range concurrency {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				ask(client, url)
			}
		})
	}
	group.Wait()
}

func ask(client *http.Client, url string) {
	response, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || len(content) != 13 {
		log.Fatal("not the content: ", err)
	}
}

func tell(word string) {
	fmt.Println(word)
	input.ReadString('\n')
}
