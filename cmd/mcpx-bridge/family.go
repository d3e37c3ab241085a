package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// When a bridge is killed with SIGKILL its server goes too, but what that has started runs on
// (FINDINGS M10). So each run of a bridge gives its server a mark, a random one in its
// environment, and keeps a file of that name locked:
//
//	family-ID-MARK.lock
//
// A file that nobody holds is of a run that was killed: what bears its mark was started by
// that run's server and by nobody else. The next start of a bridge of that id ends it, and
// doctor tells of it.

const (
	familyFile = "family-"
	markLength = 32 // hexadecimal digits
)

// adopt gives a server that is about to be started the mark of this run, having ended what
// an earlier one of the same id has left. leave is for when that server is gone. Where there is
// no place to keep a mark there is none.
func (p *program) adopt(ctx context.Context, id string, o *stdio.Options) (leave func()) {
	leave = func() {}
	state, err := stateHome(p.getenv)
	if !stdio.FindsMarked || !o.Sweep || len(o.Args) == 0 || err != nil || state.Open() != nil {
		return leave
	}
	p.endFamilies(ctx, familiesIn(state, id))
	mark, file, err := newFamily(state, id)
	if err != nil {
		p.log.Debug("what the server leaves running cannot be found again", "error", err)
		return leave
	}
	o.Env = append(o.Env, stdio.MarkVar+"="+mark)
	return func() {
		os.Remove(file.Name())
		file.Close()
	}
}

// A family is what a run that was killed may have left running.
type family struct {
	id, mark string
	file     *os.File // locked, which its run does no more
}

func (f family) close() { f.file.Close() }

// familiesIn are those of an id whose run was killed, of every id if that is "". Each must be closed.
func familiesIn(d stateDir, id string) (all []family) {
	entries, _ := os.ReadDir(string(d))
	for _, e := range entries {
		name, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".lock"), familyFile)
		if !ok {
			continue
		}
		at := len(name) - markLength - 1
		if at < 1 || name[at] != '-' || id != "" && name[:at] != id {
			continue
		}
		f := family{id: name[:at], mark: name[at+1:]}
		if _, err := hex.DecodeString(f.mark); err != nil {
			continue
		}
		var err error
		if f.file, err = private.Open(d.File(e.Name()), os.O_RDWR); err != nil {
			continue
		}
		if free, err := private.Lock(f.file, true); err != nil || !free {
			f.close()
			continue
		}
		all = append(all, f)
	}
	return all
}

// newFamily makes and locks the file of a new mark.
func newFamily(d stateDir, id string) (mark string, file *os.File, err error) {
	for range 3 { // somebody may look whether it is free just before we lock it, and remove it
		random := fresh128()
		mark = hex.EncodeToString(random[:])
		if file, err = os.OpenFile(d.File(familyFile+id+"-"+mark+".lock"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
			return "", nil, err
		}
		free, lockErr := private.Lock(file, true)
		if err = lockErr; err == nil && free && hasName(file) {
			return mark, file, nil
		}
		os.Remove(file.Name())
		file.Close()
	}
	if err == nil {
		err = fmt.Errorf("%s: others remove it again and again", d)
	}
	return "", nil, err
}

// hasName reports whether a file still has its name.
func hasName(f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(ours, there)
}

// endFamilies ends what runs that were killed have left. There may be very many of which
// nothing is left: all processes are looked at once for all of them.
func (p *program) endFamilies(ctx context.Context, all []family) {
	var borne map[string]bool
	if len(all) > 0 {
		borne = stdio.Marks()
	}
	for _, f := range all {
		switch {
		case ctx.Err() != nil:
			f.close()
		case borne[f.mark] || p.within(f): // of ourselves nobody may be able to read it
			p.endFamily(f)
		default:
			os.Remove(f.file.Name())
			f.close()
		}
	}
}

// endFamily ends what a run that was killed has left, and forgets its mark.
func (p *program) endFamily(f family) {
	defer f.close()
	if p.within(f) {
		return // our own caller is one of them
	}
	if ended := stdio.EndMarked(f.mark); len(ended) > 0 {
		p.log.Warn("an earlier run of "+f.id+" was killed, and what its server had started ran on: it was ended", "pids", fmt.Sprint(ended))
	}
	if left, _ := stdio.Marked(f.mark); len(left) == 0 {
		os.Remove(f.file.Name())
	}
}

// within reports whether we were started by what a family's server has started.
func (p *program) within(f family) bool {
	return slices.Contains(p.environ(), stdio.MarkVar+"="+f.mark)
}
