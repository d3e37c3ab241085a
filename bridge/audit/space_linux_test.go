package audit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	children["full"] = onFullDisk
	children["try"] = tryOnFullDisk
	children["limit"] = underLimit
}

// play runs this binary as another process and fails the test unless that ends
// well.
func play(t *testing.T, what, dir string, attr *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_CHILD="+what, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("user namespaces are not to be had here")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestAFullDisk is a disk of 32 KiB that fills up, and is full at the start.
func TestAFullDisk(t *testing.T) {
	playMounted(t, "full")
}

// A disk that is full is found before the log is opened, where that was there already.
func TestATryFindsAFullDisk(t *testing.T) { playMounted(t, "try") }

// playMounted runs it where it may mount.
func playMounted(t *testing.T, what string) {
	t.Helper()
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	out := play(t, what, t.TempDir(), &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: self, GidMappings: group})
	if strings.Contains(out, "SKIP") {
		t.Skip(out)
	}
}

func tryOnFullDisk(args []string) int {
	if !mountTiny(args[0]) {
		return 0
	}
	path := filepath.Join(args[0], "x.jsonl")
	l, _, err := Open(path, Options{})
	if err == nil {
		err = l.Close()
	}
	if err == nil {
		_, err = Try(path, Options{})
	}
	if err != nil {
		return complain(err)
	}
	if err := os.WriteFile(filepath.Join(args[0], "ballast"), make([]byte, 32<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		return complain(fmt.Errorf("there is room: %v", err))
	}
	if _, err := Try(path, Options{}); !errors.Is(err, syscall.ENOSPC) {
		return complain(fmt.Errorf("a try on a full disk: %v", err))
	}
	return 0
}

// mountTiny mounts it, or says why it cannot be.
func mountTiny(dir string) bool {
	err := syscall.Mount("none", dir, "tmpfs", 0, "size=32k,mode=0700")
	if err != nil {
		fmt.Println("SKIP:", err)
	}
	return err == nil
}

func onFullDisk(args []string) int {
	if !mountTiny(args[0]) {
		return 0
	}
	ballast := filepath.Join(args[0], "ballast")
	if err := os.WriteFile(ballast, make([]byte, 20<<10), 0o600); err != nil {
		return complain(err)
	}
	return fillUp(args[0], func() error { return os.Remove(ballast) }, syscall.ENOSPC)
}

// TestALimitOnFiles is RLIMIT_FSIZE, which needs no rights.
func TestALimitOnFiles(t *testing.T) { play(t, "limit", t.TempDir(), nil) }

func underLimit(args []string) int {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return complain(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8 << 10, Max: old.Max}); err != nil {
		return complain(err)
	}
	return fillUp(args[0], func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) }, syscall.EFBIG)
}

func complain(err error) int {
	fmt.Println(err)
	return 1
}

// fillUp appends until there is no room, and goes on when there is: nothing
// that was refused is in the log, nothing that was taken is missing.
func fillUp(dir string, makeRoom func() error, want error) int {
	path := filepath.Join(dir, "x.jsonl")
	changes := make(chan error, 10)
	l, _, err := Open(path, Options{RetryEvery: 10 * time.Millisecond, OnChange: func(err error) { changes <- err }})
	if err != nil {
		return complain(err)
	}
	call := 1
	for err == nil && call < 1000 {
		err = l.Append([]byte(decided(call, "allow")), []byte(started(call)), []byte(ended(call)))
		call++
	}
	if !errors.Is(err, want) {
		return complain(fmt.Errorf("after %d calls: %v", call, err))
	}
	full := call - 1
	if err := <-changes; !errors.Is(err, want) {
		return complain(fmt.Errorf("heard %v", err))
	}
	if _, _, err := Open(filepath.Join(dir, "y.jsonl"), Options{}); want == syscall.ENOSPC && !errors.Is(err, want) {
		return complain(fmt.Errorf("a log was opened on a full disk: %v", err))
	}
	if err := makeRoom(); err != nil {
		return complain(err)
	}
	if err := <-changes; err != nil {
		return complain(fmt.Errorf("it did not go on: %v", err))
	}
	if err := l.Append([]byte(decided(call, "allow")), []byte(started(call)), []byte(ended(call))); err != nil {
		return complain(err)
	}
	if err := l.Close(); err != nil {
		return complain(err)
	}
	r, err := VerifyLog(path, Checks{})
	if err != nil || !r.OK || r.Starts != call-1 || r.Recoveries != 1 {
		return complain(fmt.Errorf("%d calls, the one that found no room is %d: %+v %v %v", call, full, r, r.Fault, err))
	}
	return 0
}
