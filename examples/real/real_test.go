//go:build real

package real

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A server is one npm package as we start it.
type server struct {
	name   string // of its command, and of its participant
	args   func(dir string) []string
	env    func(dir string) []string
	script func(dir string) []call
}

// A call is one request and its answer's place in a script. Scripts hold only
// calls whose answers are the same every time.
type call struct {
	method string
	key    string // tool or prompt name, for dialects that spell it in the kind
	params string
	token  string // progress token within params, if any
}

func tool(name string, args any) call {
	text, err := json.Marshal(map[string]any{"name": name, "arguments": args})
	if err != nil {
		panic(err)
	}
	return call{method: "tools/call", key: name, params: string(text)}
}

type object = map[string]any

var servers = []server{
	{
		name:   "everything",
		args:   func(string) []string { return []string{"stdio"} },
		env:    func(string) []string { return nil },
		script: everything,
	},
	{
		name:   "filesystem",
		args:   func(dir string) []string { return []string{dir} },
		env:    func(string) []string { return nil },
		script: filesystem,
	},
	{
		name:   "memory",
		args:   func(string) []string { return nil },
		env:    func(dir string) []string { return []string{"MEMORY_FILE_PATH=" + filepath.Join(dir, "graph.jsonl")} },
		script: memory,
	},
	{
		name:   "sequential-thinking",
		args:   func(string) []string { return nil },
		env:    func(string) []string { return nil },
		script: thinking,
	},
}

func everything(string) []call {
	return []call{
		{method: "tools/list", params: `{}`},
		tool("echo", object{"message": "plain"}),
		tool("echo", object{"message": "<b>&\u2028\U0001F980 \" \\ /"}),
		tool("get-sum", object{"a": 2, "b": 40.5}),
		tool("get-tiny-image", object{}),
		tool("get-annotated-message", object{"messageType": "error", "includeImage": true}),
		tool("get-structured-content", object{"location": "Chicago"}),
		tool("get-resource-links", object{"count": 3}),
		{method: "tools/call", key: "trigger-long-running-operation", token: `"as-far-as 7"`,
			params: `{"name":"trigger-long-running-operation","arguments":{"duration":0.4,"steps":4},"_meta":{"progressToken":"as-far-as 7"}}`},
		{method: "prompts/list", params: `{}`},
		{method: "prompts/get", key: "args-prompt", params: `{"name":"args-prompt","arguments":{"city":"Łódź"}}`},
		{method: "resources/list", params: `{}`},
		{method: "resources/templates/list", params: `{}`},
		{method: "prompts/get", key: "no-such-prompt", params: `{"name":"no-such-prompt"}`},
	}
}

func filesystem(dir string) []call {
	file := filepath.Join(dir, "a.txt")
	return []call{
		{method: "tools/list", params: `{}`},
		tool("list_allowed_directories", object{}),
		tool("read_text_file", object{"path": file}),
		tool("read_text_file", object{"path": file, "head": 1}),
		tool("write_file", object{"path": filepath.Join(dir, "new.txt"), "content": "ünï\n<&>\n"}),
		tool("edit_file", object{"path": file, "edits": []object{{"oldText": "two", "newText": "zwei"}}}),
		tool("read_multiple_files", object{"paths": []string{file, filepath.Join(dir, "new.txt")}}),
		tool("search_files", object{"path": dir, "pattern": "*.txt"}),
		tool("read_text_file", object{"path": filepath.Join(dir, "absent.txt")}),
		tool("read_text_file", object{"path": filepath.Dir(dir)}),
		tool("move_file", object{"source": file, "destination": filepath.Join(dir, "b.txt")}),
	}
}

func memory(string) []call {
	return []call{
		{method: "tools/list", params: `{}`},
		tool("read_graph", object{}),
		tool("create_entities", object{"entities": []object{
			{"name": "Ana", "entityType": "person", "observations": []string{"likes <tea> & \u2028"}},
			{"name": "Bo", "entityType": "person", "observations": []string{}},
		}}),
		tool("create_relations", object{"relations": []object{{"from": "Ana", "to": "Bo", "relationType": "knows"}}}),
		tool("add_observations", object{"observations": []object{{"entityName": "Bo", "contents": []string{"9007199254740993"}}}}),
		tool("add_observations", object{"observations": []object{{"entityName": "Nobody", "contents": []string{"x"}}}}),
		tool("search_nodes", object{"query": "tea"}),
		tool("delete_entities", object{"entityNames": []string{"Ana"}}),
		tool("read_graph", object{}),
	}
}

func thinking(string) []call {
	return []call{
		{method: "tools/list", params: `{}`},
		tool("sequentialthinking", object{"thought": "first", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": true}),
		tool("sequentialthinking", object{"thought": "again", "thoughtNumber": 2, "totalThoughts": 2, "nextThoughtNeeded": true, "branchFromThought": 1, "branchId": "b"}),
		tool("sequentialthinking", object{"thought": "done", "thoughtNumber": 3, "totalThoughts": 3, "nextThoughtNeeded": false}),
	}
}

func TestReal(t *testing.T) {
	s := set(t)
	open := openPolicy(t)
	gateway := serving(t, s, "gateway", "--json", "--listen", "127.0.0.1:0").URL
	for _, srv := range servers {
		t.Run(srv.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			argv := append([]string{command(t, srv.name)}, srv.args(dir)...)
			furnish(t, dir)
			want := direct(t, argv, srv.env(dir), srv.script(dir))
			for _, d := range dialects {
				t.Run(strings.ReplaceAll(d.protocol, "/", " "), func(t *testing.T) {
					furnish(t, dir)
					topic := srv.name + "-" + strings.ReplaceAll(d.protocol, "/", "-")
					args := []string{"run", "--json", "--topic", topic, "--id", "server", "--policy", open}
					for _, kv := range srv.env(dir) {
						args = append(args, "--env", kv)
					}
					serving(t, s, append(append(args, "--"), argv...)...)
					d.compare(t, seat(t, s, gateway, topic, d), srv.script(dir), want)
				})
			}
		})
	}
}

// openPolicy is a file that allows everything, reading and prompts included: flags
// are about tools.
func openPolicy(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "open.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: allow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// command is where npm has put a server.
func command(t *testing.T, name string) string {
	t.Helper()
	return fetched(t, "node_modules", ".bin", "mcp-server-"+name)
}

// fetched is something that make test-real has fetched.
func fetched(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".cache", "real"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make test-real fetches it", err)
	}
	return path
}

// furnish makes dir what it is at the beginning of every script.
func furnish(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree \u2028\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A readiness is the first event of run and gateway.
type readiness struct {
	Event, URL string
}

// serving starts a command of ours and waits until it serves. It is stopped
// when the test ends.
func serving(t *testing.T, s *stage.Stage, args ...string) readiness {
	t.Helper()
	p, err := s.Start(stage.Bridge, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	line, err := p.Line()
	if err != nil {
		t.Fatal(err)
	}
	p.Ignore()
	var r readiness
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Event != "ready" {
		t.Fatalf("not ready: %s", line)
	}
	return r
}

// set is a stage with the bridge on it, struck at the end of the test.
func set(t *testing.T) *stage.Stage {
	t.Helper()
	s, err := stage.Set(stage.Bridge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Strike(); err != nil {
			t.Error(err)
		}
	})
	return s
}
