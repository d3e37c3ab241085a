package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Ids of the handshake. They are strings so that they cannot collide with the
// numbers that whoever uses the Server gives its requests.
const (
	initializeID = `"mcpx-init-1"`
	discoverID   = `"mcpx-init-2"`
)

// What a server may say before the handshake is done.
const (
	maxEarly      = 1024
	maxEarlyBytes = 16 << 20
)

// capabilities are what a server hears that its client can do: show apps. Some who ask in
// the topic do, it is told once for all of them, and what belongs to an app has words for
// the others too (MCP Apps, "Graceful Degradation"). Nobody answers what it would ask.
const capabilities = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// ModernMeta returns the members that every request to a server of the given
// modern revision carries in params._meta, without the braces (MCP.md 3.1).
// version is ours, as in clientInfo.
func ModernMeta(revision, version string) []byte {
	b := append([]byte(nil), `"io.modelcontextprotocol/protocolVersion":`...)
	b = jsonrpc.AppendQuote(b, revision)
	b = append(b, `,"io.modelcontextprotocol/clientInfo":`...)
	b = appendClient(b, version)
	return append(b, `,"io.modelcontextprotocol/clientCapabilities":`+capabilities...)
}

func appendClient(b []byte, version string) []byte {
	b = append(b, `{"name":"mcpx-bridge","version":`...)
	return append(jsonrpc.AppendQuote(b, version), '}')
}

func initializeRequest(version string) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":`+initializeID+`,"method":"initialize","params":{"protocolVersion":"`+jsonrpc.LegacyRevision+`","capabilities":`+capabilities+`,"clientInfo":`...)
	return append(appendClient(b, version), "}}"...)
}

func discoverRequest(version string, id []byte) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":`+string(id)+`,"method":"server/discover","params":{"_meta":{`...)
	return append(append(b, ModernMeta(jsonrpc.ModernRevision, version)...), "}}}"...)
}

const initializedNotification = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// A handshake is ours with one process, until it is up. Two goroutines use it: the reader
// gives it what the server says, child.watch tells it that time has passed. Late answers to
// our two requests are taken too.
type handshake struct {
	version string
	put     func(line []byte)

	mu      sync.Mutex
	steps   handshakePlan // guarded by mu, like the rest
	over    bool          // up, or given up
	refusal []string      // what the server answered instead
	hello   Hello

	// The reader's alone.
	early      []jsonrpc.Message
	earlyBytes int
}

func (k *handshake) begin(p eraOrder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steps.plan = p
	k.do(k.steps.begin())
}

// silent tells that ProbeAfter has passed.
func (k *handshake) silent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.over {
		k.do(k.steps.silent())
	}
}

// died returns what handshakePlan.died does; false once the handshake is over.
func (k *handshake) died() (eraOrder, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return legacyFirst, false
	}
	return k.steps.died()
}

// do takes the step that the plan wants. It reports whether the handshake is over.
func (k *handshake) do(s step) bool {
	switch s {
	case sendInitialize:
		k.put(initializeRequest(k.version))
	case sendDiscover:
		k.put(discoverRequest(k.version, []byte(discoverID)))
	case upLegacy:
		k.put([]byte(initializedNotification))
	}
	k.over = s == upLegacy || s == upModern || s == giveUp
	return k.over
}

// answer takes m if it answers one of our two questions.
func (k *handshake) answer(m *jsonrpc.Message) (taken, up bool, err error) {
	var q question
	switch string(m.Get(jsonrpc.ID)) {
	case initializeID:
	case discoverID:
		q = discover
	default:
		return false, false, nil
	}
	if m.Class() != jsonrpc.Response {
		return false, false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return true, false, nil // the other one was answered first
	}
	hello, why := readHello(m, q, k.version)
	if why != "" {
		k.refusal = append(k.refusal, why)
	} else {
		k.hello = hello
	}
	switch s := k.steps.answered(q, why == ""); {
	case !k.do(s):
		return true, false, nil
	case s == giveUp:
		return true, false, errors.New(strings.Join(k.refusal, "; "))
	}
	return true, true, nil
}

// holdBack keeps a message until the server is up, [maxEarly] of them at most. Pings are
// answered at once: a server may send them before anything else.
func (k *handshake) holdBack(m jsonrpc.Message) error {
	if m.Class() == jsonrpc.Request && m.Text(jsonrpc.Method) == "ping" {
		k.put(jsonrpc.AppendResult(nil, m.Get(jsonrpc.ID), []byte("{}")))
		return nil
	}
	k.early = append(k.early, m)
	k.earlyBytes += len(m.Raw)
	if len(k.early) > maxEarly || k.earlyBytes > maxEarlyBytes {
		return fmt.Errorf("it sent %d messages and no answer to initialize", len(k.early))
	}
	return nil
}

// Where the members of an InitializeResult or DiscoverResult are noted.
const (
	atRevision = iota
	atSupported
	atCapabilities
	atServerInfo
	atInstructions
	atMetaInfo
	helloSlots
)

var helloShape = jsonrpc.Shape{
	{Name: "protocolVersion", Slot: atRevision},
	{Name: "supportedVersions", Slot: atSupported},
	{Name: "capabilities", Slot: atCapabilities},
	{Name: "serverInfo", Slot: atServerInfo},
	{Name: "instructions", Slot: atInstructions},
	{Name: "_meta", Slot: -1, Inside: jsonrpc.Shape{{Name: "io.modelcontextprotocol/serverInfo", Slot: atMetaInfo}}},
}

// readHello reads the answer to a question, or says why it is no good one.
func readHello(m *jsonrpc.Message, q question, version string) (Hello, string) {
	method := questions[q]
	if m.Has(jsonrpc.Err) {
		return Hello{}, method + " was answered with error " + cut(m.Get(jsonrpc.Err))
	}
	result := m.Get(jsonrpc.Result)
	var at [helloSlots]jsonrpc.Span
	if err := jsonrpc.Scan(result, jsonrpc.Passed, helloShape, at[:]); err != nil {
		return Hello{}, method + " was answered with " + cut(result) + ": " + err.Error()
	}
	get := func(slot int) []byte {
		if at[slot].End == 0 {
			return nil
		}
		return slices.Clone(result[at[slot].Start:at[slot].End])
	}
	h := Hello{
		Modern: q == discover, Result: slices.Clone(result), ServerInfo: get(atServerInfo),
		Capabilities: get(atCapabilities), Instructions: get(atInstructions),
	}
	if !h.Modern {
		h.Revision, _ = jsonrpc.Unquote(get(atRevision))
		if h.Revision == "" {
			return h, "initialize was answered without a protocolVersion: " + cut(result)
		}
		return h, ""
	}
	var speaks []string
	if json.Unmarshal(get(atSupported), &speaks) != nil || !slices.Contains(speaks, jsonrpc.ModernRevision) {
		return h, "server/discover names no revision that we speak: " + cut(get(atSupported))
	}
	if h.ServerInfo == nil {
		h.ServerInfo = get(atMetaInfo)
	}
	h.Revision, h.Meta = jsonrpc.ModernRevision, ModernMeta(jsonrpc.ModernRevision, version)
	return h, ""
}

// cut shows the beginning of raw text in a message to people.
func cut(raw []byte) string {
	if raw = bytes.TrimSpace(raw); len(raw) > headSize {
		return text.Line(strings.ToValidUTF8(string(raw[:headSize]), "")) + "…"
	}
	return text.Line(string(raw))
}
