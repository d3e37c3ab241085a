package stdiotest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A call is one tools/call with the arguments that any tool might have.
type call struct {
	p     *player
	m     *jsonrpc.Message
	id    []byte
	token []byte
	name  string

	Path, Content, Text, Target, Kind, Method, B64, Then, Name, Message string

	Ms, N, Bytes, Code, Lines int

	Session          bool
	Params, Data, ID json.RawMessage
}

// toolTexts are the tools as tools/list shows them.
var toolTexts = append([]string{
	`{"name":"read_file","description":"Read a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"readOnlyHint":true}}`,
	`{"name":"write_file","description":"Write a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"text":{"type":"string"},"mode":{"type":"integer","minimum":0,"maximum":511}},"required":["path"],"additionalProperties":false}}`,
	`{"name":"delete_file","description":"Delete a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"destructiveHint":true}}`,
	`{"name":"delete_all","description":"Delete everything","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`,
	`{"name":"deploy","description":"Deploy","inputSchema":{"type":"object","properties":{"target":{"type":"string","enum":["staging","production"]}},"required":["target"]}}`,
	`{"name":"echo","description":"The params as they came","inputSchema":{"type":"object"},"x-unknown":{"kept":9007199254740993}}`,
	`{"name":"slow","description":"Take a while","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}}}}`,
	`{"name":"progress","description":"Report progress","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`,
	`{"name":"notify","description":"Send a notification","inputSchema":{"type":"object","properties":{"kind":{"type":"string"},"params":{}}}}`,
	`{"name":"flood","description":"Send many","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"method":{"type":"string"}}}}`,
	`{"name":"ask","description":"Ask the client","inputSchema":{"type":"object","properties":{"method":{"type":"string"},"params":{},"id":{}}}}`,
	`{"name":"grow","description":"Add a tool","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`,
	`{"name":"big","description":"Much text","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}}}`,
	`{"name":"fail","description":"Fail","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`,
	`{"name":"rpcerror","description":"Answer with an error","inputSchema":{"type":"object","properties":{"code":{"type":"integer"},"message":{"type":"string"},"data":{}}}}`,
}, wickedTools(
	"wait", "until", "whoami", "exotic", "stderr", "raw", "long", "endless", "crash",
	"close_stdout", "close_stdin", "stop_reading", "hold_stdin", "fork",
)...)

// wickedTools are about bytes and processes.
func wickedTools(names ...string) (texts []string) {
	for _, name := range names {
		texts = append(texts, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	return texts
}

// plays is what each tool does, but for crash and those that grow made.
var plays = map[string]func(*call){
	"read_file": func(c *call) { c.text("contents of " + c.Path) },
	"write_file": func(c *call) {
		c.text(fmt.Sprintf("wrote %d bytes to %s", len(c.Content)+len(c.Text), c.Path))
	},
	"delete_file": func(c *call) { c.text("deleted " + c.Path) },
	"delete_all":  func(c *call) { c.text("deleted everything") },
	"deploy":      func(c *call) { c.text("deployed to " + c.Target) },
	"echo":        (*call).echo,
	"whoami":      (*call).whoami,
	"exotic": func(c *call) {
		c.members(`"content":[{"type":"hologram","x":9007199254740993,"<&>":"\u2028"}],"later":{"b":1,"a":1.0}`)
	},
	"big": func(c *call) { c.text(strings.Repeat("x", c.Bytes)) },
	"fail": func(c *call) {
		c.members(`"content":[{"type":"text","text":` + quote(c.Text+"failed") + `}],"isError":true`)
	},
	"rpcerror": (*call).rpcerror,

	// These say or do something besides answering.
	"slow":     func(c *call) { go c.slow(c.p.cancelled(c.id)) },
	"wait":     func(c *call) { c.p.cancelled(c.id) },
	"until":    func(c *call) { go c.until() },
	"progress": (*call).progress,
	"notify":   (*call).notify,
	"flood": func(c *call) {
		c.p.notifyFlood(c.N, cmp.Or(c.Method, "notifications/message"))
		c.text("done")
	},
	"ask":    (*call).ask,
	"grow":   (*call).grow,
	"stderr": (*call).stderr,

	// And these break something.
	"raw":          func(c *call) { c.p.raw(c.fill(c.Text)) },
	"long":         (*call).long,
	"endless":      (*call).endless,
	"close_stdout": func(*call) { os.Stdout.Close() },
	"close_stdin":  func(*call) { os.Stdin.Close(); hang() },
	"stop_reading": func(*call) { hang() },
	"hold_stdin":   func(*call) { holdStdin(); hang() },
	"fork":         func(c *call) { c.text(fmt.Sprint(c.p.fork(c.Session))) },
}

// call plays one tools/call. done ends the process.
func (p *player) call(m *jsonrpc.Message) (done bool, status int) {
	c := &call{p: p, m: m, id: m.Get(jsonrpc.ID), token: m.Get(jsonrpc.ProgressToken), name: m.Text(jsonrpc.Name)}
	json.Unmarshal(m.Get(jsonrpc.Arguments), c) // a wrong type leaves the rest as it is
	play := plays[c.name]
	switch {
	case p.Era == "modern" && !p.wellFormed(m):
		p.refuse(c.id, -32602, "missing _meta field io.modelcontextprotocol/protocolVersion", "")
	case p.Answer != "":
		p.raw(c.fill(p.Answer))
	case c.name == "crash":
		return true, cmp.Or(c.Code, 3)
	case play != nil:
		play(c)
	case p.hasGrown(c.name):
		c.text("grown")
	default:
		p.refuse(c.id, -32602, "Unknown tool: "+c.name, "")
	}
	return false, 0
}

func (p *player) hasGrown(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.grown, tool)
}

func (c *call) members(members string) { c.p.result(c.id, c.p.complete(members)) }

func (c *call) text(s string) {
	c.members(`"content":[{"type":"text","text":` + quote(s) + `}]`)
}

func (c *call) echo() {
	params := c.m.Get(jsonrpc.Params)
	c.members(`"content":[{"type":"text","text":` + quote(string(params)) + `}],"structuredContent":{"params":` + string(params) + `}`)
}

func (c *call) whoami() {
	cwd, _ := os.Getwd()
	me, _ := json.Marshal(map[string]any{
		"pid": os.Getpid(), "cwd": cwd, "args": os.Args, "env": os.Environ(), "nonblocking": nonblocking(),
	})
	c.members(`"content":[],"structuredContent":` + string(me))
}

func (c *call) rpcerror() {
	data := cmp.Or(string(c.Data), `{"detail":{"n":9007199254740993,"b":1,"a":"<&>"}}`)
	c.p.refuse(c.id, cmp.Or(c.Code, -32050), cmp.Or(c.Message, "custom failure"), data)
}

func (c *call) slow(cancelled <-chan struct{}) {
	select {
	case <-cancelled:
	case <-time.After(time.Duration(cmp.Or(c.Ms, 100)) * time.Millisecond):
		c.text("at last")
	}
}

// until answers when there is a file of the name.
func (c *call) until() {
	for {
		if _, err := os.Stat(c.Path); err == nil {
			c.text("it is there")
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *call) stderr() {
	for range cmp.Or(c.Lines, 1) {
		fmt.Fprintln(os.Stderr, c.Text)
	}
	c.text("done")
}

func (c *call) endless() {
	for block := bytes.Repeat([]byte("x"), 1<<20); ; {
		c.p.raw(block)
	}
}

func (c *call) progress() {
	for i := range c.N {
		if c.token != nil {
			c.p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d}}`, c.token, i+1, c.N))
		}
	}
	c.text("done")
}

func (c *call) notify() {
	method, params := c.Kind, string(c.Params)
	switch c.Kind {
	case "", "list_changed":
		method = "notifications/tools/list_changed"
	case "message":
		method, params = "notifications/message", cmp.Or(params, `{"level":"info","data":"a message"}`)
	case "custom":
		method, params = "notifications/custom", cmp.Or(params, `{"n":9007199254740993}`)
	}
	c.p.write(jsonrpc.AppendNotification(nil, method, []byte(params)))
	c.text("done")
}

// ask puts a request to the client and answers with what it answered.
func (c *call) ask() {
	id := cmp.Or(string(c.ID), "0")
	answer := make(chan []byte, 1)
	c.p.mu.Lock()
	c.p.answers[id] = answer
	c.p.mu.Unlock()
	c.p.write(jsonrpc.AppendRequest(nil, []byte(id), cmp.Or(c.Method, "roots/list"), c.Params))
	go func() { c.text(string(<-answer)) }()
}

func (c *call) grow() {
	c.p.mu.Lock()
	c.p.grown = append(c.p.grown, cmp.Or(c.Name, fmt.Sprint("grown_", len(c.p.grown)+1)))
	c.p.mu.Unlock()
	c.p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	c.text("done")
}

func (c *call) long() {
	block := bytes.Repeat([]byte("x"), 1<<20)
	for left := c.Bytes; left > 0; left -= len(block) {
		c.p.raw(block[:min(left, len(block))])
	}
	c.p.raw([]byte("\n"))
	c.p.raw(c.fill(c.Then))
}

// fill puts the call's id into a text that is written as it is.
func (c *call) fill(text string) []byte {
	b := []byte(text)
	if c.B64 != "" {
		b, _ = base64.StdEncoding.DecodeString(c.B64)
	}
	return bytes.ReplaceAll(b, []byte("$ID"), c.id)
}
