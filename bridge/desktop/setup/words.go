package setup

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// FromHere is an argument that names something in this directory as it is named
// from anywhere: a file that is there, as in node server.js, or a path that begins
// with a dot, behind the = of a flag too. All else is an argument of whose meaning we
// know nothing.
func FromHere(word string) string {
	if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		return flag + "=" + FromHere(value)
	}
	if word == "" || strings.HasPrefix(word, "-") || filepath.IsAbs(word) {
		return word
	}
	abs, err := filepath.Abs(word)
	if err != nil {
		return word
	}
	slashed := filepath.ToSlash(word)
	if slashed == "." || slashed == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") {
		return abs
	}
	if info, err := os.Stat(abs); err != nil || !info.Mode().IsRegular() {
		return word
	}
	return abs
}

// FileFromAnywhere is the file that a flag names here as it is named from anywhere: a client starts
// us in a directory of its own choice. A file that is not there is misuse, unless it may be new.
func FileFromAnywhere(flag, file string, mayBeNew bool) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(abs); err != nil && !mayBeNew {
		return "", fault.Misuse("name a file that is there", "--%s: %w", flag, err)
	}
	return abs, nil
}

// FromAnywhere is a command that means the same in every directory. One without
// a slash is looked for in the client's PATH.
func FromAnywhere(command string) (string, error) {
	if !strings.ContainsRune(filepath.ToSlash(command), '/') {
		return command, nil
	}
	return filepath.Abs(command)
}
