// Calls a server of gRPC as tests/programs/grpc_server.mojo is one, over one
// connection, and prints what each call gets.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func call(connection *grpc.ClientConn, method, text string, options ...grpc.CallOption) (string, error) {
	answer := new(wrapperspb.StringValue)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	if method == "Late" {
		ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
	}
	defer cancel()
	err := connection.Invoke(ctx, "/test.Echo/"+method, wrapperspb.String(text), answer, options...)
	return answer.Value, err
}

func main() {
	security := insecure.NewCredentials()
	if len(os.Args) > 2 {
		pem, err := os.ReadFile(os.Args[2])
		if err != nil {
			panic(err)
		}
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM(pem)
		security = credentials.NewTLS(&tls.Config{RootCAs: authorities, ServerName: "localhost"})
	}
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(security))
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	var trailer metadata.MD
	answer, err := call(connection, "Say", "hello", grpc.Trailer(&trailer))
	fmt.Println("say", answer, trailer.Get("x-said"), err)
	answer, err = call(connection, "Say", strings.Repeat("long ", 200_000))
	fmt.Println("long", len(answer), err)
	for _, method := range []string{"Missing", "Late", "Unknown"} {
		_, err = call(connection, method, "")
		fmt.Println(method, status.Code(err))
	}
	var right sync.Map
	var all sync.WaitGroup
	for i := range 100 {
		all.Add(1)
		go func() {
			defer all.Done()
			text := fmt.Sprint("number ", i)
			if got, err := call(connection, "Say", text); err == nil && got == text {
				right.Store(i, true)
			}
		}()
	}
	all.Wait()
	count := 0
	right.Range(func(_, _ any) bool { count++; return true })
	fmt.Println("at once", count)
}
