package audit

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"slices"
	"sort"
	"time"
)

// Found is what [Open] found in a log that was there already.
type Found struct {
	Head     Head   // the newest record, now that the log is open
	Torn     int64  // bytes of a half-written last line, which was cut off, now or by who was killed before saying so
	Fault    *Fault // what is wrong with the files that were read; nil if nothing
	Lost     string // what had been there and is not; "" if nothing
	LastCall uint64 // the highest number that a call had
	Key      Key    // what PATH.key holds, the same for as long as that file is there
	Halted   bool   // the bridge was halted, and has not gone on since
	Calls    []Call // those without a final record, and others that came within Options.Memory; oldest first

	// Runs are the calls within Options.Runs whose start says what they took, oldest first, but
	// for those whose end says that they did not run. They are all since RunsFrom.
	Runs     []Run
	RunsFrom time.Time

	replay        // how the log stands at its end
	forged bool   // the record that had been noted beside the log is another now
	first  uint64 // record in the last file; 0: there is none
}

// A Call is what a log says of one call. Where its own records are gone, no more is known than
// ID, Started, and as At the first record that names it.
type Call struct {
	ID      string    // the value of "call", raw; "" if its records name only Env
	At      time.Time // of its start, else of its first record
	Env     string
	From    string
	Method  string
	Tool    string
	Via     string
	Digest  string
	Body    string // whatever the caller recorded under "body" to know the call again; see [Key]
	Started bool
	Ended   bool // it has its final record
}

// How many calls that ended are found: of those that ran, which must not run again, as
// many as a running bridge knows of one participant (engine/replay.DefaultShare), and of those
// that did not. What is known of one takes some 300 bytes until the caller has taken it.
const (
	maxRun        = 1 << 20
	maxRefused    = 1 << 12 // of one participant
	maxAllRefused = 1 << 18
)

// replayed reads what there is at path as far back as it matters: the newest files for the
// calls within o.Memory and those that are open, and for runs those before, too.
func replayed(path string, o Options, noted Note) (Found, error) {
	now := time.Now()
	since := now.Add(-o.Memory)
	all, err := Files(path)
	if err != nil {
		return Found{}, err
	}
	recent, err := recentFiles(all, since)
	if err != nil {
		return Found{}, err
	}
	r := opening{Found: Found{replay: newReplay()}, since: since, noted: noted, called: map[string]*Call{}, words: map[string]string{}}
	if o.Runs > 0 {
		r.runs = runs{since: now.Add(-o.Runs), never: map[string]bool{}}
	}
	older, from, err := r.runs.further(all, recent, o.RunsMost)
	if err != nil {
		return Found{}, err
	}
	for line, err := range linesOf(older...) {
		if err != nil {
			return Found{}, err
		}
		r.runs.take(line.Text)
	}
	r.RunsFrom = from
	for _, file := range recent {
		if err := r.read(file, file == path); err != nil {
			return Found{}, err
		}
	}
	return r.found(), nil
}

// recentFiles leaves out old files that have nothing to tell: those from
// before since, unless calls began there that were open later.
func recentFiles(files []string, since time.Time) ([]string, error) {
	var wanted map[string]bool
	return tail(files, func(_ string, h header, d details) (bool, error) {
		if h.seq == 0 { // nothing in it yet, or nothing that can be read
			return false, nil
		}
		open := map[string]bool{}
		for _, call := range slices.Concat(d.Open, d.Allowed, d.Asked) {
			open[string(call)] = true
		}
		if wanted == nil {
			wanted = open
		}
		maps.DeleteFunc(wanted, func(call string, _ bool) bool { return !open[call] })
		return h.at.Before(since) && len(wanted) == 0, nil
	})
}

// An opening is the replay of a log that is about to be written to: what its records say
// of calls, and whether its end is as it was noted.
type opening struct {
	Found
	since  time.Time
	noted  Note
	runs   runs
	called map[string]*Call
	words  map[string]string // names that many calls have, once each
}

// read takes one file. Only the last may have a torn line: it was written to
// when the process died.
func (r *opening) read(file string, last bool) error {
	r.first = 0
	at := int64(0)
	for line, err := range linesOf(file) {
		if err != nil {
			return err
		}
		if last && (line.Torn || r.holed(line)) {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			r.Torn = info.Size() - at
			break
		}
		at += int64(len(line.Text)) + 1
		r.take(line)
	}
	return nil
}

// holed reports whether the power failed while this line, or one that it took the end
// from, was on its way to the disk: of what had not been synced some blocks may
// be there, and others not, which read as zeros. Nobody was told that it was there.
func (r *opening) holed(line Line) bool {
	return r.noted.There && r.chain.head.Seq >= r.noted.Head.Seq && bytes.IndexByte(line.Text, 0) >= 0
}

// take goes on after a fault, as well as it can: a log that somebody has
// changed must go on too, and says so.
func (r *opening) take(line Line) {
	r.runs.take(line.Text)
	before := r.chain.head
	h, fault := r.add(line)
	if fault != nil {
		r.Fault = cmp.Or(r.Fault, fault)
		r.chain.goOn(before, line, h)
	}
	if r.first == 0 {
		r.first = r.chain.head.Seq
	}
	if r.chain.head.Seq == r.noted.Head.Seq && r.chain.head != r.noted.Head {
		r.forged = true
	}
	if h.seq > 0 {
		r.note(h, line.Text)
	}
}

// note takes what a record says of a call.
func (r *opening) note(h header, text []byte) {
	switch string(h.event) {
	case "dropped", "security", "late", "late_answer", "foreign_answer", "proposal_diff":
		r.move(h, details{})
		return // somebody else's frame may be what they name, or a call that has had its last word
	}
	if c := r.called[string(h.call)]; c != nil && c.Env != "" && c.move(h) {
		r.move(h, details{})
		r.forget(string(h.call))
		return // there is nothing to learn
	}
	d, err := readDetails(text)
	r.move(h, d)
	if err != nil {
		return
	}
	for _, word := range []*string{&d.From, &d.Method, &d.Tool, &d.Via} {
		*word = r.once(*word)
	}
	r.calls.carry(d)
	r.log = cmp.Or(d.Log, r.log)
	for _, call := range d.Open {
		c := r.call(string(call), h)
		c.ID, c.Started = string(call), true // its own records may be gone
	}
	for _, call := range slices.Concat(d.Allowed, d.Asked) {
		r.call(string(call), h).ID = string(call)
	}
	key := string(h.call)
	if key == "" && d.Env != "" && d.From != "" {
		key = d.From + "\x00" + d.Env
	}
	if key != "" {
		r.call(key, h).learn(h, d)
		r.forget(key)
	}
}

// forget lets go of a call of which nobody is to be told: old files are read for few, and have very many.
func (r *opening) forget(key string) {
	if c := r.called[key]; c.At.Before(r.since) && (c.Ended || c.ID == "") {
		delete(r.called, key)
	}
}

func (r *opening) once(word string) string {
	had, ok := r.words[word]
	if !ok {
		r.words[word], had = word, word
	}
	return had
}

func (r *opening) call(key string, h header) *Call {
	c := r.called[key]
	if c == nil {
		c = &Call{At: h.at}
		r.called[key] = c
	}
	return c
}

func (c *Call) learn(h header, d details) {
	c.ID = cmp.Or(c.ID, string(h.call))
	c.Env, c.From = cmp.Or(c.Env, d.Env), cmp.Or(c.From, d.From)
	c.Method, c.Tool, c.Via = cmp.Or(c.Method, d.Method), cmp.Or(c.Tool, d.Tool), cmp.Or(c.Via, d.Via)
	c.Digest, c.Body = cmp.Or(c.Digest, d.Digest), cmp.Or(c.Body, d.Body)
	c.move(h)
}

// move takes a header alone, and reports whether its event is one that moves a
// call on.
func (c *Call) move(h header) bool {
	switch string(h.event) {
	case "started":
		c.Started, c.At = true, h.at
	case "ended":
		c.Ended = true
	case "rejected", "withdrawn":
		c.Ended = c.Ended || !c.Started
	default:
		return false
	}
	return true
}

func (r *opening) found() Found {
	f := r.Found
	f.Runs = r.runs.ran()
	f.Head, f.LastCall, f.Halted, f.Fault = f.chain.head, f.calls.last, f.calls.halted, cmp.Or(f.Fault, f.chain.suspect)
	for call, came := range f.calls.come {
		if came == allowed || came == refused {
			f.calls.come[call] = beingAsked // leave to start has ended with who had it; its last word is still to come
		}
	}
	var ended []Call
	for _, c := range r.called {
		if c.Ended {
			ended = append(ended, *c)
		} else {
			f.Calls = append(f.Calls, *c)
		}
	}
	older := func(a, b Call) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Env, b.Env))
	}
	slices.SortFunc(ended, older)
	f.Calls = append(f.Calls, newestOfEach(ended, map[bool]bound{true: {maxRun, maxRun}, false: {maxRefused, maxAllRefused}})...)
	slices.SortFunc(f.Calls, older)
	return f
}

// A bound is how many calls are found, of one participant and of all.
type bound struct{ each, all int }

// level is how many of each are found: where all are too many, those that have most
// give way, and nobody's are left out for what another sent (FINDINGS M2).
func (b bound) level(counts map[string]int) int {
	return max(1, sort.Search(b.each, func(n int) bool {
		sum := 0
		for _, count := range counts {
			sum += min(count, n+1)
		}
		return sum > b.all
	}))
}

// newestOfEach are the newest of each participant, in the order in which they were. Where
// there are more participants than calls may be found, the newest win.
func newestOfEach(ended []Call, most map[bool]bound) (kept []Call) {
	counts := map[bool]map[string]int{false: {}, true: {}}
	for _, c := range ended {
		counts[c.Started][c.From]++
	}
	left, level := map[bool]int{}, map[bool]int{}
	for ran, b := range most {
		left[ran], level[ran] = b.all, b.level(counts[ran])
		clear(counts[ran])
	}
	for _, c := range slices.Backward(ended) {
		taken := counts[c.Started]
		if taken[c.From]++; taken[c.From] <= level[c.Started] && left[c.Started] > 0 {
			left[c.Started]--
			kept = append(kept, c)
		}
	}
	slices.Reverse(kept)
	return kept
}
