package hub

import (
	"cmp"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Kind says what an entry tells of.
type Kind uint8

// The kinds of entries.
const (
	Said   Kind = iota // a frame that was accepted
	Joined             // Who takes its seat, in place of who has it
	Left               // Who has left, or was cut
)

// An Entry is one thing that happens in a topic. Who publishes it does not touch it again, and
// what a reader of the history takes from it (Dialect, Frame, Envelope, Recalled) never changes
// once it is there.
type Entry struct {
	Kind Kind
	Who  *Member // who says it, comes or goes; nil once it is delivered, as a history outlives sessions

	// The rest is for what is said.
	At       time.Time
	Dialect  wire.Dialect // of Frame
	Frame    []byte
	Envelope wire.Envelope // what Frame says, completed by Recalled
	Recalled Recalled

	doubt     string       // what is odd about it though it is passed on, for who said it; "" if nothing
	spellings []spelling   // for the time of its delivery
	answer    chan<- error // of one who joins; has room for the one answer
}

// perEntry is what an entry costs beside the bytes of its frame, about.
const perEntry = 1024

// cost is how many bytes an entry keeps in memory, about.
func (e *Entry) cost() int { return len(e.Frame) + perEntry }

// Recalled is what the topic knew, when an answer was said, of the request that it names.
type Recalled struct {
	RPCID  []byte   // the id of that request, nil if not known
	Misled []string // who would take it for an answer to what they have asked somebody else
}

// A spelling is an entry anew in some dialect; frame is nil if it cannot be said.
type spelling struct {
	dialect wire.Dialect
	bare    bool // without what it names
	frame   []byte
}

// in is as, or bare, for delivery: what was spelled for one member serves the next.
func (e *Entry) in(d wire.Dialect, bare bool) []byte {
	if d.Alike(e.Dialect) {
		if !bare {
			return e.Frame
		}
		d = e.Dialect
	}
	for _, s := range e.spellings {
		if s.dialect == d && s.bare == bare {
			return s.frame
		}
	}
	said := spelling{dialect: d, bare: bare}
	if bare {
		said.frame = e.bare(d)
	} else {
		said.frame = e.as(d)
	}
	e.spellings = append(e.spellings, said)
	return said.frame
}

// as returns the entry as participants of dialect d are to read it: as it came if that is
// the sender's, else spelled anew. It returns nil if d has no word for it, or none that fits
// into a frame: a frame too large would cost its reader the connection.
func (e *Entry) as(d wire.Dialect) []byte {
	if d.Alike(e.Dialect) {
		return e.Frame
	}
	said := e.Envelope.Complete(d, e.Recalled.RPCID)
	if said.Kind == wire.Response {
		if len(said.Corr) == 0 && d.MustLink() {
			return nil // nobody there would take it for an answer
		}
		said.Method = cmp.Or(said.Method, "tools/call") // forgotten; who asked goes by the link, and what ran must be told
	}
	return spell(d, &said)
}

// bare is as, without what the entry names: stock clients take whatever carries MCP and
// names their request for its answer, whoever it is from and for (WIRE W-5).
func (e *Entry) bare(d wire.Dialect) []byte {
	said := e.Envelope.Complete(d, e.Recalled.RPCID)
	said.Corr = nil
	return spell(d, &said)
}

// readers sorts out who is not to take an entry for an answer: misled do not get it, and
// askers get it without what it names.
func (e *Entry) readers(asked *requestCache) (misled, askers []string) {
	askers = asked.askers(&e.Envelope)
	if k := e.Envelope.Kind; k == wire.Withdraw || k == wire.Reject { // which say nothing but of what they name
		return askers, nil
	}
	return e.Recalled.Misled, askers
}

// settle tells who said it that the log has answered, if that is one of this hub.
func (e *Entry) settle() {
	if e.Who != nil && e.Who.local {
		e.Who.settled(e.cost())
	}
}

// reply tells the session that joins, if it is one of this hub.
func (e *Entry) reply(err error) {
	if e.answer != nil {
		e.answer <- err
	}
}

func spell(d wire.Dialect, e *wire.Envelope) []byte {
	body, err := d.Append(nil, e, everything)
	if err != nil || len(body) > MaxFrame {
		return nil
	}
	return body
}

// everything is for spelling anew what was permitted already.
var everything = func() wire.Caps {
	c, err := wire.ParseCaps([]byte(`["*"]`))
	if err != nil {
		panic(err)
	}
	return c
}()
