package policy

import (
	"strings"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// Folder says why a path names no folder that something could be held to be in, "" if it
// does: it must be absolute, clean, and not all there is.
func Folder(path string) string {
	p := placeOf(path)
	switch {
	case len(path) > maxPath:
		return "it is too long"
	case p.root == "" || p.root == nowhere || p.root[0] == '~':
		return "it does not begin with / or a drive"
	case len(p.segments) == 0:
		return "it is all there is"
	case !Within(path, path):
		return "not every system takes it for the same path"
	case path != p.spelled():
		return "it is not clean: write " + shown.Quote(p.spelled(), maxQuoted)
	}
	return ""
}

// Within reports whether a path is surely in a folder, or the folder itself, whichever
// system reads it: what .. or an escape leads out of it is not, nor is what is in it only
// where the case of letters does not matter. Where links lead is known to the server alone.
func Within(folder, path string) bool {
	if len(path) > maxPath {
		return false
	}
	j := &judgement{Call: &Call{}, left: maxWork}
	m, _ := newDirectory(folder).holds(j, &value{kind: isString, text: path}, loosens)
	return m == Yes
}

// FolderOf is the folder that a path is in, "" where that is none that [Folder] takes.
func FolderOf(path string) string {
	if len(path) > maxPath || !strings.ContainsAny(path, `/\`) {
		return ""
	}
	p := placeOf(path)
	if len(p.segments) == 0 {
		return ""
	}
	p.segments = p.segments[:len(p.segments)-1]
	if folder := p.spelled(); Folder(folder) == "" && Within(folder, path) {
		return folder
	}
	return ""
}
