package localgateway

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

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A StateDir is where the programs of one user on one machine find each other:
//
//	secret        signs the tokens of the local gateway; made once
//	gateway.json  where it listens
//	gateway.lock  held by the process that hosts it, as long as it does
//	seat-ID.lock  held by the bridge that has this id
//	turn-….lock   held by who asks something under one id, and there as long as that takes
//	approve-….lock shared by those who answer questions under one id, and there as long
//	family-….lock held by a bridge, for what its server starts
//
// It is ours alone (0700, files 0600), which is what the local gateway's
// security rests on: who can read the secret is the same user. Its methods may be
// called from any goroutine and any number of processes.
type StateDir string

// ErrNoState says that there is no directory to keep anything in.
var ErrNoState = errors.New("no state directory")

// noState is misuse that is ErrNoState too.
func noState(hint, format string, args ...any) error {
	f := fault.New(fault.Misused, hint, format, args...)
	f.Err = stateless{f.Err}
	return f
}

type stateless struct{ error }

func (stateless) Is(target error) bool { return target == ErrNoState }

// Home finds the directory's path in the variables of an environment
// (XDG_STATE_HOME, else HOME or LOCALAPPDATA). It makes nothing. Its errors are
// ErrNoState too, and misuse.
func Home(getenv func(string) string) (StateDir, error) {
	if home := getenv("XDG_STATE_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return "", noState("write the whole path, from the root on, or unset it", "XDG_STATE_HOME is %q, it must be an absolute path", home)
		}
		return StateDir(filepath.Join(home, "mcpx-bridge")), nil
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
		return "", noState("set XDG_STATE_HOME, or name a gateway with --gateway", "%s is not set, so the local gateway has no place for its state", key)
	}
	return StateDir(filepath.Join(home, below, "mcpx-bridge")), nil
}

// OpenHome is [Home], opened. Where it fails the directory is "".
func OpenHome(getenv func(string) string) (StateDir, error) {
	home, err := Home(getenv)
	if err == nil {
		err = home.Open()
	}
	if err != nil {
		return "", err
	}
	return home, nil
}

// Open makes the directory if need be and refuses one that others can get into.
func (d StateDir) Open() error {
	if err := private.MakeDir(nil, string(d)); err != nil {
		return fault.New(fault.Failed, "set XDG_STATE_HOME to a directory of yours, or move away the file that has the directory's name", "state directory: %w", err)
	}
	f, err := os.Open(string(d))
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	defer f.Close()
	if err := yoursAlone(f); err != nil {
		return fault.New(fault.Failed, "chmod 700 "+string(d), "state directory: %w", err)
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

// File is the path of one of the directory's files.
func (d StateDir) File(name string) string { return filepath.Join(string(d), name) }

// Secret returns the secret of the local gateway, 32 bytes, and makes it when there is
// none yet. Of several processes that do so at once, one wins and all agree.
func (d StateDir) Secret() ([]byte, error) {
	secret, err := d.readSecret()
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := d.makeSecret(); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("the local gateway's secret: %w", err)
	}
	return d.readSecret()
}

func (d StateDir) readSecret() ([]byte, error) {
	text, err := d.Read("secret")
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != 32 {
		return nil, fault.New(fault.Failed, "remove it, and a new one is made; tokens and grants made with the old one do not count any more",
			"%s does not hold 32 bytes in hexadecimal", d.File("secret"))
	}
	return secret, nil
}

// makeSecret gives the file its name only when it is whole.
func (d StateDir) makeSecret() error {
	secret := make([]byte, 32)
	rand.Read(secret) // cannot fail
	return private.Create(nil, d.File("secret"), append(hex.AppendEncode(nil, secret), '\n'))
}

// plainFiles is a hint at what may be in the directory.
const plainFiles = "remove it if it is no plain file of yours: the state directory keeps nothing else"

// Read returns at most 64 KiB of a file of the directory, if nobody else can read it.
// The error wraps fs.ErrNotExist where there is none.
func (d StateDir) Read(name string) ([]byte, error) {
	f, err := private.Open(d.File(name), os.O_RDONLY)
	if err != nil {
		return nil, fault.New(fault.Failed, plainFiles, "state directory: %w", err)
	}
	defer f.Close()
	if err := yoursAlone(f); err != nil {
		return nil, fault.New(fault.Failed, "chmod 600 "+f.Name(), "state directory: %w", err)
	}
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// listingFile says where the local gateway is.
const listingFile = "gateway.json"

// A listing is gateway.json: where the local gateway is.
type listing struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// listing reads where the local gateway is, or last was.
func (d StateDir) listing() (listing, error) {
	var l listing
	text, err := d.Read(listingFile)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fault.New(fault.Failed, "remove it", "%s: %w", d.File(listingFile), err)
	}
	return l, nil
}

func (d StateDir) list(l listing) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return private.ReplaceForNow(nil, d.File(listingFile), append(text, '\n')) // whom it names a power cut ends too
}

// hostLock is the lock of the process that hosts the local gateway.
const hostLock = "gateway.lock"

// Lock takes what a file of the directory stands for. It returns nil, and no error, if
// another process has it. Closing the file gives it back, and so does dying.
func (d StateDir) Lock(name string) (*os.File, error) { return d.lock(name, true) }

// Share is Lock for one of several who have it together.
func (d StateDir) Share(name string) (*os.File, error) { return d.lock(name, false) }

func (d StateDir) lock(name string, alone bool) (*os.File, error) {
	f, err := private.Open(d.File(name), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fault.New(fault.Failed, plainFiles, "state directory: %w", err)
	}
	ok, err := private.Lock(f, alone)
	if err != nil {
		f.Close()
		return nil, fault.New(fault.Failed, "keep it on a local disk: set XDG_STATE_HOME", "%s cannot be locked: %w", f.Name(), err)
	}
	if !ok {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// hosted reports whether some process holds the lock, so that what the listing
// says is true. It disturbs nobody: it asks for a shared lock and lets go.
func (d StateDir) hosted() (bool, error) {
	f, err := private.Open(d.File(hostLock), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.Failed, plainFiles, "state directory: %w", err)
	}
	defer f.Close()
	free, err := private.Lock(f, false)
	return !free, err
}
