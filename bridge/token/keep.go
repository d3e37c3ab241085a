package token

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// InWords says, for somebody who reads it now, into which topic a token in a file, "" for none,
// lets its bearer, as whom, what that may send by the role or the kinds that it was made with,
// and until when: "carol.token lets its bearer into lobby as carol, in the role agent, until
// tomorrow 20:38".
func InWords(file, id, room, role string, can []string, until, now time.Time) string {
	may := "with the usual rights"
	switch {
	case role != "":
		may = "in the role " + role
	case len(can) > 0:
		may = "to send " + strings.Join(can, " ")
	}
	return cmp.Or(file, "the token") + " lets its bearer into " + placed(room) + " as " + id + ", " + may + ", until " + text.Moment(until, now)
}

func placed(room string) string {
	if room == "*" {
		return "every topic"
	}
	return room
}

// CheckKeep reports why [Keep] would not write to a file. What is there and no plain file
// stays: a device, or a link to what somebody else reads. So does a file with anything else in
// it than a token of ours.
func CheckKeep(file string) error {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Misused, "name a plain file, or one that is not there yet; without --out the token goes to stdout", "--out: %s is no plain file", file)
	}
	if held, other := kept(file); other && held.Until.IsZero() {
		return fault.New(fault.Misused, "name a file that is not there yet, or one with a token that this one is to replace", "--out: %s holds something else than a token, and stays", file)
	}
	return nil
}

// Replaces says which token [Keep] would take out of a file: "" where that is none, or one that
// has run out.
func Replaces(file string, now time.Time) string {
	held, _ := kept(file)
	if !held.Until.After(now) {
		return ""
	}
	return "the token that was in " + file + " is replaced: for " + held.ID + " in " + placed(held.Topic) + ", until " + text.Moment(held.Until, now)
}

// kept is what the token in a file says of itself, and whether anything stands there.
func kept(file string) (topic.Claims, bool) {
	held, err := private.Read(file, maxTokenText, private.Care{})
	if err != nil {
		return topic.Claims{}, false
	}
	held = bytes.TrimSpace(held)
	return topic.ReadClaims(string(held)), len(held) > 0
}

// Keep writes a token into a file that only we can read, whole or not at all. Who reads the
// file meanwhile finds the token that was there before, or this one.
func Keep(file, token string) error {
	err := private.Replace(nil, file, []byte(token+"\n"))
	if e, ok := errors.AsType[*fs.PathError](err); ok { // its path is that of the draft
		err = e.Err
	}
	if err != nil {
		return fault.New(fault.Failed, "name a file in a directory that you can write to", "--out: %s: %w", file, err)
	}
	return nil
}
