package node

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
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

// families are those that the runs of this user have left, and are to leave.
type families struct {
	state   localgateway.StateDir // "": there are none
	environ []string              // of this process, which one of them may have started
	log     *slog.Logger
}

// adopt gives a server that is about to be started the mark of this run, having ended what
// an earlier one of the same id has left. leave is for when that server is gone. Where there is
// no place to keep a mark there is none.
func (f families) adopt(ctx context.Context, id string, o *stdio.Options) (leave func()) {
	leave = func() {}
	if !stdio.FindsMarked || !o.Sweep || len(o.Args) == 0 || f.state == "" || f.state.Open() != nil {
		return leave
	}
	f.end(ctx, familiesIn(f.state, id))
	mark, file, err := newFamily(f.state, id)
	if err != nil {
		f.log.Debug("what the server leaves running cannot be found again", "error", err)
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
func familiesIn(d localgateway.StateDir, id string) (all []family) {
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
func newFamily(d localgateway.StateDir, id string) (mark string, file *os.File, err error) {
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

// end ends what runs that were killed have left. There may be very many of which
// nothing is left: all processes are looked at once for all of them.
func (f families) end(ctx context.Context, all []family) {
	var borne map[string]bool
	if len(all) > 0 {
		borne = stdio.Marks()
	}
	for _, one := range all {
		switch {
		case ctx.Err() != nil:
			one.close()
		case borne[one.mark] || f.within(one): // of ourselves nobody may be able to read it
			f.endOne(one)
		default:
			os.Remove(one.file.Name())
			one.close()
		}
	}
}

// endOne ends what a run that was killed has left, and forgets its mark.
func (f families) endOne(one family) {
	defer one.close()
	if f.within(one) {
		return // our own caller is one of them
	}
	if ended := stdio.EndMarked(one.mark); len(ended) > 0 {
		f.log.Warn("an earlier run of "+one.id+" was killed, and its server left processes running: they were ended", "pids", fmt.Sprint(ended))
	}
	if left, _ := stdio.Marked(one.mark); len(left) == 0 {
		os.Remove(one.file.Name())
	}
}

// within reports whether we were started by what a family's server has started.
func (f families) within(one family) bool {
	return slices.Contains(f.environ, stdio.MarkVar+"="+one.mark)
}

// Leftovers are what the servers of bridges that were killed have left running, as process
// ids, by the participant id of the bridge. The next start of that bridge ends them.
func Leftovers(state localgateway.StateDir) map[string][]int {
	var borne map[string]bool
	all := familiesIn(state, "")
	if len(all) > 0 {
		borne = stdio.Marks()
	}
	found := map[string][]int{}
	for _, f := range all {
		if borne[f.mark] {
			pids, _ := stdio.Marked(f.mark)
			found[f.id] = append(found[f.id], pids...)
		}
		f.close()
	}
	return found
}
