package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	none     struct{}
	textArgs struct {
		Text string `json:"text"`
	}
	addArgs struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
	countArgs struct {
		To  int    `json:"to"`
		Key string `json:"key"`
	}
	keyArgs struct {
		Key string `json:"key"`
	}
	eventArgs struct {
		Key  string `json:"key"`
		What string `json:"what"`
	}
)

func serve(ctx context.Context, mode string, events ledger) error {
	if err := events.note("process", strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	server := newServer(events)
	if mode == "stdio" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	options := &mcp.StreamableHTTPOptions{
		Stateless:                    mode == "stateless",
		PropagateRequestCancellation: true,
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	host := &http.Server{Handler: handler}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		host.Close()
	}()
	if err := host.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newServer(events ledger) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: complete,
	})
	addTools(server, events)
	addQuestions(server)
	server.AddResource(&mcp.Resource{URI: "note://pinned", Name: "pinned"}, readPinned)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://numbered/{id}", Name: "numbered"}, readNumbered)
	server.AddPrompt(&mcp.Prompt{
		Name:      "greet",
		Arguments: []*mcp.PromptArgument{{Name: "city", Required: true}},
	}, greet)
	return server
}

func addTools(server *mcp.Server, events ledger) {
	addTool(server, "echo", func(_ context.Context, _ *mcp.CallToolRequest, args textArgs) (string, error) {
		return args.Text, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "add"},
		func(_ context.Context, _ *mcp.CallToolRequest, args addArgs) (*mcp.CallToolResult, sum, error) {
			return nil, sum{args.A + args.B}, nil
		})
	addTool(server, "count", func(ctx context.Context, req *mcp.CallToolRequest, args countArgs) (string, error) {
		for step := 1; step <= args.To; step++ {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(),
				Progress:      float64(step),
				Total:         float64(args.To),
				Message:       fmt.Sprintf("step %d", step),
			})
			if err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("counted to %d", args.To), events.wait(ctx, args.Key, "heard")
	})
	addTool(server, "fail", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		return "", errors.New("the rope broke")
	})
	addTool(server, "wait", func(ctx context.Context, _ *mcp.CallToolRequest, args keyArgs) (string, error) {
		if err := events.note(args.Key, "started"); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "the answer of a call that should have been cancelled", events.note(args.Key, "cancelled")
	})
	addTool(server, "seen", func(ctx context.Context, _ *mcp.CallToolRequest, args eventArgs) (string, error) {
		return args.What, events.wait(ctx, args.Key, args.What)
	})
	addTool(server, "note", func(_ context.Context, _ *mcp.CallToolRequest, args keyArgs) (string, error) {
		return "", events.note(args.Key, "heard")
	})
	addTool(server, "log", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (string, error) {
		for _, entry := range []*mcp.LoggingMessageParams{{Level: "debug", Data: "too much"}, {Level: "info", Data: "logged"}} {
			if err := req.Session.Log(ctx, entry); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	addTouch(server)
}

// addTouch adds a tool that replaces itself, which changes the list of tools.
func addTouch(server *mcp.Server) {
	addTool(server, "touch", func(context.Context, *mcp.CallToolRequest, none) (string, error) {
		addTouch(server)
		return "", nil
	})
}

// addQuestions adds the tools that ask the client. The SDK sends the input requests by itself where a client's protocol
// version has no input_required.
func addQuestions(server *mcp.Server) {
	addQuestion(server, "ask", &mcp.ElicitParams{
		Message: "Which colour?",
		RequestedSchema: &jsonschema.Schema{
			Type:       "object",
			Properties: map[string]*jsonschema.Schema{"colour": {Type: "string"}},
			Required:   []string{"colour"},
		},
	}, func(answer *mcp.ElicitResult) string {
		if answer.Action == "accept" {
			return fmt.Sprintf("colour %s", answer.Content["colour"])
		}
		return answer.Action
	})
	addQuestion(server, "sample", &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "knot?"}}},
		MaxTokens: 10,
	}, func(answer *mcp.CreateMessageWithToolsResult) string {
		return answer.Content[0].(*mcp.TextContent).Text
	})
	addQuestion(server, "roots", &mcp.ListRootsParams{}, func(answer *mcp.ListRootsResult) string {
		uris := make([]string, len(answer.Roots))
		for i, root := range answer.Roots {
			uris[i] = root.URI
		}
		return strings.Join(uris, " ")
	})
}

func addQuestion[Answer mcp.InputResponse](
	server *mcp.Server, name string, question mcp.InputRequest, textOf func(Answer) string,
) {
	mcp.AddTool(server, &mcp.Tool{Name: name},
		func(_ context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			if answer, ok := req.Params.InputResponses["question"].(Answer); ok {
				return textResult(textOf(answer)), nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"question": question}}, nil, nil
		})
}

// addTool adds a tool without structured output.
func addTool[In any](
	server *mcp.Server, name string, handle func(context.Context, *mcp.CallToolRequest, In) (string, error),
) {
	mcp.AddTool(server, &mcp.Tool{Name: name},
		func(ctx context.Context, req *mcp.CallToolRequest, args In) (*mcp.CallToolResult, any, error) {
			text, err := handle(ctx, req, args)
			return textResult(text), nil, err
		})
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func readPinned(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return contents(req.Params.URI, "hold fast"), nil
}

func readNumbered(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id := strings.TrimPrefix(req.Params.URI, "note://numbered/")
	return contents(req.Params.URI, "note number "+id), nil
}

func contents(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: text}}}
}

func greet(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	city, ok := req.Params.Arguments["city"]
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "missing argument: city"}
	}
	text := &mcp.TextContent{Text: "Greet the people of " + city}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, city := range []string{"oslo", "osaka", "rome"} {
		if strings.HasPrefix(city, req.Params.Argument.Value) {
			values = append(values, city)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}
