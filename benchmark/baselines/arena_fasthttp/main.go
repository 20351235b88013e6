// Command arena_fasthttp serves the arena's profiles with fasthttp.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"baselines/echoing"

	"github.com/valyala/fasthttp"
)

const (
	contentMax  = 32 << 20
	brotliLevel = 2
	otherLevel  = fasthttp.CompressDefaultCompression
	delayMax    = 30_000
	certificate = "/server.crt"
	key         = "/server.key"
	octetStream = "application/octet-stream"
	pagePrefix  = "/json/"
	delayPrefix = "/delay/"
)

type rating struct {
	Score int `json:"score"`
	Count int `json:"count"`
}

type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int      `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   rating   `json:"rating"`
}

type pricedItem struct {
	item
	Total int `json:"total"`
}

type page struct {
	Items []pricedItem `json:"items"`
	Count int          `json:"count"`
}

func main() {
	port := flag.Int("port", 8080, "port of 127.0.0.1")
	workers := flag.Int("workers", 1, "threads that run Go code")
	data := flag.String("data", "/data", "folder of the data set")
	certificates := flag.String("certificates", "", "serve inside of TLS")
	database := flag.String("database", "", "URL of PostgreSQL")
	connections := flag.Int("connections", 32, "connections to PostgreSQL")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	items := load(*data + "/dataset.json")
	db := open(*database, *connections)

	pages := fasthttp.CompressHandlerBrotliLevel(
		func(ctx *fasthttp.RequestCtx) { answerPage(ctx, items) },
		brotliLevel, otherLevel)
	handler := func(ctx *fasthttp.RequestCtx) {
		switch path := string(ctx.Path()); {
		case path == "/baseline11":
			add(ctx)
		case path == "/pipeline":
			answer(ctx, "ok")
		case path == "/upload":
			upload(ctx)
		case path == "/echo":
			echo(ctx)
		case path == "/ws":
			echoing.FastHTTP(ctx)
		case path == "/async-db":
			db.itemsByPrice(ctx)
		case path == "/fortunes":
			db.fortunes(ctx)
		case path == "/crud/items":
			db.manyItems(ctx)
		case strings.HasPrefix(path, itemPrefix):
			db.oneItem(ctx, path[len(itemPrefix):])
		case strings.HasPrefix(path, delayPrefix):
			delay(ctx, path[len(delayPrefix):])
		case strings.HasPrefix(path, pagePrefix):
			pages(ctx)
		default:
			ctx.NotFound()
		}
	}
	server := &fasthttp.Server{
		Handler:            handler,
		StreamRequestBody:  true,
		MaxRequestBodySize: contentMax,
	}
	address := fmt.Sprintf("127.0.0.1:%d", *port)
	if *certificates == "" {
		log.Fatal(server.ListenAndServe(address))
	}
	log.Fatal(server.ListenAndServeTLS(
		address, *certificates+certificate, *certificates+key))
}

func load(path string) []item {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var items []item
	if err := json.Unmarshal(text, &items); err != nil {
		log.Fatal(err)
	}
	return items
}

func answer(ctx *fasthttp.RequestCtx, text string) {
	ctx.SetContentType("text/plain")
	ctx.SetBodyString(text)
}

func refuse(ctx *fasthttp.RequestCtx, why string) {
	ctx.Error(why, fasthttp.StatusBadRequest)
}

func add(ctx *fasthttp.RequestCtx) {
	sum := 0
	for _, name := range []string{"a", "b"} {
		if text := ctx.QueryArgs().Peek(name); len(text) > 0 {
			number, err := strconv.Atoi(string(text))
			if err != nil {
				refuse(ctx, "a parameter is not a number")
				return
			}
			sum += number
		}
	}
	text := strings.TrimSpace(string(ctx.PostBody()))
	if text != "" {
		number, err := strconv.Atoi(text)
		if err != nil {
			refuse(ctx, "the content is not a number")
			return
		}
		sum += number
	}
	answer(ctx, strconv.Itoa(sum))
}

func delay(ctx *fasthttp.RequestCtx, text string) {
	milliseconds, err := strconv.Atoi(text)
	if err != nil || milliseconds < 0 || milliseconds > delayMax {
		refuse(ctx, "the delay is out of bounds")
		return
	}
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	answer(ctx, strconv.Itoa(milliseconds))
}

func upload(ctx *fasthttp.RequestCtx) {
	length, err := io.Copy(io.Discard, ctx.RequestBodyStream())
	if err != nil {
		refuse(ctx, "unreadable content")
		return
	}
	answer(ctx, strconv.FormatInt(length, 10))
}

func echo(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(octetStream)
	ctx.SetBody(ctx.PostBody())
}

func answerPage(ctx *fasthttp.RequestCtx, all []item) {
	count, err := strconv.Atoi(string(ctx.Path()[len(pagePrefix):]))
	if err != nil {
		refuse(ctx, "the count is not a number")
		return
	}
	factor := 1
	if text := ctx.QueryArgs().Peek("m"); len(text) > 0 {
		if factor, err = strconv.Atoi(string(text)); err != nil {
			refuse(ctx, "the factor is not a number")
			return
		}
	}
	count = min(max(count, 0), len(all))
	priced := make([]pricedItem, count)
	for i, one := range all[:count] {
		priced[i] = pricedItem{one, one.Price * one.Quantity * factor}
	}
	answerJSON(ctx, page{priced, count})
}

func answerJSON(ctx *fasthttp.RequestCtx, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		ctx.Error("", fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(text)
}
