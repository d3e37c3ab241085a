package topic

import (
	"cmp"
	"log/slog"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Seat is one seat at one topic. Send and Flush may be called from any
// goroutine at any time; Run once.
type Seat struct {
	opt   Options
	at    address      // zero with Options.Dial
	fixed wire.Dialect // zero: find it out
	log   *slog.Logger

	sender atomic.Pointer[sender] // nil between sessions
	joins  atomic.Bool            // the gateway waits for us to join: it welcomed us after we did
	listed atomic.Bool            // the gateway has listed us among the participants
}

// New checks the options. Its errors are [*fault.Error] with the code [fault.Misused]. It does no I/O.
func New(o Options) (*Seat, error) {
	s := &Seat{opt: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	if o.Dial == nil {
		at, err := parseAddress(o)
		if err != nil {
			return nil, err
		}
		s.at, s.opt.Topic = at, cmp.Or(o.Topic, at.topic)
	}
	if err := checkNames(s.opt); err != nil {
		return nil, err
	}
	if o.Dialect != "" && o.Dialect != "auto" {
		d, ok := wire.Lookup(o.Dialect)
		if !ok {
			return nil, fault.New(fault.Misused, "use auto, or one of "+strings.Join(wire.Protocols(), ", "), "there is no dialect %q", o.Dialect)
		}
		s.fixed = d
	}
	return s, nil
}

func checkNames(o Options) error {
	if !wire.ValidID(o.ID) {
		return fault.New(fault.Misused, "use "+wire.IDGrammar, "%q cannot be a participant id", o.ID)
	}
	if o.Topic == "" || len(o.Topic) > 256 || strings.ContainsFunc(o.Topic, unicode.IsControl) {
		return fault.New(fault.Misused, "use 1 to 256 printable characters", "%q cannot be the name of a topic", o.Topic)
	}
	return nil
}

// Send puts a frame on its way. c says how urgent it is where sending is paced. It never waits; the frame leaves with the
// next Flush, or when the reader is next about to block, or when the pace
// allows. The frame belongs to the Seat from here on. Errors: ErrNoSeat,
// ErrTooLarge, outbox.ErrFull, or what broke the link. A wire.Claim for which the pace has no room
// now gets outbox.ErrFull, too: who comes again within claimAgain then has a turn.
func (s *Seat) Send(c wire.Class, frame []byte) error {
	p := s.sender.Load()
	if p == nil {
		return ErrNoSeat
	}
	return p.send(c, frame)
}

// Paced reports whether the gateway counts frames: then some come late, in another order, or, if
// they tell of progress, not at all. It may be called at any time.
func (s *Seat) Paced() bool {
	p := s.sender.Load()
	return p != nil && p.pacer != nil && p.pacer.paces()
}

// Flush hands what was sent to the network. It never waits.
func (s *Seat) Flush() {
	if p := s.sender.Load(); p != nil {
		p.conn.Flush()
	}
}

// A place is the sending end of a session that has been welcomed.
type sender struct {
	conn  Conn
	pacer *pacer // nil: no pacing
	trace func(dir string, frame []byte)
}

func (p *sender) send(c wire.Class, frame []byte) error {
	if p.pacer != nil {
		return p.pacer.send(c, frame)
	}
	return p.put(frame)
}

func (p *sender) put(frame []byte) error {
	if p.trace != nil {
		p.trace("send", frame)
	}
	return p.conn.Put(frame)
}
