package show

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// Whose is the bridge whose log is kept at a path in the directory of audit logs; "" for other
// places, whose names say nothing.
func Whose(dir, path string) string {
	if dir == "" || filepath.Dir(path) != dir {
		return ""
	}
	id, is := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if !is {
		return ""
	}
	return id
}

// Bridges are the bridges of several logs by their paths, nil for one alone, which need not say
// whose it is.
func Bridges(dir string, paths []string) map[string]string {
	if len(paths) < 2 {
		return nil
	}
	ids := map[string]string{}
	for _, path := range paths {
		ids[path] = Whose(dir, path)
	}
	return ids
}

// Find finds the log that is named: a file, or a bridge that keeps its record in dir. One that
// is gone, and of which the note about its end is left, is found too.
func Find(dir, named string) (string, error) {
	for _, path := range []string{named, filepath.Join(dir, named+".jsonl")} {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir(), errors.Is(err, fs.ErrNotExist) && wasThere(path):
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	hint := "name a file"
	if kept := In(dir); len(kept) > 0 {
		hint = "there are: " + strings.Join(kept, ", ")
	}
	return "", fault.New(fault.Failed, hint, "there is no audit log %q", named)
}

// Only is the log where none is named: the only one there is in dir.
func Only(dir string) (string, error) {
	switch kept := In(dir); len(kept) {
	case 0:
		return "", fault.New(fault.Failed, "name a file; run keeps its record in "+cmp.Or(dir, "the state directory")+" unless told another place", "no bridge has kept a record here")
	case 1:
		return filepath.Join(dir, kept[0]+".jsonl"), nil
	default:
		return "", fault.New(fault.Misused, "name one: "+strings.Join(kept, ", "), "there are %d audit logs", len(kept))
	}
}

// Every is all logs there are in dir, where none is named.
func Every(dir string) ([]string, error) {
	paths := Of(dir, nil)
	if paths == nil {
		_, err := Only(dir)
		return nil, err
	}
	return paths, nil
}

// Of are the logs there are in dir of the bridges that are named, all where none is; none is
// no error.
func Of(dir string, named []string) (paths []string) {
	for _, id := range In(dir) {
		if len(named) == 0 || slices.Contains(named, id) {
			paths = append(paths, filepath.Join(dir, id+".jsonl"))
		}
	}
	return paths
}

// In are the ids of the bridges that keep a record in dir, or kept one that is
// gone.
func In(dir string) (ids []string) {
	entries, _ := os.ReadDir(dir) // without one there are none
	for _, e := range entries {
		name, note := strings.CutSuffix(e.Name(), ".head")
		id, is := strings.CutSuffix(name, ".jsonl")
		if is && e.Type().IsRegular() && (!note || wasThere(filepath.Join(dir, name))) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// wasThere reports whether a log is gone of which the note about its end is left: that
// it is missing is not to go unseen.
func wasThere(path string) bool {
	note, err := audit.ReadHeadFile(path)
	return err != nil || note.Head.Seq > 0 // what is wrong with the note, verify says
}
