package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A stateDir is where the programs of one user on one machine find each other:
//
//	secret        signs the tokens of the local gateway; made once
//	gateway.json  where it listens
//	gateway.lock  held by the process that hosts it, as long as it does
//	seat-ID.lock  held by the bridge that goes by that id
//	family-….lock see family
//
// It is ours alone (0700, files 0600), which is what the local gateway's
// security rests on: who can read the secret is the same user.
type stateDir string

// errNoState says that there is no directory to keep anything in.
var errNoState = errors.New("no state directory")

// noState is misuse that is errNoState too.
func noState(hint, format string, args ...any) error {
	f := misused(hint, format, args...)
	f.Err = stateless{f.Err}
	return f
}

type stateless struct{ error }

func (stateless) Is(target error) bool { return target == errNoState }

// stateHome finds the directory's path; it makes nothing. Its errors are errNoState.
func stateHome(getenv func(string) string) (stateDir, error) {
	if home := getenv("XDG_STATE_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return "", noState("write it from the root on, or unset it", "XDG_STATE_HOME is %q, it must be an absolute path", home)
		}
		return stateDir(filepath.Join(home, "mcpx-bridge")), nil
	}
	key, below := "HOME", filepath.Join(".local", "state")
	switch runtime.GOOS {
	case "darwin":
		below = filepath.Join("Library", "Application Support")
	case "windows":
		key, below = "LOCALAPPDATA", ""
	}
	home := getenv(key)
	if home == "" {
		return "", noState("set XDG_STATE_HOME, or name a gateway with --gateway", "there is no %s to keep the local gateway's state in", key)
	}
	return stateDir(filepath.Join(home, below, "mcpx-bridge")), nil
}

// open makes the directory if need be and refuses one that others can get into.
func (d stateDir) open() error {
	if err := private.MakeDir(nil, string(d)); err != nil {
		return fail(exitFailed, "set XDG_STATE_HOME to a directory of yours, or move away what is in the place of this one", "state directory: %w", err)
	}
	f, err := os.Open(string(d))
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	defer f.Close()
	if err := yoursAlone(f); err != nil {
		return fail(exitFailed, "chmod 700 "+string(d), "state directory: %w", err)
	}
	return nil
}

// yoursAlone refuses a file or directory that somebody else can get at.
func yoursAlone(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return private.Closed(f.Name(), info)
}

func (d stateDir) file(name string) string { return filepath.Join(string(d), name) }

// secret returns the secret of the local gateway, and makes it when there is
// none yet. Of several processes that do so at once, one wins and all agree.
func (d stateDir) secret() ([]byte, error) {
	secret, err := d.readSecret()
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := d.makeSecret(); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("the local gateway's secret: %w", err)
	}
	return d.readSecret()
}

func (d stateDir) readSecret() ([]byte, error) {
	text, err := d.read("secret")
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != 32 {
		return nil, fail(exitFailed, "remove it; a new one is made (tokens made with it, and answers that were to last, count no more)",
			"%s does not hold 32 bytes in hexadecimal", d.file("secret"))
	}
	return secret, nil
}

// makeSecret gives the file its name only when it is whole.
func (d stateDir) makeSecret() error {
	secret := make([]byte, 32)
	rand.Read(secret) // cannot fail
	return private.Create(nil, d.file("secret"), append(hex.AppendEncode(nil, secret), '\n'))
}

// plainFiles is a hint at what may be in the directory.
const plainFiles = "what is kept there are plain files that only you can read; one that is not may be removed"

// read returns a file of the directory, if nobody else can read it.
func (d stateDir) read(name string) ([]byte, error) {
	f, err := private.Open(d.file(name), os.O_RDONLY)
	if err != nil {
		return nil, fail(exitFailed, plainFiles, "state directory: %w", err)
	}
	defer f.Close()
	if err := yoursAlone(f); err != nil {
		return nil, fail(exitFailed, "chmod 600 "+f.Name(), "state directory: %w", err)
	}
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// A listing is gateway.json: where the local gateway is.
type listing struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// listing reads where the local gateway is, or last was.
func (d stateDir) listing() (listing, error) {
	var l listing
	text, err := d.read("gateway.json")
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fail(exitFailed, "remove it", "%s: %w", d.file("gateway.json"), err)
	}
	return l, nil
}

func (d stateDir) list(l listing) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return private.ReplaceForNow(nil, d.file("gateway.json"), append(text, '\n')) // whom it names a power cut ends too
}

// hostLock is the lock of the process that hosts the local gateway.
const hostLock = "gateway.lock"

// lock takes what a file stands for. It returns nil if another process has it.
// Closing the file gives it back, and so does dying.
func (d stateDir) lock(name string) (*os.File, error) {
	f, err := private.Open(d.file(name), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fail(exitFailed, plainFiles, "state directory: %w", err)
	}
	ok, err := private.Lock(f, true)
	if err != nil {
		f.Close()
		return nil, fail(exitFailed, "keep it on a local disk: set XDG_STATE_HOME", "%s cannot be locked: %w", f.Name(), err)
	}
	if !ok {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// hosted reports whether some process holds the lock, so that what the listing
// says is true. It disturbs nobody: it asks for a shared lock and lets go.
func (d stateDir) hosted() (bool, error) {
	f, err := private.Open(d.file(hostLock), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fail(exitFailed, plainFiles, "state directory: %w", err)
	}
	defer f.Close()
	free, err := private.Lock(f, false)
	return !free, err
}
