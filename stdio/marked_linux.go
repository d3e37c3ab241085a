package stdio

import (
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// FindsMarked says that [Marked] can find what bears a mark here.
const FindsMarked = true

// Marked returns the processes whose environment bears this mark, set with [MarkVar]: what a
// server has started, and what that has, unless it has taken another environment. What we may
// not look into is not among them. within says that this process descends from one of them.
func Marked(mark string) (pids []int, within bool) {
	all, within := marked(mark)
	for _, p := range all {
		pids = append(pids, p.pid)
	}
	return pids, within
}

func marked(mark string) (bearing []procEntry, within bool) {
	all := processes()
	parent := map[int]int{}
	for _, p := range all {
		parent[p.pid] = p.parent
		if slices.Contains(p.marks(), mark) {
			bearing = append(bearing, p)
		}
	}
	for pid := os.Getpid(); pid > 0; pid = parent[pid] {
		within = within || slices.ContainsFunc(bearing, func(p procEntry) bool { return p.pid == pid })
	}
	return bearing, within
}

// Marks are all marks that any process bears, found in one pass over them all.
func Marks() map[string]bool {
	all := map[string]bool{}
	for _, p := range processes() {
		for _, mark := range p.marks() {
			all[mark] = true
		}
	}
	return all
}

// EndMarked ends what is [Marked], with a TERM first, and returns who that was. The mark
// must be a random one of a bridge that has ended: whoever bears it was started by its
// server. Nobody is ended if this process is within, for then somebody works there.
func EndMarked(mark string) (ended []int) {
	who := map[int]bool{}
	for _, how := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, sweepWait}, {syscall.SIGKILL, killWait}} {
		told := map[procEntry]bool{}
		for late := time.Now().Add(how.wait); ; {
			left, within := marked(mark)
			if within {
				left = nil
			}
			for _, p := range left {
				who[p.pid] = true
				if !told[p] {
					told[p] = true
					p.signal(how.signal)
				}
			}
			if len(left) == 0 || !time.Now().Before(late) {
				break
			}
			left[0].await(min(time.Until(late), 20*time.Millisecond))
		}
	}
	return slices.Sorted(maps.Keys(who))
}
