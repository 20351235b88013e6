// Holds the conversation of tests/interop/README.md with coder/websocket.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"peers/talk"
)

func main() {
	talk.Main(converse, serve)
}

func limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

func mode(compression string) websocket.CompressionMode {
	if compression == talk.Deflate {
		return websocket.CompressionContextTakeover
	}
	return websocket.CompressionDisabled
}

func open(ctx context.Context, url, compression string, rest []string) *websocket.Conn {
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: talk.ClientTLS(rest)},
	}
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient:      client,
		Subprotocols:    talk.Protocols,
		CompressionMode: mode(compression),
	})
	talk.Check(err)
	talk.Expect("protocol", conn.Subprotocol(), "v2.test")
	talk.ExpectCompression(response, compression)
	conn.SetReadLimit(talk.MessageOctetsMax)
	return conn
}

func writeParts(ctx context.Context, conn *websocket.Conn) error {
	writer, err := conn.Writer(ctx, websocket.MessageText)
	for _, part := range talk.Parts {
		if err == nil {
			_, err = writer.Write([]byte(part))
		}
	}
	if err != nil {
		return err
	}
	return writer.Close()
}

func expect(ctx context.Context, conn *websocket.Conn, wantedKind websocket.MessageType, wanted string) {
	kind, octets, err := conn.Read(ctx)
	talk.Check(err)
	talk.Expect("type", kind, wantedKind)
	talk.Expect("message", string(octets), wanted)
}

func converse(url, compression string, rest []string) {
	ctx, cancel := limit()
	defer cancel()
	conn := open(ctx, url, compression, rest)
	text, binary := websocket.MessageText, websocket.MessageBinary
	for _, size := range talk.Sizes {
		for _, kind := range []websocket.MessageType{text, binary} {
			talk.Check(conn.Write(ctx, kind, []byte(talk.Text(size))))
			expect(ctx, conn, kind, talk.Text(size))
		}
	}
	talk.Check(writeParts(ctx, conn))
	expect(ctx, conn, text, talk.Whole)
	talk.Check(conn.Write(ctx, text, []byte("fragments")))
	expect(ctx, conn, text, talk.Whole)
	// A pong is seen while somebody reads.
	pinged := make(chan error, 1)
	go func() {
		err := conn.Ping(ctx)
		if err == nil {
			err = conn.Write(ctx, text, []byte("ping"))
		}
		pinged <- err
	}()
	expect(ctx, conn, text, "pong")
	talk.Check(<-pinged)
	// It fails unless the same code comes back.
	talk.Check(conn.Close(4321, "enough"))
	conn = open(ctx, url, compression, rest)
	talk.Check(conn.Write(ctx, text, []byte("close")))
	_, _, err := conn.Read(ctx)
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		talk.Check(fmt.Errorf("no Close, but %v", err))
	}
	talk.Expect("code", closed.Code, websocket.StatusCode(4567))
	talk.Expect("reason", closed.Reason, "done")
	fmt.Println("ok")
}

func serve(compression string, rest []string) {
	talk.Serve(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols:    []string{"v2.test"},
			CompressionMode: mode(compression),
		})
		if err == nil {
			defer conn.CloseNow()
			answer(conn)
		}
	}, rest)
}

func answer(conn *websocket.Conn) {
	ctx, cancel := limit()
	defer cancel()
	conn.SetReadLimit(talk.MessageOctetsMax)
	for {
		kind, octets, err := conn.Read(ctx)
		var closed websocket.CloseError
		if errors.As(err, &closed) {
			fmt.Println("closed", int(closed.Code), closed.Reason)
		}
		if err != nil {
			return
		}
		text := string(octets)
		if kind == websocket.MessageBinary {
			text = ""
		}
		switch text {
		case "fragments":
			err = writeParts(ctx, conn)
		case "ping":
			go func() {
				if conn.Ping(ctx) == nil {
					conn.Write(ctx, websocket.MessageText, []byte("pong"))
				}
			}()
		case "close":
			if conn.Close(4567, "done") == nil {
				fmt.Println("closed 4567 done")
			}
			return
		default:
			err = conn.Write(ctx, kind, octets)
		}
		if err != nil {
			return
		}
	}
}
