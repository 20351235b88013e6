// Command fasthttp serves the benchmark with fasthttp.
package main

import (
	"fmt"
	"io"
	"log"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"baselines/catalogue"
	"baselines/echoing"

	"github.com/valyala/fasthttp"
)

func main() {
	options := catalogue.OptionsFromFlags()
	pool := catalogue.Open(options)
	hello := []byte("Hello, World!")
	message := []byte(`{"message":"hi"}`)

	files := (&fasthttp.FS{
		Root:            filepath.Dir(options.Products),
		AcceptByteRange: true,
	}).NewRequestHandler()

	handler := func(ctx *fasthttp.RequestCtx) {
		switch path := string(ctx.Path()); path {
		case "/plaintext":
			answer(ctx, "text/plain", hello)
		case "/simple":
			answer(ctx, "application/json", message)
		case "/read":
			answerFrom(ctx, pool.Product)
		case "/list":
			answerFrom(ctx, pool.List)
		case "/compute":
			answerFrom(ctx, pool.Statistics)
		case "/delay":
			time.Sleep(10 * time.Millisecond)
			answer(ctx, "text/plain", hello)
		case "/ws":
			echoing.FastHTTP(ctx)
		case "/upload":
			upload(ctx)
		default:
			if strings.HasPrefix(path, "/files/") {
				files(ctx)
				return
			}
			download(ctx, path)
		}
	}
	server := &fasthttp.Server{
		Handler:            handler,
		StreamRequestBody:  true,
		MaxRequestBodySize: 1 << 30,
	}
	address := fmt.Sprintf("127.0.0.1:%d", options.Port)
	log.Fatal(server.ListenAndServe(address))
}

func answer(ctx *fasthttp.RequestCtx, mediaType string, content []byte) {
	ctx.SetContentType(mediaType)
	ctx.Response.SetBodyRaw(content)
}

// answerFrom answers with what a source gives.
func answerFrom(ctx *fasthttp.RequestCtx, source func() ([]byte, error)) {
	content, err := source()
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	answer(ctx, "application/json", content)
}

func upload(ctx *fasthttp.RequestCtx) {
	length, err := io.Copy(io.Discard, ctx.RequestBodyStream())
	if err != nil {
		ctx.Error("unreadable content", fasthttp.StatusBadRequest)
		return
	}
	answer(ctx, "text/plain", strconv.AppendInt(nil, length, 10))
}

func download(ctx *fasthttp.RequestCtx, path string) {
	text, found := strings.CutPrefix(path, "/download/")
	octets, err := strconv.Atoi(text)
	if !found || err != nil || octets < 0 {
		ctx.NotFound()
		return
	}
	ctx.SetContentType("application/octet-stream")
	ctx.SetBodyStream(&catalogue.Filler{Remaining: octets}, octets)
}
