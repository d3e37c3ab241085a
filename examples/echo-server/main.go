// Echo-server is the smallest MCP server worth measuring: one tool that gives
// back its text. It does as little as a server can, so that what a benchmark
// shows is the way there and back.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func main() {
	in, out := pipes()
	if err := serve(in, out); err != nil {
		fmt.Fprintln(os.Stderr, "echo-server:", err)
		os.Exit(1)
	}
}

// serve answers one message per line until the input ends. What it has
// written is sent when there is nothing more to read.
func serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if err := answer(w, line); err != nil {
			return err
		}
		line = line[:0]
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

const (
	hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.0.0"}}`
	tools = `{"tools":[{"name":"echo","description":"Give back the text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}}]}`
)

var textShape = jsonrpc.Shape{{Name: "text", Slot: 0}}

// answer writes the answer to one line; notifications and noise get none.
func answer(w *bufio.Writer, line []byte) error {
	m, err := jsonrpc.Parse(line, jsonrpc.Passed)
	if err != nil || !m.Has(jsonrpc.ID) || !m.Has(jsonrpc.Method) {
		return nil
	}
	switch m.Text(jsonrpc.Method) {
	case "initialize":
		return reply(w, &m, `"result":`, []byte(hello))
	case "ping":
		return reply(w, &m, `"result":`, []byte("{}"))
	case "tools/list":
		return reply(w, &m, `"result":`, []byte(tools))
	case "tools/call":
		return echo(w, &m)
	}
	return reply(w, &m, `"error":`, []byte(`{"code":-32601,"message":"Method not found"}`))
}

func echo(w *bufio.Writer, m *jsonrpc.Message) error {
	args := m.Get(jsonrpc.Arguments)
	var slots [1]jsonrpc.Span
	if m.Text(jsonrpc.Name) != "echo" || jsonrpc.Scan(args, jsonrpc.Passed, textShape, slots[:]) != nil || slots[0].End == 0 {
		return reply(w, m, `"error":`, []byte(`{"code":-32602,"message":"echo takes a text"}`))
	}
	return reply(w, m, `"result":{"content":[{"type":"text","text":`, args[slots[0].Start:slots[0].End], []byte(`}]}`)...)
}

func reply(w *bufio.Writer, m *jsonrpc.Message, member string, value []byte, rest ...byte) error {
	w.WriteString(`{"jsonrpc":"2.0","id":`)
	w.Write(m.Get(jsonrpc.ID))
	w.WriteByte(',')
	w.WriteString(member)
	w.Write(value)
	w.Write(rest)
	_, err := w.WriteString("}\n")
	return err
}
