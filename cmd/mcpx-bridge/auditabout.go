package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An about is what the first record of a run says of it (FINDINGS C8): what a reader
// of the log cannot find out afterwards. No secret is in it: of the command there is
// the program, and a digest that is made with the machine's secret.
type about struct {
	Version string      `json:"version"`
	Server  serverAbout `json:"server"`
	Gateway string      `json:"gateway"`
	Topic   string      `json:"topic"`
	Policy  string      `json:"policy"` // hash of the rules at the start
}

// A serverAbout is which server was started.
type serverAbout struct {
	Name    string `json:"name"`              // as the topic is told
	Program string `json:"program,omitempty"` // the file, from the root on
	SHA256  string `json:"sha256,omitempty"`  // of that, at the start; "" if it cannot be read or is too large
	Command string `json:"command,omitempty"` // keyed digest of the arguments and --env
}

// hashMost is how large a program may be that is read for its hash: the start waits
// for that.
const hashMost = 512 << 20

func (b *bridging) about() []byte {
	c := &b.opt.Engine
	a := about{Version: version(), Gateway: cmp.Or(c.Gateway, "this machine"), Topic: c.Topic, Policy: c.Policy.Hash(),
		Server: serverAbout{Name: b.target.program(), Command: c.Command}}
	if !b.target.attached() {
		a.Server.Program, a.Server.SHA256 = programFile(b.target.argv[0], b.launch.Dir)
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings alone cannot fail
	}
	return text
}

// programFile is the file that will be started for name in dir, and its hash, as far
// as they can be told.
func programFile(name, dir string) (file, sum string) {
	file, err := exec.LookPath(name)
	if filepath.Base(name) != name { // it is relative to where the server is started
		file, err = name, nil
		if !filepath.IsAbs(name) {
			file = filepath.Join(dir, name)
		}
	}
	if err != nil {
		return "", ""
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", ""
	}
	info, err := os.Stat(file) // before it is opened: a pipe would hold us
	if err != nil || !info.Mode().IsRegular() || info.Size() > hashMost {
		return file, ""
	}
	f, err := os.Open(file)
	if err != nil {
		return file, ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return file, ""
	}
	return file, hex.EncodeToString(h.Sum(nil))
}

// mostDays is a century, which a time.Duration holds.
const mostDays = 36500

// auditKeep reads what of the record is to be kept; zeros: all of it.
func (s *settings) auditKeep() (size int64, age time.Duration, err error) {
	if !(s.AuditKeepDays >= 0 && s.AuditKeepDays <= mostDays) { // which NaN is not either
		return 0, 0, misused("--audit-keep-days 90", "--audit-keep-days: %v is no number of days", s.AuditKeepDays)
	}
	age = time.Duration(s.AuditKeepDays * 24 * float64(time.Hour))
	if s.AuditKeepSize == "" {
		return 0, age, nil
	}
	size, ok := bytesIn(s.AuditKeepSize)
	if !ok || size < 1<<20 {
		return 0, 0, misused("--audit-keep-size 1GB; 1MB at least", "--audit-keep-size: %q is no size to keep", s.AuditKeepSize)
	}
	return size, age, nil
}

// bytesIn reads a size: a whole number of bytes, KB, MB, GB or TB, each 1024 of the one before.
func bytesIn(text string) (int64, bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	shift := 0
	for i, unit := range []string{"KB", "MB", "GB", "TB"} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(digits), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// neededFor is how long records must be kept whatever was told: limits and the memory
// of calls are read back from them.
func neededFor(limits time.Duration) time.Duration {
	return max(limits, seenFor)
}

// seenFor is how long a call is known again (DESIGN 14, "Once").
const seenFor = 15 * time.Minute
