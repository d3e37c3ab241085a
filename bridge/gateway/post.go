package gateway

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A bus carries posts to every gateway where a topic is open, this one
// included, and has each of them deliver the posts of a topic in one order.
// There is one gateway so far.
type bus interface {
	publish(t *topic, p *post)
}

// here is the bus of a gateway that is alone.
type here struct{}

func (here) publish(t *topic, p *post) { t.deliver(p) }

// A post is one accepted frame on its way to everybody in a topic.
type post struct {
	seat    *seat // who said it, nil if another gateway's
	env     wire.Envelope
	dialect wire.Dialect // of frame
	frame   []byte
	at      time.Time
	rpcID   []byte   // of a response: the id its request had, nil if not known
	unasked bool     // a response to a request that was put to somebody else
	misled  []string // who would take it for an answer to what they have asked somebody else
	askers  []string // who would take what is no answer for one, since it names what they have asked
	doubt   string   // what is odd about it though it is passed on, for who said it; "" if nothing

	mute      []string   // addressees whose dialect has no word for it
	crowded   *Local     // an addressee in this process that does not keep up
	spellings []spelling // guarded by the topic's lock
}

// A spelling is a post in some dialect; frame is nil if it cannot be said.
type spelling struct {
	dialect wire.Dialect
	bare    bool // without what it names
	frame   *framed
}

// in is as, for delivery to s: what was spelled for one participant serves the next.
// It returns nil if its dialect has no word for the post. The caller holds the topic's
// lock.
func (p *post) in(s *seat) *framed {
	d, bare := s.dialect, len(p.askers) > 0 && slices.Contains(p.askers, s.id)
	if d.Alike(p.dialect) {
		d = p.dialect
	}
	for _, s := range p.spellings {
		if s.dialect == d && s.bare == bare {
			return s.frame
		}
	}
	said := spelling{dialect: d, bare: bare}
	body := p.bare
	if !bare {
		body = p.as
	}
	if b := body(d); b != nil {
		said.frame = frameOf(b)
	}
	p.spellings = append(p.spellings, said)
	return said.frame
}

// as returns the post as participants of dialect d are to read it: as it came
// if that is the sender's, else spelled anew. It returns nil if d has no word
// for it, or none that fits into a frame: a frame too large would cost its
// reader the connection.
func (p *post) as(d wire.Dialect) []byte {
	if d.Alike(p.dialect) {
		return p.frame
	}
	e := p.env.Complete(d, p.rpcID)
	if e.Kind == wire.Response {
		if len(e.Corr) == 0 && d.MustLink() {
			return nil // nobody there would take it for an answer
		}
		e.Method = cmp.Or(e.Method, "tools/call") // forgotten; who asked goes by the link, and what ran must be told
	}
	return spell(d, &e)
}

// bare is as, without what the post names: stock clients take whatever carries MCP and
// names their request for its answer, whoever it is from and for (WIRE W-5).
func (p *post) bare(d wire.Dialect) []byte {
	e := p.env.Complete(d, p.rpcID)
	e.Corr = nil
	return spell(d, &e)
}

func spell(d wire.Dialect, e *wire.Envelope) []byte {
	body, err := d.Append(nil, e, everything)
	if err != nil || len(body) > maxFrame {
		return nil
	}
	return body
}

// everything is for spelling anew what was permitted already.
var everything = caps(`["*"]`)

// caps reads a list known to be well formed.
func caps(raw string) wire.Caps {
	c, err := wire.ParseCaps([]byte(raw))
	if err != nil {
		panic(err)
	}
	return c
}
