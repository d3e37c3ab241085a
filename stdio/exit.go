package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A StartError says that the server could not be started or kept up.
type StartError struct {
	Args     []string
	Endpoint Endpoint
	Launches int   // how often it was tried
	WasUp    bool  // once at least
	Err      error // why it could not be launched; nil if it could, but did not live
	Exit     Exit  // how the last process ended
}

func (e *StartError) Unwrap() error { return e.Err }

// Error names the command, how the process ended, and the last lines of its stderr.
func (e *StartError) Error() string {
	name := command(e.Args)
	if e.Endpoint != (Endpoint{}) {
		name = "at " + text.Line(e.Endpoint.String())
	}
	text := "server " + name + " " + e.Exit.String()
	if e.Launches > 1 {
		text += fmt.Sprintf(" (tried %d times)", e.Launches)
	}
	if len(e.Exit.Why) > 0 {
		text += "; it said: " + strings.Join(e.Exit.Why, " | ")
	}
	if !e.WasUp && e.Exit.Stdout != "" {
		text += "; on its stdout it said: " + e.Exit.Stdout
	}
	return text
}

// String says in a few words, without a subject, how the process ended.
func (x Exit) String() string {
	text := "exited with status " + strconv.Itoa(x.Code)
	switch {
	case x.Cause == CauseStart:
		return "could not be launched: " + x.Detail
	case x.Cause == CauseUnreached:
		return "could not be reached: " + x.Detail
	case x.Cause == CauseExit && x.Signal != "":
		text = "was ended by signal: " + x.Signal
	case x.Cause == CauseExit:
	case x.PID == 0:
		text = strings.Replace(meaning[x.Cause], "stopped", "left", 1) // it is not ours to stop
	default:
		text = meaning[x.Cause]
	}
	if x.Detail != "" {
		text += ": " + x.Detail
	}
	return text
}

var meaning = map[string]string{
	CauseInitTimeout: "was stopped because it did not answer initialize in time",
	CauseHandshake:   "was stopped because the handshake failed",
	CauseStdoutEOF:   "was stopped because it closed its stdout",
	CauseStdinClosed: "was stopped because it closed its stdin",
	CauseStdinStuck:  "was stopped because it does not read its stdin",
	CauseGarbage:     "was stopped because its stdout is full of lines that are no messages",
	CauseLineTooLong: "was stopped because it wrote a line without end",
	CauseAsked:       "was stopped for a restart",
	CauseStopped:     "was stopped",
	CauseHungUp:      "closed the connection",
	CauseHostLeft:    "ended because its client is gone",
	CauseInUse:       "was stopped because it serves somebody else",
}

// command shows argv in one line, cut where it gets too long for a message.
func command(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'\\") {
			words[i] = strconv.Quote(a)
		}
	}
	all := strings.Join(words, " ")
	if len(all) > 160 {
		all = strings.ToValidUTF8(all[:160], "") + "…"
	}
	return text.Line(all)
}

// launchError makes the error of a failed launch say what was not found.
func launchError(path, dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || path == "" {
		return err
	}
	if _, e := os.Stat(dir); dir != "" && e != nil {
		return fmt.Errorf("its working directory: %w", e)
	}
	if _, e := os.Stat(path); e == nil {
		return fmt.Errorf("%w (the file is there: is the interpreter in its first line?)", err)
	}
	return err
}

// lasting reports whether a launch that failed so will fail again. What the
// machine was only short of at the moment (processes, descriptors) will not.
func lasting(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return !ok || !t.Temporary()
}

// A noiseMeter notices more than 100 lines of noise within 10 s.
type noiseMeter struct {
	count int
	at    [101]time.Time // of the latest lines, as a ring
}

func (n *noiseMeter) add(now time.Time) (tooMany bool) {
	oldest := &n.at[n.count%len(n.at)]
	n.count++
	*oldest = now
	next := n.at[n.count%len(n.at)]
	return n.count >= len(n.at) && now.Sub(next) <= 10*time.Second
}
