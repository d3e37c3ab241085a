package stdio

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// playConfined makes this binary a sweeper where the kernel makes nobody a subreaper,
// as in some sandboxes. It runs the command in its second argument beside the server.
const playConfined = "stdio-confined"

func init() {
	if len(os.Args) < 4 || os.Args[1] != playConfined {
		return
	}
	if err := refuseSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot confine:", err)
		os.Exit(9)
	}
	go Beside(exec.Command("sh", "-c", os.Args[2]))
	os.Exit(sweeper(os.Args[3:], slog.New(slog.NewTextHandler(os.Stderr, nil))))
}

// refuseSubreaper has the kernel answer prctl(PR_SET_CHILD_SUBREAPER) with EPERM, for
// all threads and whatever they start.
func refuseSubreaper() error {
	const load, equal, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the call
		{Code: equal, K: unix.SYS_PRCTL, Jf: 3},
		{Code: load, K: 16}, // its first argument
		{Code: equal, K: unix.PR_SET_CHILD_SUBREAPER, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// Seen before the mend: a command that gets a token was killed with the server, for it
// was taken for something that the server had left; and nobody was told that nothing of
// what the server does leave can be found.
func TestWhoMayAdoptNobodyEndedWhatWasItsOwn(t *testing.T) {
	dir := t.TempDir()
	beside, servers := filepath.Join(dir, "beside"), filepath.Join(dir, "servers")
	server := strings.Join(stdiotest.Command(t, stdiotest.Script{}), "' '")
	us := exec.Command(os.Args[0], playConfined, "echo $$ >> "+beside+"; exec sleep 1000", "sh", "-c", "echo $$ >> "+servers+"\nexec '"+server+"'")
	var log bytes.Buffer
	us.Stderr = &log
	if err := us.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		us.Process.Kill()
		us.Wait()
		for _, pid := range append(stdiotest.Pids(t, beside), stdiotest.Pids(t, servers)...) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	poll(t, "both processes", func() bool { return len(stdiotest.Pids(t, beside)) == 1 && len(stdiotest.Pids(t, servers)) == 1 })
	us.Process.Signal(syscall.SIGHUP)
	poll(t, "the second server", func() bool { return len(stdiotest.Pids(t, servers)) == 2 })
	if pid := stdiotest.Pids(t, beside)[0]; !stdiotest.Alive(pid) {
		t.Error("what runs beside the server was ended with it")
	}
	us.Process.Signal(syscall.SIGTERM)
	us.Wait()
	if n := strings.Count(log.String(), "cannot be found"); n != 1 {
		t.Errorf("it is told %d times\n%s", n, &log)
	}
}
