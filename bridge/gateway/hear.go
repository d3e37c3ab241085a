package gateway

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Why a frame is refused, beside the reasons of package wire. Logs and metrics
// show them.
const (
	fromMismatch        = "from_mismatch"
	reservedNamespace   = "reserved_namespace"
	capabilityViolation = "capability_violation"
	streamsNotOffered   = "stream_not_offered"
	notAsked            = "not_asked"
)

// The codes of the faults that go with them.
const (
	codeAuth     = "auth_violation"
	codeInvalid  = "VALIDATION_ERROR"
	codeAbsent   = "recipient_absent"
	codeNoWord   = "not_expressible"
	codeReserved = "reserved_namespace"
)

// errNotText is returned by hear for bytes that no text frame may hold.
var errNotText = errors.New("a text frame must be UTF-8")

// refusals counts the refused frames of a seat. The first one is worth a
// warning; a log line for each would let a participant fill the disk.
type refusals struct{ n atomic.Int64 }

// hear takes a frame from the occupant of s: it is checked and published, or
// answered with a fault. The frame's bytes pass to the gateway. The only error
// is errNotText.
func (g *Gateway) hear(s *seat, frame []byte) error {
	g.count.in.Add(1)
	env, whole, err := s.dialect.Accept(frame, s.id, fresh)
	if err != nil {
		if !utf8.Valid(frame) {
			return errNotText
		}
		g.unreadable(s, err)
		return nil
	}
	p := &post{seat: s, env: env, dialect: s.dialect, frame: whole, at: time.Now()}
	s.topic.recall(p)
	if reason, f := judge(s, p); reason != "" {
		g.fault(s, reason, f)
		return nil
	}
	var gone []string
	if k := p.env.Kind; k == wire.Request || k == wire.Proposal {
		gone = s.topic.absent(p.env.To)
	}
	g.bus.publish(s.topic, p)
	if _, outside := s.link.(*socket); outside && p.crowded != nil {
		s.topic.flush()
		p.crowded.eased()
	}
	g.comment(s, p, gone)
	return nil
}

// fresh makes the id and the time of a frame that came without.
func fresh() (id, ts string) { return uuid.NewString(), wire.Stamp(time.Now()) }

// comment says what became of a frame that was passed on: to who said it, and where it is
// an answer that somebody cannot read, to him too, who would wait for what has run already
// (FINDINGS S2). gone are the addressees who are not here.
func (g *Gateway) comment(s *seat, p *post, gone []string) {
	trigger := []string{p.env.ID}
	if len(gone) > 0 {
		g.tell(s, wire.Fault{Code: codeAbsent, Message: "nobody here goes by " + strings.Join(gone, ", "), Trigger: trigger})
	}
	if p.doubt != "" {
		g.tell(s, wire.Fault{Code: codeInvalid, Message: p.doubt, Trigger: trigger})
	}
	if len(p.mute) == 0 {
		return
	}
	why := "there is no word for this in the dialect of " + strings.Join(p.mute, ", ")
	if p.env.Kind == wire.Response && len(p.env.Corr) == 0 {
		why += ": it needs a correlation_id"
	}
	g.tell(s, wire.Fault{Code: codeNoWord, Message: why, Trigger: trigger})
	if p.env.Kind != wire.Response || len(p.env.Corr) == 0 {
		return
	}
	for _, id := range p.mute {
		if asker := s.topic.seatOf(id); asker != nil {
			g.tell(asker, wire.Fault{Code: codeNoWord, Message: s.id + " has answered, but there is no word for it in your dialect", Trigger: p.env.Corr})
		}
	}
}

// judge looks at a frame that can be read, which one that speaks for the
// gateway cannot: is its sender who it says, and may it say this? An empty
// reason lets it pass.
func judge(s *seat, p *post) (reason string, f wire.Fault) {
	e := &p.env
	f.Trigger = []string{e.ID}
	switch {
	case e.From != s.id:
		f.Code, f.Message = codeAuth, "from must be "+s.id+", the participant of the token"
		return fromMismatch, f
	case e.Kind == wire.Stream:
		f.Code, f.Message = streamsNotOffered, "this gateway carries no streams"
		return streamsNotOffered, f
	case !s.caps.Permits(e):
		f.Code, f.AttemptedKind, f.Caps = capabilityViolation, e.Spelled, s.caps
		f.Message = "the token does not permit frames of that kind"
		return capabilityViolation, f
	case p.unasked: // some agents answer every request in the room, and some callers take anybody's answer
		f.Code, f.Message = notAsked, "this answers a request that was put to somebody else"
		return notAsked, f
	}
	return "", f
}

// unreadable answers a frame that wire refuses. In every dialect that is a frame with a
// kind: the bare object of some reference gateways ends their own clients, which look
// at the kind of all that comes (FINDINGS D1).
func (g *Gateway) unreadable(s *seat, err error) {
	r, ok := errors.AsType[*wire.Refused](err)
	if !ok {
		r = &wire.Refused{Reason: wire.EnvelopeInvalid, Detail: err.Error()}
	}
	f := wire.Fault{Code: codeInvalid, Message: r.Error()}
	if r.ID != "" {
		f.Trigger = []string{r.ID}
	}
	switch {
	case r.From != "" && r.From != s.id && r.Reason == wire.SystemNotFromGateway, r.Reason == wire.FromReserved:
		g.fault(s, fromMismatch, wire.Fault{Code: codeAuth, Message: f.Message, Trigger: f.Trigger})
	case r.Reason == wire.SystemNotFromGateway:
		g.fault(s, reservedNamespace, wire.Fault{Code: codeReserved, Message: f.Message, Trigger: f.Trigger})
	case r.Kind != "": // a word of no use here, as for one who may not say it (WIRE 3.4)
		f.Code, f.AttemptedKind, f.Caps = capabilityViolation, r.Kind, s.caps
		g.fault(s, r.Reason, f)
	default:
		g.fault(s, r.Reason, f)
	}
}

// fault refuses a frame of the occupant of s.
func (g *Gateway) fault(s *seat, reason string, f wire.Fault) {
	g.note(s, reason, f.AttemptedKind)
	g.tell(s, f)
}

// note puts a refusal on record.
func (g *Gateway) note(s *seat, reason, kind string) {
	g.count.refuse(reason)
	level := slog.LevelDebug
	if s.refused.n.Add(1) == 1 {
		level = slog.LevelWarn
	}
	g.journal.say(level, s.source(), "frame refused", "reason", reason, "kind", kind)
}

// tell says something about a frame to the occupant of s, whose frame it was.
func (g *Gateway) tell(s *seat, f wire.Fault) {
	s.give(s.dialect.AppendFault(nil, uuid.NewString(), wire.Stamp(time.Now()), s.id, f))
}

// give queues a frame for the occupant of s alone.
func (s *seat) give(frame []byte) {
	if !s.put(frameOf(frame)) {
		s.topic.leave(s)
	}
}

// recall completes a response with what its request said, if that is still remembered,
// and looks whether the two go together: what the response itself claims to answer is not
// checked by anybody else.
func (t *topic) recall(p *post) {
	e := &p.env
	if e.Kind != wire.Response {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(e.Corr) == 0 {
		if env, ok := t.posed.find(e); ok {
			e.Corr = []string{env}
		} else if p.dialect.MustLink() {
			p.doubt = "an answer names the request in its correlation_id; without that it counts for nobody"
		}
	}
	a := t.asked.find(e)
	if p.unasked, p.misled = a.unasked, a.misled; !a.found {
		return
	}
	if e.Method != "" && e.Method != a.call.method {
		p.doubt = "the kind says that this answers " + e.Method + ", the request was " + a.call.method
	}
	e.Method, e.Key, p.rpcID = a.call.method, a.call.key, a.call.rpcID
}
