// The workload of the benchmark on Go's official SDK: echo and a list of 101 tools. Arguments are the form of a response,
// json or events, and sessions or no-sessions. Prints the port, and ends with its input.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// further is the number of tools in addition to echo.
const further = 100

type echoArgs struct {
	Text string `json:"text"`
}

type extraArgs struct {
	Query string `json:"query" jsonschema:"What to look up"`
	Limit int    `json:"limit,omitempty"`
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Echo the text back"},
		func(_ context.Context, _ *mcp.CallToolRequest, args echoArgs) (*mcp.CallToolResult, any, error) {
			return textResult(args.Text), nil, nil
		})
	for index := range further {
		mcp.AddTool(server, &mcp.Tool{
			Name:        fmt.Sprintf("tool_%d", index),
			Description: fmt.Sprintf("Further tool number %d: looks something up and answers with a short text.", index),
		}, func(_ context.Context, _ *mcp.CallToolRequest, args extraArgs) (*mcp.CallToolResult, any, error) {
			return textResult(args.Query), nil, nil
		})
	}
	options := &mcp.StreamableHTTPOptions{
		JSONResponse: slices.Contains(os.Args, "json"),
		// A server with sessions refuses clients of 2026-07-28.
		Stateless: slices.Contains(os.Args, "no-sessions"),
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, handler))
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
