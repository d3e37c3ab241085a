package inflight

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A Table is the calls on their way.
type Table struct {
	idPrefix string // begins their ids at the server; see id
	last     uint64
	Named    uint64
	ByNumber map[uint64]*Call     // at the server
	Open     map[RequestKey]*Call // by envelope: those whose callers await an answer
	ByCaller map[callerKey]*Call  // the same as their callers refer to them; the newest where one id serves for several
	Asked    map[string]*Call     // those that are asked about, by the question
	Syncing  map[uint64]*Call     // by the ticket that says when their being agreed to is on disk; over, perhaps
	Looking  map[uint64]*Call     // by the ticket of the Look that they wait for; over, perhaps
	Claiming map[string]*Call     // by the request to ourselves that is out, until it is known who came first
	Parked   []*Call              // those that wait for the server, or have until they were over
	Foreign  int                  // those of participants who still await an answer
	Running  int                  // those of them at the server
	Timeouts int                  // in a row
	Lost     []Lost               // of them
}

// NewTable is one without calls; idPrefix begins their ids at the server.
func NewTable(idPrefix string) Table {
	return Table{idPrefix: idPrefix, ByNumber: map[uint64]*Call{}, ByCaller: map[callerKey]*Call{}, Open: map[RequestKey]*Call{},
		Asked: map[string]*Call{}, Syncing: map[uint64]*Call{}, Looking: map[uint64]*Call{}, Claiming: map[string]*Call{}}
}

// Add gives a call its number at the server.
func (cs *Table) Add(c *Call) {
	c.On(Start)
	c.Line = Written
	cs.last++
	c.Number = cs.last
	cs.ByNumber[c.Number] = c
	if c.Origin != Self {
		cs.Running++
	}
}

// ByQuestion finds the call that a question is about, nil if it is over.
func (cs *Table) ByQuestion(q *approval.Question) *Call {
	return cs.Open[RequestKey{q.Caller, q.Envelope}]
}

// Enter takes a call into the books. Participants use ids again as they like
// (WIRE W-10): each call under one keeps its place, and its answer.
func (cs *Table) Enter(c *Call) {
	key := c.caller()
	c.elder = cs.ByCaller[key]
	cs.ByCaller[key] = c
	cs.Open[RequestKey{c.From, c.Env}] = c
	cs.Foreign++
}

// Meant are the calls that a participant refers to by a JSON-RPC id: all that
// it made under it, or the one whose envelope it names too.
func (cs *Table) Meant(from, id string, envelopes []string) (all []*Call) {
	for c := cs.ByCaller[callerKey{from, id}]; c != nil; c = c.elder {
		if slices.Contains(envelopes, c.Env) {
			return []*Call{c}
		}
		all = append(all, c)
	}
	slices.Reverse(all)
	return all
}

// leave takes a call that was entered out of what its caller can refer to.
func (cs *Table) leave(c *Call) {
	delete(cs.Open, RequestKey{c.From, c.Env})
	key := c.caller()
	switch younger := cs.ByCaller[key]; {
	case younger != c:
		for younger.elder != c {
			younger = younger.elder
		}
		younger.elder = c.elder
	case c.elder != nil:
		cs.ByCaller[key] = c.elder
	default:
		delete(cs.ByCaller, key)
	}
	c.elder = nil
}

// NameOf is the name on record of the call that a question is about, "" if there is none.
func (cs *Table) NameOf(question string) string {
	if c := cs.Asked[question]; c != nil {
		return c.Name
	}
	return ""
}

// Settle: the caller has had its last word on this. The number stays taken
// until the server is done with it.
func (cs *Table) Settle(c *Call) {
	if c.Phase.Settled() {
		return
	}
	started := !c.Phase.Unstarted()
	c.On(Settle)
	if c.Origin == Self {
		return
	}
	cs.Foreign--
	cs.leave(c)
	if started {
		cs.Running--
	}
}

// Unstarted are the calls that were agreed to and have not started, whatever they wait for,
// and those of which that is still looked up.
func (cs *Table) Unstarted() []*Call {
	all := slices.Clone(cs.Parked)
	for _, waiting := range []map[uint64]*Call{cs.Syncing, cs.Looking} {
		for _, ticket := range slices.Sorted(maps.Keys(waiting)) {
			all = append(all, waiting[ticket])
		}
	}
	for _, self := range slices.Sorted(maps.Keys(cs.Claiming)) {
		all = append(all, cs.Claiming[self])
	}
	return all
}

// InOrder is what the server has, the oldest first.
func (cs *Table) InOrder() []*Call {
	return slices.SortedFunc(maps.Values(cs.ByNumber), func(a, b *Call) int { return cmp.Compare(a.Number, b.Number) })
}

// ID is the number of a call as the server gets it, raw.
func (cs *Table) ID(c *Call) []byte {
	if cs.idPrefix == "" {
		return strconv.AppendUint(nil, c.Number, 10)
	}
	id := append(append(make([]byte, 0, len(cs.idPrefix)+22), '"'), cs.idPrefix...)
	return append(strconv.AppendUint(id, c.Number, 10), '"')
}

// Find returns the call that the server means by a raw id or token, nil if it
// is none of ours.
func (cs *Table) Find(id []byte) *Call {
	if cs.idPrefix != "" {
		marked := false
		if id, marked = bytes.CutPrefix(id, []byte(`"`+cs.idPrefix)); !marked || !bytes.HasSuffix(id, []byte(`"`)) {
			return nil
		}
		id = id[:len(id)-1]
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil
	}
	if c := cs.ByNumber[n]; c != nil && c.Origin != Host { // the client's own the server knows by another id
		return c
	}
	return nil
}

// A Lost is one of which it is not known whose it was.
type Lost struct {
	Reason string
	Among  []uint64 // the calls that were at the server then and still are, in order
}

// Newest is the last call that it may have been for, 0 if there is none left. Of two
// lost answers the one whose newest call is older may have been for no call that the
// other cannot have been for: each set has all calls that were there and still are.
func (l *Lost) Newest() uint64 {
	if len(l.Among) == 0 {
		return 0
	}
	return l.Among[len(l.Among)-1]
}
