package node

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Guarded is a file or directory that decides what runs, or tells what ran, and so is
// out of the reach of the server's tools. Path "" is none.
type Guarded struct {
	What, Path string
	Move       string // how it gets another place; "" for any file
}

// exposed are the warnings of [Options.Exposed]. dir "" is where we are, which alone lets no
// tool write there.
func exposed(now *policy.Policy, files []Guarded, argv []string, dir string, tools []policy.Tool) []string {
	var all []string
	for _, held := range files {
		if held.Path == "" {
			continue
		}
		path := whole(held.Path)
		var who []string
		for _, rule := range now.Opens(path, tools) {
			who = append(who, rule+" lets calls work there")
		}
		for _, arg := range append(argv[min(1, len(argv)):len(argv):len(argv)], dir) {
			if in := whole(arg); arg != "" && isDir(in) && within(in, path) {
				who = append(who, "the server works in "+in)
				break
			}
		}
		if len(who) > 0 {
			all = append(all, fmt.Sprintf("%s %s may be within reach of the server's tools: %s; %s a directory that no rule and no argument of the server covers", held.What, path, strings.Join(who, ", "), cmp.Or(held.Move, "move it to")))
		}
	}
	return all
}

// whole is a path from the root, without links as far as it exists.
func whole(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(whole(up), filepath.Base(path))
	}
	return path
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
