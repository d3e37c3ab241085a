package token

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// InWords says, for somebody who reads it now, whom a token is for, in which topic, what it
// lets its bearer send by the role or the kinds that it was made with, and until when:
// "carol in lobby, full, until tomorrow 20:38".
func InWords(id, topic, role string, can []string, until, now time.Time) string {
	if topic == "*" {
		topic = "every topic"
	}
	may := cmp.Or(role, strings.Join(can, " "), "what is usual")
	return id + " in " + topic + ", " + may + ", until " + text.Moment(until, now)
}

// CheckKeep reports why [Keep] would not write to a file. What is there and no plain file
// stays: a device, or a link to what somebody else reads.
func CheckKeep(file string) error {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Misused, "name a plain file, or one that is not there yet; without --out the token goes to stdout", "--out: %s is no plain file", file)
	}
	return nil
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
