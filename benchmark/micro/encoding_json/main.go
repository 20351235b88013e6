// Measures encoding/json of Go's standard library on the products of
// ../bench_json.mojo.
//
// The batches and the line for each case are those of ../measure.mojo.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	listed   = 25
	batches  = 21
	batch    = time.Millisecond
	warmUp   = 20 * time.Millisecond
	fraction = 1e9
)

type attributes struct {
	Color    string `json:"color"`
	Country  string `json:"country"`
	Finish   string `json:"finish"`
	Material string `json:"material"`
	Model    string `json:"model"`
	Warranty string `json:"warranty"`
	Weight   string `json:"weight"`
}

type product struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Brand       string     `json:"brand"`
	Category    string     `json:"category"`
	Price       float64    `json:"price"`
	Rating      float64    `json:"rating"`
	ReviewCount int        `json:"review_count"`
	Description string     `json:"description"`
	Tags        []string   `json:"tags"`
	Attributes  attributes `json:"attributes"`
	Images      []string   `json:"images"`
}

func run(operation func(), calls int) time.Duration {
	began := time.Now()
	for range calls {
		operation()
	}
	return time.Since(began)
}

func measure(name string, octets int, operation func()) {
	calls := 1
	var spent time.Duration
	for {
		took := run(operation, calls)
		spent += took
		if took < batch {
			calls *= 2
		} else if spent >= warmUp {
			break
		}
	}
	figures := make([]float64, batches)
	for i := range figures {
		figures[i] = float64(run(operation, calls)) / float64(calls)
	}
	slices.Sort(figures)
	median := figures[batches/2]
	fmt.Printf("json/%s\t%.2f\t%.2f\t%.0f\n",
		name, figures[0], median, float64(octets)/median*fraction)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func measureAll[T any](name string, text []byte) {
	measure("loads "+name, len(text), func() {
		var value any
		must(json.Unmarshal(text, &value))
	})
	measure("decode "+name, len(text), func() {
		var value T
		must(json.Unmarshal(text, &value))
	})
	var value any
	must(json.Unmarshal(text, &value))
	measure("dumps value "+name, len(text), func() {
		_, err := json.Marshal(value)
		must(err)
	})
	var typed T
	must(json.Unmarshal(text, &typed))
	measure("dumps struct "+name, len(text), func() {
		_, err := json.Marshal(typed)
		must(err)
	})
}

func main() {
	// One core, as the others have.
	runtime.GOMAXPROCS(1)
	content, err := os.ReadFile(os.Args[1])
	must(err)
	var texts []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "{") {
			texts = append(texts, strings.TrimRight(line, ",\n"))
		}
	}
	list := "[" + strings.Join(texts[:listed], ",") + "]"
	measureAll[product]("product", []byte(texts[0]))
	measureAll[[]product]("list", []byte(list))
}
