// Package catalogue holds the product pool, and what every Go server does
// with it alike.
package catalogue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"log"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
)

const (
	listLength    = 25
	pickCount     = 100
	binCount      = 10
	topCount      = 5
	generatorSeed = 0x9E3779B97F4A7C15
)

// Options are the flags that every server takes.
type Options struct {
	Port         int
	Workers      int
	Prefork      bool
	Products     string
	Certificates string
	Protocol     string
}

// OptionsFromFlags reads the flags, and lets as many threads run Go code at
// once as there are workers.
func OptionsFromFlags() Options {
	var options Options
	flag.IntVar(&options.Port, "port", 8080, "port of 127.0.0.1")
	flag.IntVar(&options.Workers, "workers", 1, "threads, or processes")
	flag.BoolVar(&options.Prefork, "prefork", false, "a process per worker")
	flag.StringVar(&options.Products, "products", "", "file of the pool")
	flag.StringVar(&options.Certificates, "certificates", "", "folder; for TLS")
	flag.StringVar(&options.Protocol, "protocol", "", "h2c: HTTP/2 without TLS too")
	flag.Parse()
	runtime.GOMAXPROCS(options.Workers)
	return options
}

type priced struct {
	price float64
	brand int
}

// Catalogue holds the JSON text of products and lists, the fields that are
// computed with, and the counters of this process.
type Catalogue struct {
	products [][]byte
	lists    [][]byte
	priced   []priced
	brands   []string

	read      atomic.Uint64
	list      atomic.Uint64
	generator atomic.Uint64
}

// Load reads the pool, or ends the program.
func Load(path string) *Catalogue {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(text, &texts); err != nil {
		log.Fatal(err)
	}
	catalogue := &Catalogue{}
	catalogue.generator.Store(generatorSeed)
	for _, text := range texts {
		catalogue.add(text)
	}
	for products := range slices.Chunk(catalogue.products, listLength) {
		list := slices.Concat(
			[]byte("["), bytes.Join(products, []byte(",")), []byte("]"))
		catalogue.lists = append(catalogue.lists, list)
	}
	return catalogue
}

func (catalogue *Catalogue) add(text []byte) {
	var product struct {
		Brand string  `json:"brand"`
		Price float64 `json:"price"`
	}
	if err := json.Unmarshal(text, &product); err != nil {
		log.Fatal(err)
	}
	brand := slices.Index(catalogue.brands, product.Brand)
	if brand < 0 {
		brand = len(catalogue.brands)
		catalogue.brands = append(catalogue.brands, product.Brand)
	}
	catalogue.products = append(catalogue.products, text)
	catalogue.priced = append(
		catalogue.priced, priced{product.Price, brand})
}

// Product gives the next product.
func (catalogue *Catalogue) Product() []byte {
	number := catalogue.read.Add(1) - 1
	return catalogue.products[number%uint64(len(catalogue.products))]
}

// List gives the next list of products.
func (catalogue *Catalogue) List() []byte {
	number := catalogue.list.Add(1) - 1
	return catalogue.lists[number%uint64(len(catalogue.lists))]
}

type brandCount struct {
	Brand string `json:"brand"`
	Count int    `json:"count"`
}

type statistics struct {
	Count                  int           `json:"count"`
	MeanCents              int64         `json:"mean_cents"`
	StandardDeviationCents int64         `json:"standard_deviation_cents"`
	Histogram              [binCount]int `json:"histogram"`
	TopBrands              []brandCount  `json:"top_brands"`
}

// Statistics gives statistics of products picked at random, as JSON.
func (catalogue *Catalogue) Statistics() []byte {
	var picks [pickCount]priced
	catalogue.pick(&picks)
	slices.SortFunc(picks[:], func(a, b priced) int {
		return cmp.Compare(a.price, b.price)
	})
	var sum, squares float64
	for _, pick := range picks {
		sum += pick.price
	}
	mean := sum / pickCount
	for _, pick := range picks {
		// The conversion keeps product and sum from being fused, which
		// would round otherwise than the other servers do.
		squares += float64((pick.price - mean) * (pick.price - mean))
	}
	result := statistics{
		Count:     pickCount,
		MeanCents: int64(math.Round(mean * 100)),
		StandardDeviationCents: int64(
			math.Round(math.Sqrt(squares/pickCount) * 100)),
		TopBrands: catalogue.topBrands(&picks),
	}
	low := picks[0].price
	span := picks[pickCount-1].price - low
	for _, pick := range picks {
		bin := int((pick.price - low) * binCount / span)
		result.Histogram[min(bin, binCount-1)]++
	}
	text, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return text
}

func (catalogue *Catalogue) topBrands(picks *[pickCount]priced) []brandCount {
	counts := make([]int, len(catalogue.brands))
	for _, pick := range picks {
		counts[pick.brand]++
	}
	top := make([]brandCount, 0, len(counts))
	for brand, count := range counts {
		if count > 0 {
			top = append(top, brandCount{catalogue.brands[brand], count})
		}
	}
	slices.SortFunc(top, func(a, b brandCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Brand, b.Brand))
	})
	return top[:min(topCount, len(top))]
}

func (catalogue *Catalogue) pick(picks *[pickCount]priced) {
	for {
		before := catalogue.generator.Load()
		state := before
		for i := range picks {
			number := step(&state) >> 32
			picks[i] = catalogue.priced[number%uint64(len(catalogue.priced))]
		}
		if catalogue.generator.CompareAndSwap(before, state) {
			return
		}
	}
}

// step draws by xorshift64*.
func step(state *uint64) uint64 {
	*state ^= *state >> 12
	*state ^= *state << 25
	*state ^= *state >> 27
	return *state * 0x2545F4914F6CDD1D
}
