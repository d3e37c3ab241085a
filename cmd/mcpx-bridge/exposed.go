package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// exposed are warnings about files that decide what runs, or tell what ran, and that
// the server's own tools might write (FINDINGS M1): they lie where a rule lets
// calls work, or in a directory that the server is started on. dir is where the
// server is told to work; "": where we are, which alone lets no tool write there.
func (p *program) exposed(now *policy.Policy, file string, argv []string, dir string, tools []policy.Tool) []string {
	state, _ := stateHome(p.getenv) // without one there is nothing in it
	var all []string
	for _, held := range []struct{ what, path string }{
		{"the policy file", file}, {"the file of --config", p.s.Config}, {"the record of --audit", p.s.Audit}, {"the state directory", string(state)},
	} {
		if held.path == "" || held.path == "off" {
			continue
		}
		path := whole(held.path)
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
			all = append(all, fmt.Sprintf("%s %s may be within reach of the server's tools: %s; move it to a directory that no rule and no argument of the server covers", held.what, path, strings.Join(who, ", ")))
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
