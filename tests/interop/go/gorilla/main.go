// Holds the conversation of tests/interop/README.md with gorilla/websocket, which
// cuts messages into the fragments of its write buffer.
package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gorilla/websocket"

	"peers/talk"
)

// So a message of 1 MiB leaves in about a thousand fragments.
const bufferOctets = 1024

func main() {
	talk.Main(converse, serve)
}

func open(url, compression string, rest []string) *websocket.Conn {
	dialer := websocket.Dialer{
		Subprotocols:      talk.Protocols,
		EnableCompression: compression == talk.Deflate,
		TLSClientConfig:   talk.ClientTLS(rest),
		WriteBufferSize:   bufferOctets,
	}
	conn, response, err := dialer.Dial(url, nil)
	talk.Check(err)
	talk.Expect("protocol", conn.Subprotocol(), "v2.test")
	talk.ExpectCompression(response, compression)
	return conn
}

func expect(conn *websocket.Conn, wantedKind int, wanted string) {
	kind, octets, err := conn.ReadMessage()
	talk.Check(err)
	talk.Expect("type", kind, wantedKind)
	talk.Expect("message", string(octets), wanted)
}

func expectClose(conn *websocket.Conn, code int, reason string) {
	_, _, err := conn.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		talk.Check(fmt.Errorf("no Close, but %v", err))
	}
	talk.Expect("code", closed.Code, code)
	if code == 4567 {
		talk.Expect("reason", closed.Text, reason)
	}
}

func send(conn *websocket.Conn, kind int, text string) {
	talk.Check(conn.WriteMessage(kind, []byte(text)))
}

func converse(url, compression string, rest []string) {
	conn := open(url, compression, rest)
	for _, size := range talk.Sizes {
		for _, kind := range []int{websocket.TextMessage, websocket.BinaryMessage} {
			send(conn, kind, talk.Text(size))
			expect(conn, kind, talk.Text(size))
		}
	}
	send(conn, websocket.TextMessage, talk.Whole)
	expect(conn, websocket.TextMessage, talk.Whole)
	send(conn, websocket.TextMessage, "fragments")
	expect(conn, websocket.TextMessage, talk.Whole)
	pong := ""
	conn.SetPongHandler(func(payload string) error {
		pong = payload
		return nil
	})
	send(conn, websocket.PingMessage, "are you there")
	send(conn, websocket.TextMessage, "ping")
	expect(conn, websocket.TextMessage, "pong")
	talk.Expect("pong", pong, "are you there")
	send(conn, websocket.CloseMessage, string(websocket.FormatCloseMessage(4321, "enough")))
	expectClose(conn, 4321, "")
	conn.Close()
	conn = open(url, compression, rest)
	send(conn, websocket.TextMessage, "close")
	expectClose(conn, 4567, "done")
	conn.Close()
	fmt.Println("ok without fragments")
}

func serve(compression string, rest []string) {
	upgrader := websocket.Upgrader{
		Subprotocols:      []string{"v2.test"},
		EnableCompression: compression == talk.Deflate,
		WriteBufferSize:   bufferOctets,
	}
	talk.Serve(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err == nil {
			answer(conn)
		}
	}, rest)
}

func answer(conn *websocket.Conn) {
	defer conn.Close()
	conn.SetReadLimit(talk.MessageOctetsMax)
	conn.SetPongHandler(func(string) error {
		return conn.WriteMessage(websocket.TextMessage, []byte("pong"))
	})
	for {
		kind, octets, err := conn.ReadMessage()
		if err != nil {
			var closed *websocket.CloseError
			if errors.As(err, &closed) {
				fmt.Println("closed", closed.Code, closed.Text)
			}
			return
		}
		text := string(octets)
		if kind == websocket.BinaryMessage {
			text = ""
		}
		switch text {
		case "fragments":
			octets = []byte(talk.Whole)
		case "ping":
			kind, octets = websocket.PingMessage, nil
		case "close":
			kind = websocket.CloseMessage
			octets = websocket.FormatCloseMessage(4567, "done")
		}
		if conn.WriteMessage(kind, octets) != nil {
			return
		}
	}
}
