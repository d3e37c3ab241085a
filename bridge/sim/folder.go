package sim

import (
	"encoding/json"
	"strings"
)

// inFolder: a note is in a folder where the world has it. The one link of the world leads out of
// its folder.
func inFolder(note, folder string) bool {
	const link = "/srv/notes/out"
	return strings.HasPrefix(note, folder+"/") && strings.HasPrefix(note, link) == strings.HasPrefix(folder, link)
}

// coversMore: a yes kept so is for more than the same arguments.
func coversMore(keep string) bool { return keep == "folder" || keep == "tool" }

// noteOf is the one argument that a note has.
func noteOf(args string) string {
	var note map[string]any
	if json.Unmarshal([]byte(args), &note) != nil {
		return ""
	}
	n, _ := note["n"].(string)
	return n
}
