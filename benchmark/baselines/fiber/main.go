// Command fiber serves the benchmark with Fiber, in one process or prefork.
package main

import (
	"fmt"
	"io"
	"log"
	"strconv"
	"time"

	"baselines/catalogue"

	"github.com/gofiber/fiber/v3"
)

func main() {
	options := catalogue.OptionsFromFlags()
	pool := catalogue.Open(options)
	hello := []byte("Hello, World!")
	message := []byte(`{"message":"hi"}`)

	app := fiber.New(fiber.Config{
		StreamRequestBody: true,
		BodyLimit:         1 << 30,
	})
	app.Get("/plaintext", func(c fiber.Ctx) error {
		return answer(c, "text/plain", hello)
	})
	app.Get("/simple", func(c fiber.Ctx) error {
		return answer(c, "application/json", message)
	})
	app.Get("/read", func(c fiber.Ctx) error {
		return answerFrom(c, pool.Product)
	})
	app.Get("/list", func(c fiber.Ctx) error {
		return answerFrom(c, pool.List)
	})
	app.Get("/compute", func(c fiber.Ctx) error {
		return answerFrom(c, pool.Statistics)
	})
	app.Get("/delay", func(c fiber.Ctx) error {
		time.Sleep(10 * time.Millisecond)
		return answer(c, "text/plain", hello)
	})
	app.Post("/upload", upload)
	app.Get("/download/:octets", download)

	address := fmt.Sprintf("127.0.0.1:%d", options.Port)
	log.Fatal(app.Listen(address, fiber.ListenConfig{
		DisableStartupMessage: true,
		EnablePrefork:         options.Prefork,
	}))
}

func answer(c fiber.Ctx, mediaType string, content []byte) error {
	c.Set(fiber.HeaderContentType, mediaType)
	return c.Send(content)
}

// answerFrom answers with what a source gives.
func answerFrom(c fiber.Ctx, source func() ([]byte, error)) error {
	content, err := source()
	if err != nil {
		return fiber.ErrServiceUnavailable
	}
	return answer(c, "application/json", content)
}

func upload(c fiber.Ctx) error {
	length, err := io.Copy(io.Discard, c.Request().BodyStream())
	if err != nil {
		return fiber.ErrBadRequest
	}
	return answer(c, "text/plain", strconv.AppendInt(nil, length, 10))
}

func download(c fiber.Ctx) error {
	octets, err := strconv.Atoi(c.Params("octets"))
	if err != nil || octets < 0 {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderContentType, "application/octet-stream")
	return c.SendStream(&catalogue.Filler{Remaining: octets}, octets)
}
