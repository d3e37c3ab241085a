package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	if play := os.Getenv("AUDIT_TEST_CHILD"); play != "" {
		os.Exit(children[play](os.Args[1:]))
	}
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// children are what this binary does when it is started as another process.
var children = map[string]func(args []string) int{}

// calm is for tests that retry by hand.
var calm = Options{RetryEvery: -1}

func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "audit", "x.jsonl")
}

// open opens a log and closes it with the test.
func open(t testing.TB, path string, o Options) (*Log, Found) {
	t.Helper()
	l, found, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, found
}

func mustAppend(t testing.TB, l *Log, recs ...string) {
	t.Helper()
	if err := l.Append(raw(recs)...); err != nil {
		t.Fatal(err)
	}
}

func raw(recs []string) [][]byte {
	var all [][]byte
	for _, r := range recs {
		all = append(all, []byte(r))
	}
	return all
}

// Records of one call.
func decided(call int, verdict string) string {
	return fmt.Sprintf(`{"event":"decided","call":%d,"env":"e-%d","from":"ana","method":"tools/call","tool":"read_file","via":"request","verdict":%q,"body":"b-%d"}`, call, call, verdict, call)
}
func started(call int) string {
	return fmt.Sprintf(`{"event":"started","call":%d,"env":"e-%d","from":"ana","tool":"read_file"}`, call, call)
}
func ended(call int) string {
	return fmt.Sprintf(`{"event":"ended","call":%d,"env":"e-%d","from":"ana","tool":"read_file","outcome":"ok"}`, call, call)
}

// whole are all three.
func whole(call int) []string { return []string{decided(call, "allow"), started(call), ended(call)} }

func syncNow(t testing.TB, l *Log) {
	t.Helper()
	if err := trySync(l); err != nil {
		t.Fatal(err)
	}
}

func trySync(l *Log) error {
	done := make(chan error, 1)
	l.Sync(func(err error) { done <- err })
	return <-done
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// verified fails the test unless the log at path is whole.
func verified(t testing.TB, path string) Report {
	t.Helper()
	r, err := VerifyLog(path, Checks{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK {
		t.Fatalf("%v\n%s", r.Fault, dump(t, path))
	}
	return r
}

// broken fails the test unless the log at path has a fault on the line that
// says why.
func broken(t testing.TB, path string, line int, why string) {
	t.Helper()
	r, err := VerifyLog(path, Checks{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fault == nil || r.Fault.Line != line || !strings.Contains(r.Fault.Why, why) {
		t.Fatalf("fault %v, want line %d: %s\n%s", r.Fault, line, why, dump(t, path))
	}
}

func dump(t testing.TB, path string) string {
	t.Helper()
	files, err := Files(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "-- %s --\n%s", filepath.Base(file), read(t, file))
	}
	return b.String()
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// events are those of the log at path, in order.
func events(t testing.TB, path string) string {
	t.Helper()
	files, err := Files(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line, err := range linesOf(files...) {
		if err != nil {
			t.Fatal(err)
		}
		h, err := readHeader(line.Text)
		if err != nil {
			t.Fatalf("%s:%d: %v", line.File, line.Number, err)
		}
		all = append(all, strings.Trim(string(h.event)+" "+string(h.call), " "))
	}
	return strings.Join(all, ", ")
}

// wantEvents compares the events of the log at path.
func wantEvents(t testing.TB, path, want string) {
	t.Helper()
	if got := events(t, path); got != want {
		t.Fatalf("events: %s\n  want: %s", got, want)
	}
}

// eventually waits for what another goroutine does on its own time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func linesIn(text []byte) int { return bytes.Count(text, []byte{'\n'}) }

var errDisk = errors.New("the disk is on fire")

// verifyFiles verifies the files of one log, oldest first, without what is beside it.
func verifyFiles(files []string, c Checks) (Report, error) {
	s := newSnapshot("", openFile)
	s.names = files
	v, err := s.verify(c)
	return v.report, err
}

// Retry tries at once to go on after a failure: it opens the file again, cuts
// off what is half written, and writes a record that says what happened. It
// returns nil if the log is well, and waits two seconds at most.
func (l *Log) Retry() error {
	if l.Err() == nil {
		return nil
	}
	answer := make(chan error, 1)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case l.asked <- answer:
	case <-l.keepEnded:
		return ErrClosed
	case <-late.C:
		return ErrSlow
	}
	select {
	case err := <-answer:
		return err
	case <-late.C:
		return ErrSlow
	}
}

// Head is the newest record that was written.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}
