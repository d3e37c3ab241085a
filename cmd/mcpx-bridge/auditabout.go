package main

import (
	"cmp"
	"encoding/json"
	"math"
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
	Command string `json:"command,omitempty"` // keyed digest of the arguments and --env
}

func (b *bridging) about() []byte {
	c := &b.opt.Engine
	a := about{Version: version(), Gateway: cmp.Or(c.Gateway, "this machine"), Topic: c.Topic, Policy: c.Policy.Hash(),
		Server: serverAbout{Name: b.target.program(), Program: b.program.path, Command: c.Command}}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings alone cannot fail
	}
	return text
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
