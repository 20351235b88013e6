// Package echoing sends messages of WebSockets back, for servers on fasthttp.
package echoing

import (
	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

var upgrader = websocket.FastHTTPUpgrader{}

// FastHTTP turns a request into a WebSocket that echoes.
func FastHTTP(ctx *fasthttp.RequestCtx) {
	// It has answered a request that is none for a WebSocket.
	_ = upgrader.Upgrade(ctx, echo)
}

func echo(socket *websocket.Conn) {
	defer socket.Close()
	for {
		kind, message, err := socket.ReadMessage()
		if err != nil {
			return
		}
		if err := socket.WriteMessage(kind, message); err != nil {
			return
		}
	}
}
