package node

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Trial finds out what would keep a bridge from starting, with what a start does and in
// its order, and leaves all as it is. It is for one goroutine.
type Trial struct{ p *plan }

// Try checks o. What is wrong with the policy is not said: [Trial.Rules] does.
func Try(o Options) (*Trial, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	if err := p.takeRules(false); err != nil {
		p.engine.Policy, _ = policy.Flags(nil, nil)
	}
	return &Trial{p}, p.connect()
}

// Rules are those that would be in force.
func (t *Trial) Rules() *policy.Policy { return t.p.engine.Policy }

// Way is the way to the topic. Whoever has a Trial closes it.
func (t *Trial) Way() *localgateway.Connector { return t.p.way }

// Socket tries the socket through which questions would be answered, for who goes by id.
func (t *Trial) Socket(id string) (path string, err error) {
	s, err := t.p.openSocket(id, t.p.newInbox())
	if err != nil {
		return "", err
	}
	s.Close()
	return s.Path(), nil
}

// Grants tries what is remembered of answers; n is how many count.
func (t *Trial) Grants(id string) (n int, err error) {
	r, err := t.p.openRemembered(id)
	if err != nil {
		return 0, err
	}
	r.held.Close()
	return len(t.p.engine.Desk.Grants), nil
}

// Channels are the names of those by which people would hear of questions, and why one could not
// be used.
func (t *Trial) Channels() (names []string, err error) {
	for _, c := range t.Rules().Channels() {
		names = append(names, c.Name)
	}
	return names, notify.Check(t.p.notifyOptions(t.Rules()))
}

// Audit tries the record; path "" is none. doubt is what is wrong with what was found
// there; "" if nothing is.
func (t *Trial) Audit(id string) (path, doubt string, err error) { return t.p.tryAudit(id) }
