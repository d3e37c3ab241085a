//go:build unix

package stdio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A keeper runs a server for whoever comes, as socat or systemd would: one
// process for each connection.
type keeper struct {
	t    *testing.T
	argv []string
}

// play starts the server on two descriptors and closes ours.
func (k keeper) play(in, out *os.File) *exec.Cmd {
	cmd := exec.Command(k.argv[0], k.argv[1:]...)
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		k.t.Error(err)
	}
	in.Close()
	out.Close()
	return cmd
}

// listen serves at a socket until the test ends.
func (k keeper) listen(network, address string) string {
	l, err := net.Listen(network, address)
	if err != nil {
		k.t.Fatal(err)
	}
	var serving sync.WaitGroup
	var played []*exec.Cmd // by one goroutine, until that is done
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f, err := c.(interface{ File() (*os.File, error) }).File()
			c.Close()
			if err != nil {
				k.t.Error(err)
				return
			}
			played = append(played, k.play(f, f))
		}
	})
	k.t.Cleanup(func() {
		l.Close()
		serving.Wait()
		for _, cmd := range played {
			late := time.AfterFunc(time.Second, func() { cmd.Process.Kill() }) // some are made not to end
			cmd.Wait()
			late.Stop()
		}
	})
	return l.Addr().String()
}

// pipes makes two named pipes and serves there, and once more when again is
// called. That must be after the first client has let go, or the next server
// gets what was meant for the one before.
func (k keeper) pipes() (e Endpoint, again func()) {
	dir := k.t.TempDir()
	e = Endpoint{"fifo", filepath.Join(dir, "from"), filepath.Join(dir, "to")}
	for _, path := range []string{e.In, e.Out} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	done, turns := make(chan struct{}), make(chan struct{}, 2)
	turns <- struct{}{}
	go func() {
		defer close(done)
		for range turns {
			in, err := os.OpenFile(e.Out, os.O_RDONLY, 0) // as a shell does: one after the other
			if err != nil {
				k.t.Error(err)
				return
			}
			out, err := os.OpenFile(e.In, os.O_WRONLY, 0)
			if err != nil {
				k.t.Error(err)
				return
			}
			k.play(in, out).Wait()
		}
	}()
	k.t.Cleanup(func() {
		close(turns)
		poll(k.t, "the keeper of the pipes", func() bool {
			for _, path := range []string{e.In, e.Out} { // an open that waits for its other end returns
				if both, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
					both.Close()
				}
			}
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
	})
	return e, func() { turns <- struct{}{} }
}

// descriptors are pipes that we are born with, as far as a Server can tell.
func (k keeper) descriptors() Endpoint {
	theirIn, out, err := os.Pipe()
	if err != nil {
		k.t.Fatal(err)
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := k.play(theirIn, theirOut)
	k.t.Cleanup(func() { in.Close(); out.Close(); cmd.Wait() })
	for _, f := range []*os.File{in, out} {
		unix.SetNonblock(int(f.Fd()), false) // as inherited ones are
	}
	return Endpoint{"fd", fmt.Sprint(in.Fd()), fmt.Sprint(out.Fd())}
}

func quickAt(e Endpoint) Options {
	o := quick(nil)
	o.Endpoint, o.StartTimeout = e, 10*time.Second
	return o
}

// endpoints are the same server, reached in every way there is. Where again is
// not nil, the next server comes when it is called.
func endpoints(t *testing.T, script stdiotest.Script) map[string]func(t *testing.T) (at Endpoint, again func()) {
	argv := stdiotest.Command(t, script)
	return map[string]func(t *testing.T) (Endpoint, func()){
		"unix": func(t *testing.T) (Endpoint, func()) {
			at := keeper{t, argv}.listen("unix", filepath.Join(t.TempDir(), "s"))
			return Endpoint{"unix", at, at}, nil
		},
		"tcp": func(t *testing.T) (Endpoint, func()) {
			at := keeper{t, argv}.listen("tcp", "127.0.0.1:0")
			return Endpoint{"tcp", at, at}, nil
		},
		"fifo": func(t *testing.T) (Endpoint, func()) { return keeper{t, argv}.pipes() },
		"fd":   func(t *testing.T) (Endpoint, func()) { return keeper{t, argv}.descriptors(), nil },
	}
}

func TestAttachedServerServes(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	for name, at := range endpoints(t, stdiotest.Script{Pids: pids}) {
		t.Run(name, func(t *testing.T) {
			e, _ := at(t)
			s := begin(t, quickAt(e))
			if h := s.up(); h.PID != 0 || h.Revision != jsonrpc.LegacyRevision {
				t.Errorf("hello: %+v", h)
			}
			for _, size := range []int{10, 96 << 10, 8 << 20} {
				text := `{"x":"` + strings.Repeat("y", size) + `","n":9007199254740993}`
				s.put(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":` + text + `}`)
				if got := s.next("message").text; got != `{"jsonrpc":"2.0","id":1,"result":`+text+`}` {
					t.Errorf("%d bytes: %d came back", size, len(got))
				}
			}
			s.stop()
			s.finished()
			if x := s.wantCause(CauseStopped); x.PID != 0 || x.Code != -1 {
				t.Errorf("exit: %+v", x)
			}
		})
	}
	wantGone(t, stdiotest.Pids(t, pids)...) // each has seen the end of its input
}

func TestAttachedServerThatHangsUpIsFoundAgainWhereThatIsPossible(t *testing.T) {
	for name, at := range endpoints(t, stdiotest.Script{}) {
		t.Run(name, func(t *testing.T) {
			e, again := at(t)
			s := begin(t, quickAt(e))
			s.up()
			s.tool("crash", "{}")
			x := s.wantCause(CauseHungUp)
			if x.Restarting != (name != "fd") {
				t.Errorf("exit: %+v", x)
			}
			if name == "fd" {
				e, ok := errors.AsType[*StartError](s.finished())
				if !ok || !strings.Contains(e.Error(), "closed the connection") || !strings.Contains(e.Error(), "server at fd:") {
					t.Errorf("Run returned %v", e)
				}
				return
			}
			if again != nil {
				again()
			}
			s.up()
			s.call("echo", "{}")
		})
	}
}

func TestAttachGoesOnLongerThanAStartWould(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	k := keeper{t, stdiotest.Command(t, stdiotest.Script{})}
	k.listen("unix", path)
	o := quickAt(Endpoint{"unix", path, path})
	o.Restart = Budget{Restarts: 1, First: time.Millisecond, Most: time.Millisecond}
	s := begin(t, o)
	for range 5 {
		s.up()
		s.tool("crash", "{}")
		s.wantCause(CauseHungUp)
	}
	s.up()
}

func TestAttachToNothingFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []Endpoint{
		{"unix", filepath.Join(dir, "none"), filepath.Join(dir, "none")},
		{"tcp", "127.0.0.1:1", "127.0.0.1:1"},
		{"fifo", filepath.Join(dir, "none"), filepath.Join(dir, "none")},
		{"fifo", file, file},
		{"fd", "998", "999"},
	} {
		s := begin(t, quickAt(e))
		err, ok := errors.AsType[*StartError](s.finished())
		if !ok || err.Exit.Cause != CauseUnreached || !strings.Contains(err.Error(), "at "+e.String()) {
			t.Errorf("%s: Run returned %v", e, err)
		}
	}
}

func TestNamedPipesAreWaitedFor(t *testing.T) {
	dir := t.TempDir()
	e := Endpoint{"fifo", filepath.Join(dir, "in"), filepath.Join(dir, "out")}
	for _, path := range []string{e.In, e.Out} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := quickAt(e)
	o.StartTimeout, o.Restart = 20*time.Millisecond, Budget{Restarts: -1}
	err := begin(t, o).finished()
	if err == nil || !strings.Contains(err.Error(), "nobody has opened its other end: waited 20ms") {
		t.Errorf("Run returned %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(quickAt(e)).Run(ctx, &diary{}) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run waits on")
	}
}

// A server that has been initialised may say so, or serve its other client at
// the same time.
func TestAttachedServerOfSomebodyElse(t *testing.T) {
	for cause, script := range map[string]stdiotest.Script{
		CauseHandshake: {Initialize: "refuse", Discover: "refuse"},
		CauseInUse:     {Early: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, `{"jsonrpc":"2.0","id":4,"result":{}}`}},
	} {
		t.Run(cause, func(t *testing.T) {
			at, _ := endpoints(t, script)["unix"](t)
			o := quickAt(at)
			o.Restart = Budget{Restarts: -1}
			s := begin(t, o)
			e, ok := errors.AsType[*StartError](s.finished())
			if !ok || e.Exit.Cause != cause || !strings.Contains(e.Error(), "was left because") {
				t.Errorf("Run returned %v", e)
			}
			t.Log(e)
		})
	}
}

func TestAttachedServerIsBoundedLikeAnyOther(t *testing.T) {
	for tool, want := range map[string]string{
		"stop_reading": CauseStdinStuck, "endless": CauseLineTooLong,
	} {
		t.Run(tool, func(t *testing.T) {
			e, _ := endpoints(t, stdiotest.Script{})["unix"](t)
			o := quickAt(e)
			o.MaxLine, o.WriteDeadline = 64<<10, 100*time.Millisecond
			s := begin(t, o)
			s.up()
			s.tool(tool, "{}")
			if tool == "stop_reading" {
				line := []byte(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"x":"` + strings.Repeat("y", 60<<10) + `"}}`)
				for range 40 {
					if s.server.Put(line) != nil {
						break // it was found out already
					}
					s.server.Flush()
				}
			}
			s.wantCause(want)
			s.up()
		})
	}
}

func TestDescriptorGivesItsModeBack(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd := int(r.Fd())
	blocking := func(fd int) bool {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			t.Fatal(err)
		}
		return flags&unix.O_NONBLOCK == 0
	}
	unix.SetNonblock(fd, false)
	other, err := unix.Dup(fd) // as whoever started us keeps one
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	d, err := OpenDescriptor(fd)
	if err != nil {
		t.Fatal(err)
	}
	if blocking(other) {
		t.Error("a pipe was left in blocking mode")
	}
	read := make(chan error, 1)
	go func() {
		_, err := d.Read(make([]byte, 1))
		read <- err
	}()
	d.Close()
	if err := <-read; err == nil {
		t.Error("a read went on after Close")
	}
	if !blocking(other) {
		t.Error("the mode was not given back")
	}
}

func TestEndpointsAreReadAndWritten(t *testing.T) {
	for _, text := range []string{"unix:/run/a.sock", "unix:a:b", "tcp:127.0.0.1:80", "tcp:[::1]:80", "fifo:a,b", "fd:3,4", "-"} {
		if e, err := ParseEndpoint(text); err != nil || e.String() != text {
			t.Errorf("%q: %+v %v", text, e, err)
		}
	}
	for _, text := range []string{"", "unix:", "/run/a.sock", "tcp:80", "tcp:host:", "fifo:a", "fifo:,b", "fd:3", "fd:a,b", "fd:-1,2", "http://x"} {
		if e, err := ParseEndpoint(text); err == nil {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}
