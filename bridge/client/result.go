package client

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// ReadResult reads the result of a tool, whatever it is, and keeps pieces of it. A bare one is
// none: native participants answer with whatever a function returned (FINDINGS D9), and that
// value is its text. So is one with a member that is not as MCP has it, which still says whether
// the tool failed.
func ReadResult(raw []byte) (r ToolResult, bare bool) {
	var at map[string]json.RawMessage
	if json.Unmarshal(raw, &at) != nil {
		return ToolResult{bare: raw}, true
	}
	if bare = json.Unmarshal(raw, &r) != nil; bare {
		r = ToolResult{IsError: string(at["isError"]) == "true"}
	} else if at["structuredContent"] == nil && at["isError"] == nil && at["resultType"] == nil {
		list := bytes.TrimSpace(at["content"])
		bare = len(list) == 0 || list[0] != '['
	}
	if r.ResultType = kindOf(at["resultType"]); bare {
		r.bare = raw
	}
	return r, bare
}

// kindOf is a resultType as it reads, or as it stands if it is no text.
func kindOf(raw []byte) string {
	if kind, is := jsonrpc.Unquote(raw); is {
		return kind
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// bareText is a bare value for people: a string as it reads, anything else as JSON.
func bareText(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case "", "{}", "null", `""`:
		return nil
	}
	if s, is := jsonrpc.Unquote(raw); is {
		return []byte(text.Lines(strings.TrimSuffix(s, "\n")) + "\n")
	}
	return []byte(text.Line(string(rawjson.OneLine(raw))) + "\n")
}

// A ToolResult is what is read of a result to show it to people.
type ToolResult struct {
	Content []struct {
		Type, Text, Data, MimeType, URI, Name string
		Resource                              struct{ URI, Text, MimeType, Blob string }
	}
	StructuredContent json.RawMessage
	IsError           bool

	// ResultType is what the answer is, where it says so: anything but complete is no
	// result, but wants something first, as input_required does, or stands for one to come.
	ResultType string `json:"-"`

	bare []byte // instead of all that
}

// Text is the result for people, made safe to show: its text, however long, and a word for
// what is none.
func (r *ToolResult) Text() []byte {
	if r.bare != nil {
		return bareText(r.bare)
	}
	var b bytes.Buffer
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			fmt.Fprintln(&b, text.Lines(strings.TrimSuffix(c.Text, "\n")))
		case "image", "audio":
			fmt.Fprintf(&b, "[%s %s, %d bytes]\n", c.Type, text.Line(c.MimeType), base64.StdEncoding.DecodedLen(len(c.Data)))
		case "resource_link":
			fmt.Fprintf(&b, "[resource %s %s]\n", text.Line(c.URI), text.Line(c.Name))
		case "resource":
			fmt.Fprintf(&b, "[resource %s]\n", text.Line(c.Resource.URI))
			if c.Resource.Text != "" {
				fmt.Fprintln(&b, text.Lines(strings.TrimSuffix(c.Resource.Text, "\n")))
			}
		default:
			fmt.Fprintf(&b, "[%s]\n", text.Line(c.Type))
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		fmt.Fprintln(&b, text.Line(string(rawjson.OneLine(r.StructuredContent))))
	}
	return b.Bytes()
}
