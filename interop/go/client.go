package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A command is a line of standard input. See interop/src/clients/process.ts.
type command struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	TimeoutMs int             `json:"timeoutMs"`
	Progress  bool            `json:"progress"`
}

// A driver carries commands out with a client, and writes what comes of them to standard output.
type driver struct {
	client  *mcp.Client
	session *mcp.ClientSession

	mu      sync.Mutex
	output  *json.Encoder
	cancels map[int]context.CancelFunc
	answer  *mcp.ElicitResult
}

func drive(ctx context.Context, era string, target []string) error {
	d := &driver{output: json.NewEncoder(os.Stdout), cancels: map[int]context.CancelFunc{}}
	d.client = mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler:          d.elicit,
		CreateMessageHandler:        sample,
		LoggingMessageHandler:       d.onLog,
		ToolListChangedHandler:      d.onToolsChanged,
		ProgressNotificationHandler: d.onProgress,
	})
	d.client.AddRoots(&mcp.Root{URI: "file:///harbour", Name: "harbour"})
	versions := map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}
	session, err := d.client.Connect(ctx, transportTo(target), &mcp.ClientSessionOptions{ProtocolVersion: versions[era]})
	if err != nil {
		return err
	}
	d.session = session
	server := session.InitializeResult()
	d.write(map[string]any{"version": server.ProtocolVersion, "server": server.ServerInfo.Name})
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var next command
		if err := lines.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		d.start(ctx, next)
	}
}

func transportTo(target []string) mcp.Transport {
	if strings.HasPrefix(target[0], "http://") {
		return &mcp.StreamableClientTransport{Endpoint: target[0]}
	}
	return &mcp.CommandTransport{Command: exec.Command(target[0], target[1:]...)}
}

// start runs a command beside the others. Every command but a cancellation has one answer.
func (d *driver) start(ctx context.Context, next command) {
	if next.Method == "cancel" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cancels[next.ID]()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if next.TimeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(next.TimeoutMs)*time.Millisecond)
	}
	d.mu.Lock()
	d.cancels[next.ID] = cancel
	d.mu.Unlock()
	go func() {
		defer cancel()
		value, err := d.run(ctx, next)
		if err == nil {
			d.write(map[string]any{"id": next.ID, "value": value})
			return
		}
		problem := map[string]any{"message": err.Error()}
		var rpc *jsonrpc.Error
		if errors.As(err, &rpc) {
			problem["code"] = rpc.Code
		}
		d.write(map[string]any{"id": next.ID, "error": problem})
	}()
}

func (d *driver) run(ctx context.Context, next command) (any, error) {
	switch next.Method {
	case "tools/list":
		return d.session.ListTools(ctx, nil)
	case "resources/list":
		return d.session.ListResources(ctx, nil)
	case "resources/templates/list":
		return d.session.ListResourceTemplates(ctx, nil)
	case "prompts/list":
		return d.session.ListPrompts(ctx, nil)
	case "tools/call":
		return with(ctx, next, func(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if next.Progress {
				params.SetProgressToken(next.ID)
			}
			return d.session.CallTool(ctx, params)
		})
	case "resources/read":
		return with(ctx, next, d.session.ReadResource)
	case "prompts/get":
		return with(ctx, next, d.session.GetPrompt)
	case "completion/complete":
		return with(ctx, next, d.session.Complete)
	case "log":
		return with(ctx, next, d.callWithLogs)
	case "answer":
		return with(ctx, next, d.setAnswer)
	case "watch", "unwatch": // The handler of changes is there from the start.
		return nil, nil
	case "close":
		return nil, d.close(next.ID)
	}
	return nil, fmt.Errorf("unknown method %q", next.Method)
}

// close cancels the calls under way first, since Close waits for them.
func (d *driver) close(id int) error {
	d.mu.Lock()
	for other, cancel := range d.cancels {
		if other != id {
			cancel()
		}
	}
	d.mu.Unlock()
	return d.session.Close()
}

func with[Params, Result any](
	ctx context.Context, next command, work func(context.Context, *Params) (Result, error),
) (any, error) {
	params := new(Params)
	if err := json.Unmarshal(next.Params, params); err != nil {
		return nil, err
	}
	return work(ctx, params)
}

// callWithLogs calls a tool with log messages from level info on wanted.
func (d *driver) callWithLogs(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if d.session.InitializeResult().ProtocolVersion >= "2026-07-28" {
		params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: "info"}
	} else if err := d.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		return nil, err
	}
	return d.session.CallTool(ctx, params)
}

func (d *driver) setAnswer(_ context.Context, answer *mcp.ElicitResult) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
	return nil, nil
}

func (d *driver) elicit(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answer, nil
}

func sample(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	question := req.Params.Messages[0].Content.(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{
		Role:    "assistant",
		Model:   "interop",
		Content: &mcp.TextContent{Text: question + " bowline"},
	}, nil
}

func (d *driver) onLog(_ context.Context, req *mcp.LoggingMessageRequest) {
	d.write(map[string]any{"log": req.Params.Data})
}

func (d *driver) onToolsChanged(context.Context, *mcp.ToolListChangedRequest) {
	d.write(map[string]any{"changed": "tools"})
}

func (d *driver) onProgress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	report := map[string]any{
		"progress": req.Params.Progress,
		"total":    req.Params.Total,
		"message":  req.Params.Message,
	}
	d.write(map[string]any{"id": req.Params.ProgressToken, "progress": report})
}

func (d *driver) write(line map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.output.Encode(line)
}
