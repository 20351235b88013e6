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
	Database     string
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
	flag.StringVar(&options.Database, "database", "", "URL of stored products")
	flag.Parse()
	runtime.GOMAXPROCS(options.Workers)
	return options
}

// Source gives the contents of the routes about products.
type Source interface {
	// Product gives the next product.
	Product() ([]byte, error)
	// List gives the next list of products.
	List() ([]byte, error)
	// Statistics gives statistics of products picked at random, as JSON.
	Statistics() ([]byte, error)
}

// Open gives the products in memory, or those in the database that the options
// name; it may end the program.
func Open(options Options) Source {
	if options.Database != "" {
		return openStored(options)
	}
	return load(options.Products)
}

// turns are the counters of this process.
type turns struct {
	read      atomic.Uint64
	list      atomic.Uint64
	generator atomic.Uint64
}

type priced struct {
	price float64
	brand int
}

// catalogue holds the JSON text of products and lists, and the fields that are
// computed with.
type catalogue struct {
	turns

	products [][]byte
	lists    [][]byte
	priced   []priced
	brands   []string
}

func load(path string) *catalogue {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(text, &texts); err != nil {
		log.Fatal(err)
	}
	catalogue := &catalogue{}
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

func (catalogue *catalogue) add(text []byte) {
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

func (catalogue *catalogue) Product() ([]byte, error) {
	number := catalogue.read.Add(1) - 1
	return catalogue.products[number%uint64(len(catalogue.products))], nil
}

func (catalogue *catalogue) List() ([]byte, error) {
	number := catalogue.list.Add(1) - 1
	return catalogue.lists[number%uint64(len(catalogue.lists))], nil
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

func (catalogue *catalogue) Statistics() ([]byte, error) {
	var picks [pickCount]priced
	for i, number := range catalogue.draw(len(catalogue.priced)) {
		picks[i] = catalogue.priced[number]
	}
	return summedUp(&picks, catalogue.brands)
}

func summedUp(picks *[pickCount]priced, brands []string) ([]byte, error) {
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
		TopBrands: topBrands(picks, brands),
	}
	low := picks[0].price
	span := picks[pickCount-1].price - low
	for _, pick := range picks {
		bin := int((pick.price - low) * binCount / span)
		result.Histogram[min(bin, binCount-1)]++
	}
	return json.Marshal(result)
}

func topBrands(picks *[pickCount]priced, brands []string) []brandCount {
	counts := make([]int, len(brands))
	for _, pick := range picks {
		counts[pick.brand]++
	}
	top := make([]brandCount, 0, len(counts))
	for brand, count := range counts {
		if count > 0 {
			top = append(top, brandCount{brands[brand], count})
		}
	}
	slices.SortFunc(top, func(a, b brandCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Brand, b.Brand))
	})
	return top[:min(topCount, len(top))]
}

// draw gives the numbers of the products that are picked.
func (turns *turns) draw(products int) (numbers [pickCount]int32) {
	for {
		before := turns.generator.Load()
		state := before
		for i := range numbers {
			numbers[i] = int32((step(&state) >> 32) % uint64(products))
		}
		if turns.generator.CompareAndSwap(before, state) {
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
