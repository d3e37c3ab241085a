package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcpx-protocol/mcpx-bridge"

// may says which of our rooms each room may import (DESIGN section 2). A room
// that is not in the table has no place yet: give it one, at a level, before
// anything else. Some rows wait for their rooms.
var may = map[string]string{
	"stdio/fold":              "",
	"policy":                  "bridge/loopback bridge/text stdio/fold stdio/jsonrpc",
	"stdio/jsonrpc":           "stdio/fold",
	"stdio/inbox":             "",
	"stdio/linger":            "",
	"stdio/outbox":            "",
	"bridge/private":          "",
	"bridge/timetable":        "",
	"bridge/fault":            "",
	"bridge/commandline":      "",
	"bridge/help":             "bridge/fault bridge/text policy",
	"bridge/pause":            "",
	"bridge/loopback":         "",
	"bridge/text":             "",
	"bridge/table":            "bridge/text",
	"bridge/audit":            "bridge/passkey bridge/private",
	"bridge/passkey":          "bridge/private",
	"bridge/inbox/keyring":    "bridge/approval bridge/inbox bridge/passkey bridge/record bridge/text",
	"bridge/plainlog":         "bridge/text",
	"bridge/config":           "bridge/fault bridge/help bridge/private policy",
	"bridge/token":            "bridge/fault bridge/private bridge/text bridge/topic bridge/wire stdio",
	"bridge/desktop/setup":    "bridge/desktop/install bridge/fault bridge/localgateway bridge/pause bridge/text policy",
	"bridge/doctor":           "bridge/client bridge/desktop bridge/engine/catalog bridge/fault bridge/text stdio stdio/jsonrpc",
	"bridge/audit/show":       "bridge/audit bridge/fault bridge/text",
	"bridge/record/plain":     "bridge/approval bridge/record bridge/refusal bridge/text bridge/topic",
	"bridge/serve":            "bridge/approval bridge/client bridge/desktop bridge/inbox bridge/inbox/socket bridge/localgateway bridge/record bridge/text bridge/topic bridge/wire",
	"bridge/asyncwriter":      "",
	"bridge/signals":          "",
	"bridge/arguments":        "bridge/fault stdio/jsonrpc",
	"bridge/private/powercut": "bridge/private",
	"bridge/desktop/install":  "bridge/private bridge/text",

	"bridge/passkey/passkeytest": "bridge/passkey",

	"stdio":                    "bridge/text stdio/fold stdio/jsonrpc stdio/linger stdio/outbox stdio/rawjson",
	"policy/report":            "bridge/arguments bridge/audit bridge/fault bridge/text policy stdio/jsonrpc stdio/rawjson",
	"stdio/stdiotest":          "stdio stdio/jsonrpc",
	"stdio/stdiotest/watchdog": "",
	"stdio/rawjson":            "stdio/jsonrpc",
	"bridge/wire":              "stdio/jsonrpc stdio/rawjson",
	"bridge/record":            "policy stdio/jsonrpc",
	"bridge/plan":              "bridge/text policy stdio/jsonrpc stdio/rawjson",
	"bridge/approval":          "bridge/plan bridge/record bridge/text bridge/timetable policy stdio/jsonrpc stdio/rawjson",

	"bridge/proposal": "bridge/record bridge/wire stdio/jsonrpc",
	"bridge/topic":    "bridge/fault bridge/loopback bridge/pause bridge/text bridge/wire stdio/inbox stdio/jsonrpc stdio/outbox",
	"bridge/hub":      "bridge/wire stdio/jsonrpc",
	"bridge/gateway":  "bridge/engine/quota bridge/hub bridge/loopback bridge/wire stdio/inbox stdio/linger stdio/outbox",

	"bridge/refusal":         "bridge/proposal bridge/text policy stdio/jsonrpc",
	"bridge/engine/meta":     "bridge/approval bridge/refusal bridge/wire policy stdio/jsonrpc",
	"bridge/engine/catalog":  "bridge/refusal bridge/text policy stdio/fold stdio/jsonrpc",
	"bridge/engine/outgoing": "bridge/wire",
	"bridge/engine/quota":    "",
	"bridge/engine/replay":   "",
	"bridge/engine/inflight": "bridge/approval bridge/engine/replay bridge/plan bridge/proposal bridge/timetable bridge/wire policy stdio/jsonrpc",

	"bridge/engine": "bridge/approval bridge/engine/catalog bridge/engine/inflight bridge/engine/meta bridge/engine/outgoing bridge/engine/quota bridge/engine/replay bridge/plan bridge/proposal bridge/record bridge/refusal bridge/text bridge/timetable bridge/wire policy stdio/fold stdio/jsonrpc stdio/rawjson",
	"bridge":        "bridge/approval bridge/engine bridge/record bridge/wire policy stdio/jsonrpc",
	"bridge/prompt": "bridge/approval bridge/inbox bridge/inbox/socket bridge/pause bridge/text policy stdio/jsonrpc",
	"bridge/inbox":  "bridge/approval bridge/passkey bridge/text",
	"bridge/notify": "bridge/approval bridge/inbox bridge/notify/channel bridge/pause bridge/text policy",

	"bridge/notify/channel": "bridge/approval bridge/fault bridge/loopback bridge/pause bridge/private bridge/text policy stdio",

	"bridge/desktop": "bridge/approval bridge/refusal bridge/text bridge/timetable stdio/jsonrpc stdio/outbox stdio/rawjson",

	"bridge/grants":            "bridge/approval bridge/audit bridge/fault bridge/inbox bridge/inbox/socket bridge/private bridge/text",
	"bridge/inbox/socket":      "bridge/approval bridge/fault bridge/inbox bridge/private bridge/text",
	"bridge/inbox/inboxtest":   "bridge/approval bridge/inbox bridge/inbox/keyring bridge/inbox/socket bridge/passkey bridge/record policy policy/report",
	"bridge/inbox/web":         "bridge/approval bridge/audit/show bridge/fault bridge/inbox bridge/inbox/socket bridge/loopback bridge/passkey bridge/pause bridge/private bridge/text policy policy/report stdio/jsonrpc stdio/rawjson",
	"bridge/prompt/prompttest": "",
	"bridge/notify/notifytest": "",

	"bridge/client":           "bridge/approval bridge/arguments bridge/desktop bridge/engine bridge/engine/meta bridge/fault bridge/inbox bridge/localgateway bridge/pause bridge/refusal bridge/text bridge/topic bridge/wire policy stdio/jsonrpc stdio/rawjson",
	"bridge/client/view":      "bridge/arguments bridge/client bridge/engine bridge/refusal bridge/text bridge/wire stdio/jsonrpc",
	"bridge/events":           "bridge/asyncwriter bridge/engine/quota bridge/record bridge/record/plain bridge/text",
	"bridge/client/export":    "bridge/client bridge/desktop bridge/fault bridge/text policy stdio/rawjson",
	"bridge/localgateway":     "bridge/fault bridge/gateway bridge/loopback bridge/pause bridge/private bridge/topic bridge/wire",
	"bridge/node":             "bridge bridge/approval bridge/audit bridge/client bridge/commandline bridge/engine bridge/fault bridge/grants bridge/inbox bridge/inbox/keyring bridge/inbox/socket bridge/localgateway bridge/notify bridge/passkey bridge/pause bridge/plan bridge/private bridge/record bridge/text bridge/topic bridge/wire policy policy/report stdio stdio/jsonrpc stdio/outbox",
	"bridge/sim":              everything,
	"bridge/sim/simulate":     "bridge/sim",
	"bridge/sim/mutants":      "",
	"cmd/mcpx-bridge":         everything,
	"cmd/mcpx-bridge/threads": "",
	"cmd/mcpb":                "",
}

const everything = "*"

// only says who may import a package directly. Everybody else may not, and
// tests may do as they like.
var only = map[string]string{
	"github.com/gorilla/websocket":                         "bridge/topic bridge/gateway bridge/notify/channel bridge/notify/notifytest",
	"github.com/mark3labs/mcp-go":                          "bridge/desktop bridge/doctor", // the latter as a client of another make
	"github.com/spf13/cobra":                               "bridge/help cmd/mcpx-bridge",
	"github.com/goccy/go-yaml":                             "bridge/config bridge/desktop/install policy",
	"github.com/golang-jwt/jwt/v5":                         "bridge/gateway",
	"github.com/santhosh-tekuri/jsonschema/v6":             "bridge/engine/catalog",
	"github.com/google/shlex":                              "cmd/mcpx-bridge",
	"os/exec":                                              "bridge/node bridge/notify/channel stdio stdio/stdiotest bridge/sim/mutants bridge/token cmd/mcpx-bridge",
	"go.uber.org/goleak":                                   "",
	"github.com/rogpeppe/go-internal":                      "bridge/desktop/install bridge/inbox/web bridge/sim/mutants",
	"github.com/tailscale/hujson":                          "bridge/desktop/install",
	"github.com/pelletier/go-toml":                         "bridge/desktop/install",
	"github.com/modelcontextprotocol/go-sdk":               "",
	"github.com/emersion/go-smtp":                          "", // servers, for tests
	"github.com/coder/websocket":                           "",
	"github.com/stretchr/testify":                          "",
	"github.com/mcpx-protocol/mcpx-bridge/examples":        "",
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest": "",
	"golang.org/x/term":                                    "bridge/prompt bridge/table",
	"github.com/creack/pty":                                "bridge/prompt/prompttest",
	"github.com/chromedp":                                  "",
	"cel.dev/cel-go":                                       "policy",
}

// pure rooms must not reach these, not even through somebody else.
var (
	pure    = []string{"bridge", "bridge/approval", "bridge/engine", "bridge/hub", "bridge/plan", "bridge/proposal", "bridge/record", "bridge/text", "bridge/wire", "policy", "stdio/fold", "stdio/jsonrpc", "stdio/rawjson"}
	outside = []string{"net/http", "os/exec", "github.com/gorilla/websocket", "github.com/mark3labs/mcp-go"}
)

// A room is one package as the go command lists it.
type room struct {
	ImportPath string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func (r room) name() string { return strings.TrimPrefix(r.ImportPath, module+"/") }

// rooms lists the packages that ship, as they are built for one system. Run
// this with -count=1: the test cache does not see what go list would answer.
func rooms(t *testing.T, goos string) []room {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,GoFiles,Imports,Deps", "./...")
	list.Dir = filepath.Join("..", "..")
	list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []room
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var r room
		if err := d.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ours := strings.HasPrefix(r.ImportPath, module+"/") && !strings.HasPrefix(r.name()+"/", "examples/")
		if ours && len(r.GoFiles) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func TestImportsGoUpOnly(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, r := range rooms(t, goos) {
			allowed, ok := may[r.name()]
			if !ok {
				t.Errorf("%s: %s has no place in the table", goos, r.name())
				continue
			}
			checkOurs(t, r, strings.Fields(allowed))
			checkOnly(t, r)
			if slices.Contains(pure, r.name()) {
				checkPure(t, r)
			}
		}
	}
}

func checkOurs(t *testing.T, r room, allowed []string) {
	t.Helper()
	for _, i := range r.Imports {
		name, ours := strings.CutPrefix(i, module+"/")
		if ours && !slices.Contains(allowed, name) && !slices.Contains(allowed, everything) {
			t.Errorf("%s imports %s; it may import: %s", r.name(), name, strings.Join(allowed, " "))
		}
	}
	if r.name() == "cmd/mcpx-bridge/threads" && !slices.Equal(r.Imports, []string{"runtime"}) {
		t.Errorf("%s imports %v, and so would come too late", r.name(), r.Imports)
	}
}

func checkOnly(t *testing.T, r room) {
	t.Helper()
	for _, i := range r.Imports {
		for pkg, who := range only {
			if (i == pkg || strings.HasPrefix(i, pkg+"/")) && !slices.Contains(strings.Fields(who), r.name()) {
				t.Errorf("%s imports %s, which is for: %s", r.name(), i, who)
			}
		}
	}
}

func checkPure(t *testing.T, r room) {
	t.Helper()
	for _, dep := range r.Deps {
		for _, pkg := range outside {
			if dep == pkg || strings.HasPrefix(dep, pkg+"/") {
				t.Errorf("%s reaches %s", r.name(), dep)
			}
		}
	}
}

// A third of the program is methods that nothing calls. The linker leaves them
// out as long as nobody looks up a method by a name that is not a constant, as
// text/template does. One import can change that without a word.
func TestLinkerDropsUnusedMethods(t *testing.T) {
	t.Parallel()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "mcpx-bridge"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	edges, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, edges)
	}
	if !bytes.Contains(edges, []byte("main.main ->")) {
		t.Fatal("the linker does not say what reaches what")
	}
	for line := range bytes.Lines(edges) {
		if bytes.Contains(line, []byte("<ReflectMethod>")) {
			t.Fatalf("every exported method is kept because of %s", line)
		}
	}
}

// TestEveryDependencySaysWhatItIsFor holds CONTRIBUTING to the direct ones of go.mod.
func TestEveryDependencySaysWhatItIsFor(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, found := bytes.Cut(page, []byte("## What we depend on\n"))
	page, _, _ = bytes.Cut(page, []byte("\n## "))
	for module := range strings.FieldsSeq(string(out)) {
		if !found || !bytes.Contains(page, []byte("`"+module+"`")) {
			t.Errorf("CONTRIBUTING does not say what %s is for", module)
		}
	}
}
