package stdio

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// An endpoint that is read is written so that it is read again.
func FuzzEndpoint(f *testing.F) {
	for _, text := range []string{"-", "unix:/run/a:b", "tcp:[::1]:7420", "tcp::80", "fifo:a,b,c", "fd:0,1", "fd:3,65536", "fd:+1,2", "unix:",
		"tcp:h:0", "tcp:h:1", "tcp:h:65535", "tcp:h:65536", "tcp:h:-1", "tcp:h:+1", "fd:2,3", "fd:3,4", "fd:65535,3", "fd:-1,3", "fd:3,3", "fd:03,4", "fifo:a,b", "fifo:a", "fifo:,b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEndpoint(text)
		if (err == nil) == (e == Endpoint{}) {
			t.Fatalf("%q is %+v, %v", text, e, err)
		}
		if err != nil {
			return
		}
		if back, err := ParseEndpoint(e.String()); err != nil || back != e {
			t.Errorf("%q is %+v, written %q, which is %+v, %v", text, e, e.String(), back, err)
		}
	})
}

// What a server answers to the handshake is read, or there are words why not.
func FuzzGreeting(f *testing.F) {
	for _, result := range []string{
		`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, `{"protocolVersion":""}`, `{"protocolVersion":"a","protocolVersion":"b"}`,
		`{"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`, `null`, `[]`, `{"supportedVersions":{"2026-07-28":1}}`,
	} {
		f.Add([]byte(result), true)
		f.Add([]byte(result), false)
	}
	f.Fuzz(func(t *testing.T, result []byte, modern bool) {
		q := initialize
		if modern {
			q = discover
		}
		m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":`+string(result)+`}`), jsonrpc.Passed)
		if err != nil {
			return
		}
		h, why := readHello(&m, q, "v")
		if (why == "") != (h.Revision != "") || why == "" && h.Modern != modern {
			t.Fatalf("%s: %+v, %q", result, h, why)
		}
		for name, raw := range map[string][]byte{"serverInfo": h.ServerInfo, "capabilities": h.Capabilities, "instructions": h.Instructions} {
			if raw != nil && !json.Valid(raw) {
				t.Errorf("%s: the %s are %q", result, name, raw)
			}
		}
	})
}

// A line of a host's that passes the gate unjudged is a tools/call, or an answer
// under our seal, to no reader: not to one that ignores case, takes the last of
// two, passes over halves of pairs, or ends lines at a carriage return.
func FuzzGate(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, `{"method":"ping","METHOD":"tools/call"}`,
		`{"method":"ping","method":"tools/call","id":1}`, `[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, "{\"method\":\"ping\",\"params\":\r{\"method\":\"tools/call\"}\r}",
		`{"id":"mcpxSEAL1","result":{}}`, `{"ID":"mcpxSEAL1","result":{}}`, `{"method":"tool\u017f/call","id":1}`, `{"method":"ping"} {"method":"tools/call"}`, "\ufeff{}", "{\"meth\x00od\":1}",
		`{"id":1,"result":"\ud83d"}`, `{"id":"mcpxSEAL\ud83d1","result":{}}`, `{"method":"tools/call\ud83d","id":1}`, `{"method":"ping","params":"\ud83d","meth\ud83dod":"tools/call"}`,
		`{"method":"ping","me` + strings.Repeat(`\ud83d`, 90) + `thod":"tools/call"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return // it would be two lines
		}
		out := outbox.New(discarded{}, outbox.Options{})
		defer out.Close(t.Context())
		r := &relay{host: &Host{Gate: &turnstile{}, HostIDPrefix: seal}, out: out, reporter: reporter{rules: jsonrpc.Passed}}
		r.observer.reached.Store(int32(askDiscover))
		if r.screen(line) {
			return
		}
		for part := range bytes.SplitSeq(line, []byte("\r")) {
			careless(t, part)
		}
		careless(t, line)
		careless(t, withoutHalves(line))
	})
}

var escapes = regexp.MustCompile(`\\(u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)`)

// withoutHalves is a line to a reader that passes over halves of pairs.
func withoutHalves(line []byte) []byte {
	return escapes.ReplaceAllFunc(line, func(escape []byte) []byte {
		if len(escape) == len(`\ud83d`) {
			return nil
		}
		return escape
	})
}

// careless reads a line as many a server does.
func careless(t *testing.T, line []byte) {
	for d := json.NewDecoder(bytes.NewReader(line)); ; {
		var m struct {
			ID     any
			Method string
		}
		if err := d.Decode(&m); err != nil && !strings.Contains(err.Error(), "cannot unmarshal") {
			return
		}
		if id, _ := m.ID.(string); resemblesCall(m.Method) || m.Method == "" && strings.HasPrefix(id, seal) {
			t.Errorf("%q passes", line)
		}
	}
}

type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Close() error                { return nil }
