package stdio

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

const good = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"good"}]}}`

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLinesThatAreNoMessagesAreNoiseAndHarmless(t *testing.T) {
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	tests := map[string]struct {
		before, reason string
		id             bool // the id of the broken answer is told
	}{
		"banner":        {"Server listening on stdio...", "child_stdout_garbage", false},
		"pretty":        {"{\"jsonrpc\":\"2.0\",\"id\":$ID,", "child_stdout_garbage", true},
		"truncated":     {`{"jsonrpc":"2.0","id":$ID,"result":{"con`, "child_stdout_garbage", true},
		"array":         {`[1,2,3]`, "child_stdout_garbage", false},
		"empty array":   {`[]`, "child_stdout_garbage", false},
		"string":        {`"hello"`, "child_stdout_garbage", false},
		"two in one":    {good + good, "child_stdout_garbage", true},
		"no class":      {`{"jsonrpc":"2.0","id":$ID}`, "child_stdout_garbage", true},
		"of its own":    {`{"jsonrpc":"2.0","id":$ID,"method":"ping","result":{}}`, "child_stdout_garbage", false},
		"batch":         {"[ " + good + "]", "batch", false},
		"duplicate id":  {`{"jsonrpc":"2.0","id":$ID,"id":"another","result":{}}`, "json_duplicate_key", false},
		"result twice":  {`{"jsonrpc":"2.0","result":{},"result":{},"id":$ID}`, "json_duplicate_key", true},
		"deep, id last": {`{"jsonrpc":"2.0","result":` + deep + `,"id":$ID}`, "json_depth", true},
		"too deep":      {`{"jsonrpc":"2.0","id":$ID,"result":` + deep + `}`, "json_depth", true},
	}
	s := serve(t, stdiotest.Script{})
	s.up()
	count := 0
	for name, test := range tests {
		text := base64.StdEncoding.EncodeToString([]byte(test.before + "\n" + good + "\n"))
		id := s.tool("raw", `{"b64":"`+text+`"}`)
		n := s.next("noise").noise
		count++
		if n.Reason != test.reason || n.Count != count {
			t.Errorf("%s: noise is %s, number %d; want %s, number %d", name, n.Reason, n.Count, test.reason, count)
		}
		if want := strings.ReplaceAll(test.before, "$ID", id); string(n.Head) != want[:min(len(want), 200)] {
			t.Errorf("%s: head is %q, want %q", name, n.Head, want)
		}
		if (string(n.ID) == id) != test.id {
			t.Errorf("%s: id %q is told for call %s", name, n.ID, id)
		}
		if got := s.answer(id); !strings.Contains(got, `"good"`) {
			t.Errorf("%s: the answer after it is %s", name, got)
		}
	}
}

func TestBatchIsAnsweredWithInvalidRequest(t *testing.T) {
	record := filepath.Join(t.TempDir(), "stdin")
	s := serve(t, stdiotest.Script{Record: record})
	s.up()
	s.tool("raw", `{"text":`+quoted(t, "["+good+","+good+"]\n")+`}`)
	s.next("noise")
	s.call("echo", "{}")
	lines := stdiotest.Recorded(t, record)
	if got := lines[len(lines)-2]; !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("server was answered %s", got)
	}
}

func TestDressOfLinesIsTolerated(t *testing.T) {
	for name, script := range map[string]stdiotest.Script{
		"CRLF":            {CRLF: true},
		"blank lines":     {Blank: true},
		"both":            {CRLF: true, Blank: true},
		"byte order mark": {Start: []string{"\ufeff" + `{"jsonrpc":"2.0","method":"notifications/x"}`}},
	} {
		s := serve(t, script)
		s.up()
		if got := s.call("read_file", `{"path":"a"}`); !strings.HasSuffix(got, `"contents of a"}]}}`) {
			t.Errorf("%s: answer is %q", name, got)
		}
		for _, e := range s.all() {
			if e.what == "noise" {
				t.Errorf("%s: taken for noise: %+v", name, e.noise)
			}
		}
	}
}

func TestAnswersAreHandedOnHoweverOftenAndWhoeverAsked(t *testing.T) {
	s := serve(t, stdiotest.Script{Answer: good + "\n" + good + "\n" + `{"jsonrpc":"2.0","id":99999,"result":{}}` + "\n"})
	s.up()
	id := s.tool("echo", "{}")
	want := strings.ReplaceAll(good, "$ID", id)
	for _, want := range []string{want, want, `{"jsonrpc":"2.0","id":99999,"result":{}}`} {
		if got := s.next("message").text; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLineOverTheLimitIsSkippedAndTheNextIsRead(t *testing.T) {
	for _, size := range []int{3000, 100 << 10, 900 << 10} { // inside one read, and in many
		o := quick(stdiotest.Command(t, stdiotest.Script{}))
		o.MaxLine = 256 << 10
		if size < o.MaxLine {
			o.MaxLine = size - 1
		}
		s := begin(t, o)
		s.up()
		id := s.tool("long", fmt.Sprintf(`{"bytes":%d,"then":%s}`, size, quoted(t, good+"\n")))
		if n := s.next("noise").noise; n.Reason != "child_line_too_long" || len(n.Head) != 200 {
			t.Errorf("%d bytes: noise is %+v", size, n)
		}
		s.answer(id)
	}
}

func TestAnswerOverTheLimitIsKnownByItsID(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	o.MaxLine = 256 << 10
	s := begin(t, o)
	s.up()
	id := s.tool("big", `{"bytes":300000}`)
	if n := s.next("noise").noise; n.Reason != "child_line_too_long" || fmt.Sprint(id) != string(n.ID) {
		t.Errorf("noise is %+v, want the id %v", n, id)
	}
	for _, start := range []string{`{"jsonrpc":"2.0","method":"x","id":1,"params":`, `{"jsonrpc":"2.0","result":{"id":1,"x":`, `{"id":`} {
		s.tool("raw", fmt.Sprintf(`{"text":%s}`, quoted(t, start+`"`+strings.Repeat("x", 300000)+"\n")))
		if n := s.next("noise").noise; n.ID != nil {
			t.Errorf("%s…: the id is %s", start, n.ID)
		}
	}
}

func TestLineWithoutEndIsARestartInBoundedMemory(t *testing.T) {
	for name, tool := range map[string]string{"endless": `{}`, "long": `{"bytes":300000000}`} {
		s := serve(t, stdiotest.Script{})
		s.up()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.tool(name, tool)
		if x := s.wantCause(CauseLineTooLong); !x.Restarting {
			t.Errorf("%s: exit is %+v, want a restart", name, x)
		}
		runtime.ReadMemStats(&after)
		if grown := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grown > 64<<20 {
			t.Errorf("%s: the heap has grown by %d MiB", name, grown>>20)
		}
		s.up()
		s.call("echo", "{}")
	}
}

func TestTooMuchNoiseIsARestart(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{IgnoreTerm: true}))
	o.Stop.Term = patience
	s := begin(t, o)
	s.up()
	s.tool("raw", `{"text":`+quoted(t, strings.Repeat(strings.Repeat("garbage", 4000)+"\n", 150))+`}`)
	if x := s.wantCause(CauseGarbage); x.Code != 0 { // what it still writes is taken, so it gets to see the end of its stdin
		t.Errorf("exit is %+v, want status 0", x)
	}
	noise := 0
	for _, e := range s.all()[:s.at] {
		if e.what == "noise" {
			noise++
		}
	}
	if noise != 101 {
		t.Errorf("%d lines of noise were told, want 101", noise)
	}
	s.up()
}

func TestLastLineWithoutNewlineIsAMessage(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	id := s.tool("raw", `{"text":`+quoted(t, good)+`}`)
	s.stop()
	s.answer(id)
}

func TestClosedStdoutIsARestart(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	pid := s.up().PID
	s.tool("close_stdout", "{}")
	if x := s.wantCause(CauseStdoutEOF); !x.Restarting {
		t.Errorf("exit is %+v, want a restart", x)
	}
	wantGone(t, pid)
	s.up()
}

func TestClosedStdinIsARestart(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	s.tool("close_stdin", "{}")
	// The pipe is found closed by the first write after the server has done so.
	poll(t, "a write to fail", func() bool {
		err := s.server.Put([]byte(`{"jsonrpc":"2.0","method":"notifications/x"}`))
		s.server.Flush()
		return err != nil
	})
	s.wantCause(CauseStdinClosed)
	s.up()
}

func TestServerThatDoesNotReadIsAnErrorAndThenKilled(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{}))
	o.WriteDeadline, o.QueuedLines = 2*time.Second, 50
	s := begin(t, o)
	s.up()
	s.tool("stop_reading", "{}")
	line := `{"jsonrpc":"2.0","id":1,"method":"x","params":["` + strings.Repeat("y", 100<<10) + `"]}`
	var err error
	taken := 0
	for range 200 { // more than pipe and queue hold
		if err = s.server.Put([]byte(line)); err != nil {
			break
		}
		taken++
		s.server.Flush()
	}
	if !errors.Is(err, outbox.ErrFull) {
		t.Errorf("Put returns %v, want ErrFull", err)
	}
	x := s.wantCause(CauseStdinStuck)
	if left := taken - x.Unsent; x.Unsent == 0 || left < 0 || left > 40 { // a pipe of 1 MiB holds ten, the server read some more
		t.Errorf("%d of %d lines are said never to have left", x.Unsent, taken)
	}
	s.up()
	s.call("echo", "{}")
}

func TestCrashInTheMiddleOfACallIsNoticedAtOnce(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Stderr: []string{"about to \x1b[31mfail"}}))
	o.Stop = StopTimes{Input: time.Hour, Term: time.Hour, Drain: time.Hour} // none of them may be waited for
	s := begin(t, o)
	s.up()
	s.tool("crash", `{"code":7}`)
	x := s.wantCause(CauseExit)
	if x.Code != 7 || x.Signal != "" || !x.Restarting || x.PID == 0 {
		t.Errorf("exit is %+v, want status 7 and a restart", x)
	}
	if want := []string{`about to \u{1b}[31mfail`}; !slices.Equal(x.Stderr, want) {
		t.Errorf("last words are %q, want %q", x.Stderr, want)
	}
	s.up()
}

func TestSignalIsNamed(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	p, err := os.FindProcess(s.up().PID)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if x := s.wantCause(CauseExit); x.Signal != "killed" || x.Code != -1 {
		t.Errorf("exit is %+v, want the signal", x)
	}
}

func TestRestartIsAskedFor(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	old := s.up().PID
	s.server.Restart("three calls timed out")
	if x := s.wantCause(CauseAsked); x.Detail != "three calls timed out" || !x.Restarting {
		t.Errorf("exit is %+v", x)
	}
	if s.up().PID == old {
		t.Error("the same process is up again")
	}
	wantGone(t, old)
}

func TestCommandThatCannotBeLaunchedIsNotTriedAgain(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/nonexistent/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		o    Options
		want string
	}{
		{Options{}, "no command"},
		{Options{Args: []string{"no-such-command-here"}}, "executable file not found"},
		{Options{Args: []string{"/nonexistent/server", "-x"}}, "server /nonexistent/server -x could not be launched: fork/exec /nonexistent/server: no such file"},
		{Options{Args: []string{plain}}, "permission denied"},
		{Options{Args: []string{script}}, "interpreter"},
		{Options{Args: []string{os.Args[0]}, Dir: "/nonexistent"}, "its working directory: "},
	}
	for _, test := range tests {
		d := &diary{}
		err := New(test.o).Run(t.Context(), d)
		if e, ok := errors.AsType[*StartError](err); !ok || e.Launches > 1 || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error is %v, want %q", test.o.Args, err, test.want)
		}
	}
	err := New(Options{Args: []string{"no-such-command-here"}}).Run(t.Context(), &diary{})
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error is %v, want one that is exec.ErrNotFound", err)
	}
}

func TestBudgetSpentNamesCommandStatusAndLastWords(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark") // it comes up once
	o := quick(stdiotest.Command(t, stdiotest.Script{Mark: mark, Then: &stdiotest.Script{Exit: new(9), Stderr: []string{"first", "cannot find my config"}}}))
	s := begin(t, o)
	s.up()
	s.tool("crash", "{}")
	err := s.finished()
	e, ok := errors.AsType[*StartError](err)
	if !ok {
		t.Fatalf("error is %v, want a StartError", err)
	}
	if e.Launches != 6 || e.Exit.Code != 9 || e.Exit.Restarting { // it came up, and was restarted five times
		t.Errorf("error is %+v", e)
	}
	for _, want := range []string{filepath.Base(o.Args[0]), "exited with status 9", "cannot find my config"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, without %q", err, want)
		}
	}
	downs := 0
	for _, e := range s.all() {
		if e.what == "down" {
			downs++
		}
	}
	if downs != e.Launches {
		t.Errorf("%d launches, but %d times down", e.Launches, downs)
	}
}

// A server that never came up was started seven times, its stderr logged each time, and its
// last words were the end of a stack trace.
func TestAServerThatNeverCameUpIsTriedTwiceAndSaysWhyOnce(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Exit: new(1), Stderr: []string{"npm warn old", "npm error code E404",
		"npm error 404 Not Found - GET https://registry/nothing", "npm error A complete log is in /x.log", "bye"}}))
	log, text := logged()
	o.Log = log
	s := begin(t, o)
	e, ok := errors.AsType[*StartError](s.finished())
	if !ok || e.Launches != 2 || e.WasUp {
		t.Fatalf("error is %+v, want a StartError of two launches", e)
	}
	if want := "exited with status 1 (tried 2 times); it said: npm error 404 Not Found - GET https://registry/nothing"; !strings.HasSuffix(e.Error(), want) {
		t.Errorf("error is %q, want it to end in %q", e, want)
	}
	for _, line := range []string{"npm warn old", "bye"} {
		if n := strings.Count(text(), line); n != 1 {
			t.Errorf("%q is in the log %d times, want once:\n%s", line, n, text())
		}
	}
	if !strings.Contains(text(), "server stderr as before\" lines=5") {
		t.Errorf("the log does not say that the second try said the same:\n%s", text())
	}
}

// Of one that writes to people on its stdout nobody said what that is for.
func TestAServerThatGreetsPeopleOnItsStdoutIsToldOf(t *testing.T) {
	log, text := logged()
	o := quick([]string{"sh", "-c", "for n in 1 2 3 4 5 6; do echo banner $n; done; exec sleep 60"})
	o.StartTimeout, o.Log = 300*time.Millisecond, log
	s := begin(t, o)
	if err := s.finished(); err == nil || !strings.HasSuffix(err.Error(), "did not answer initialize in time (tried 2 times); on its stdout it said: banner 1") {
		t.Errorf("error is %v", err)
	}
	if n := strings.Count(text(), "is no message"); n != 2*noiseShown {
		t.Errorf("%d lines of two launches are warned of, want %d:\n%s", n, 2*noiseShown, text())
	}
	if !strings.Contains(text(), "stdout is for MCP alone") {
		t.Errorf("the log does not say what stdout is for:\n%s", text())
	}
}

func TestFirstLaunchFailsSecondWorks(t *testing.T) {
	s := serve(t, stdiotest.Script{Exit: new(1), Mark: filepath.Join(t.TempDir(), "mark"), Then: &stdiotest.Script{}})
	s.wantCause(CauseExit)
	s.up()
	s.call("echo", "{}")
}

func TestStderrFloodIsDrainedAndBounded(t *testing.T) {
	log, text := logged()
	o := quick(stdiotest.Command(t, stdiotest.Script{StderrFlood: true}))
	o.Log = log
	s := begin(t, o)
	s.up()
	for range 200 {
		s.call("echo", "{}")
	}
	poll(t, "the count of what was suppressed", func() bool { return strings.Contains(text(), "stderr_suppressed") })
	s.stop()
	s.finished()
	if lines := strings.Count(text(), "server stderr\" line="); lines > 100*30 {
		t.Errorf("%d lines went to the log", lines)
	}
}

func TestNotificationFloodDelaysNothingForEver(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Flood: -1}))
	o.Stop.Drain = patience // its stdout ends before it has
	s := begin(t, o)
	s.mu.Lock()
	s.mute = "message"
	s.mu.Unlock()
	s.up()
	s.tool("crash", "{}")
	s.wantCause(CauseExit)
}

// Seen before the mend: the id stood behind 300 000 bytes and was not told, so
// the caller waited out its time (FINDINGS P4).
func TestAnAnswerOverTheLimitIsKnownByAnIDAtItsEnd(t *testing.T) {
	for _, size := range []int{3000, 300_000} {
		o := quick(stdiotest.Command(t, stdiotest.Script{}))
		o.MaxLine = min(256<<10, size-1)
		s := begin(t, o)
		s.up()
		id := s.tool("raw", fmt.Sprintf(`{"text":%s}`, quoted(t, `{"result":{"id":1,"x":"\\\"`+strings.Repeat("x", size)+`"},"id":$ID,"jsonrpc":"2.0"}`+"\n")))
		if n := s.next("noise").noise; n.Reason != "child_line_too_long" || id != string(n.ID) || !n.Answer {
			t.Errorf("noise is %+v, want the id %v", n, id)
		}
	}
}

// An emoji that was cut in two, or a stray byte, in one description dropped the
// whole of tools/list (FINDINGS P10).
func TestHalfACharacterHidesNoAnswer(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.up()
	for before, want := range map[string]string{
		`{"jsonrpc":"2.0","id":$ID,"result":{"x":"\ud83d"}}`:             `{"jsonrpc":"2.0","id":$ID,"result":{"x":"\ud83d"}}`,
		`{"jsonrpc":"2.0","id":$ID,"result":{"\ude00":"\ud83d\ud83d"}}`:  `{"jsonrpc":"2.0","id":$ID,"result":{"\ude00":"\ud83d\ud83d"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":\"a\xffb\"}}": "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":\"a\ufffdb\"}}",
	} {
		text := base64.StdEncoding.EncodeToString([]byte(before + "\n"))
		id := s.tool("raw", `{"b64":"`+text+`"}`)
		if got := s.answer(id); got != strings.ReplaceAll(want, "$ID", id) {
			t.Errorf("%s: the answer is %s", before, got)
		}
	}
}
