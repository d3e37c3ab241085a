package stdio

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

func TestBytesCrossUntouched(t *testing.T) {
	record := filepath.Join(t.TempDir(), "stdin")
	s := serve(t, stdiotest.Script{Record: record})
	s.up()
	lines := []string{
		`{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"b":1,"a":1.0,"n":9007199254740993}}`,
		`{"jsonrpc":"2.0","id":"7","method":"test/echo","params":{"html":"<b>&amp;</b>","u":"` + "\u2028" + `\u2028"}}`,
		`{"jsonrpc":"2.0","id":0,"method":"test/echo","params":{"":{"deep":[[[[1e400]]]]}}}`,
		`{ "jsonrpc" : "2.0" , "id":-1, "method":"test/echo", "params" : {"x" :	1} }`,
	}
	for _, line := range lines {
		s.put(line)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":1.0,"n":9007199254740993}}`,
		`{"jsonrpc":"2.0","id":"7","result":{"html":"<b>&amp;</b>","u":"` + "\u2028" + `\u2028"}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"":{"deep":[[[[1e400]]]]}}}`,
		`{"jsonrpc":"2.0","id":-1,"result":{"x" :	1}}`,
	}
	for _, w := range want {
		if got := s.next("message").text; got != w {
			t.Errorf("server's answer arrived as\n %s\nwant\n %s", got, w)
		}
	}
	if got := stdiotest.Recorded(t, record)[2:]; !slices.Equal(got, lines) { // after the handshake
		t.Errorf("server got\n %q\nwant\n %q", got, lines)
	}
}

func TestLargeMessagesCrossBothWays(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	for _, size := range []int{65<<10 - 7, 64 << 10, 96 << 10, 1 << 20, 8 << 20, 200} {
		text := `{"x":"` + strings.Repeat("y", size) + `"}`
		s.put(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":` + text + `}`)
		if got := s.next("message").text; got != `{"jsonrpc":"2.0","id":1,"result":`+text+`}` {
			t.Errorf("%d bytes: %d came back", size, len(got))
		}
	}
}

func TestArgvEnvAndDirectoryArriveAsGiven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	odd := []string{"a b", "", "$(id)", `'"\`, "*", "\n", "-x=~"}
	o := quick(append(stdiotest.Command(t, stdiotest.Script{}), odd...))
	o.Dir, o.Env = dir, []string{"ONLY=this", "EMPTY="}
	s := begin(t, o)
	s.up()
	var answer struct {
		Result struct {
			StructuredContent struct {
				Args, Env   []string
				Cwd         string
				Nonblocking []int
			}
		}
	}
	if err := json.Unmarshal([]byte(s.call("whoami", "{}")), &answer); err != nil {
		t.Fatal(err)
	}
	me := answer.Result.StructuredContent
	if !slices.Equal(me.Args[3:], odd) {
		t.Errorf("arguments arrived as %q, want %q", me.Args[3:], odd)
	}
	if me.Env = slices.DeleteFunc(me.Env, func(e string) bool { return strings.HasPrefix(e, "PWD=") }); !slices.Equal(me.Env, o.Env) {
		t.Errorf("environment arrived as %q, want %q", me.Env, o.Env)
	}
	if me.Cwd != dir {
		t.Errorf("directory is %q, want %q", me.Cwd, dir)
	}
	if len(me.Nonblocking) != 0 {
		t.Errorf("descriptors %v are non-blocking for the server, which expects none to be", me.Nonblocking)
	}
}

func TestPutRefusesWhatWouldBeTwoMessages(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	if err := s.server.Put([]byte("{}\n{}")); !errors.Is(err, ErrNewline) {
		t.Errorf("error is %v, want ErrNewline", err)
	}
}

func TestPutBeforeUpAndAfterStopIsErrDown(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Delay: 100}))
	o.Stop.Input = patience
	s := begin(t, o)
	if err := s.server.Put([]byte("{}")); !errors.Is(err, ErrDown) {
		t.Errorf("before: %v, want ErrDown", err)
	}
	s.server.Flush()
	s.server.Restart("nothing to restart yet")
	s.up()
	s.stop()
	if err := s.finished(); err != nil {
		t.Errorf("Run returned %v after its context ended", err)
	}
	if err := s.server.Put([]byte("{}")); !errors.Is(err, ErrDown) {
		t.Errorf("after: %v, want ErrDown", err)
	}
	if x := s.wantCause(CauseStopped); x.Restarting || x.Code != 0 {
		t.Errorf("exit is %+v, want status 0 and no restart", x)
	}
}

func TestIdleComesAfterWhatWasHeard(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	s.next("idle")
	s.call("echo", "{}")
	s.next("idle")
	s.call("big", `{"bytes":3000000}`) // comes in many reads
	s.next("idle")
	s.stop()
	s.down()
	s.next("idle")
	for i, e := range s.all()[1:] {
		if e.what == "idle" && s.all()[i].what == "idle" {
			t.Errorf("entry %d: idle twice with nothing between", i)
		}
	}
}

func TestTraceSeesBothDirections(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	seen := make(chan [2]string, 100)
	o.Trace = func(dir string, line []byte) { seen <- [2]string{dir, string(line)} }
	s := begin(t, o)
	s.up()
	var dirs []string
	for range 3 {
		line := <-seen
		dirs = append(dirs, line[0])
		if line[1] == "" || strings.HasSuffix(line[1], "\n") {
			t.Errorf("traced %q, want a line without newline", line[1])
		}
	}
	if want := []string{"send", "recv", "send"}; !slices.Equal(dirs, want) {
		t.Errorf("handshake was traced as %q, want %q", dirs, want)
	}
}

func TestHelloHoldsWhatTheServerSaid(t *testing.T) {
	s := serve(t, stdiotest.Script{Name: "files", Instructions: "be kind", Revision: "2025-06-18"})
	h := s.up()
	got := []string{h.Revision, string(h.ServerInfo), string(h.Instructions), string(h.Meta)}
	want := []string{"2025-06-18", `{"name":"files","version":"1"}`, `"be kind"`, ""}
	if !reflect.DeepEqual(got, want) || h.Modern || h.PID == 0 {
		t.Errorf("hello is %q (modern %v, pid %d), want %q", got, h.Modern, h.PID, want)
	}
	if !strings.Contains(string(h.Capabilities), `"listChanged":true`) || !strings.Contains(string(h.Result), string(h.Capabilities)) {
		t.Errorf("capabilities are %s of %s", h.Capabilities, h.Result)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd here")
	}
	return len(list)
}

func TestNoDescriptorIsLeftAfterManyRestarts(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	o.Restart.Restarts, o.Restart.Most = 100, time.Millisecond
	// The first rounds also open what the runtime keeps (its poller).
	s := begin(t, o)
	s.up()
	s.server.Restart("warm up")
	s.up()
	before := openFiles(t)
	for range 10 {
		s.server.Restart("again")
		s.wantCause(CauseAsked)
		s.up()
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after ten restarts", before, after)
	}
}
