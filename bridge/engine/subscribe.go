package engine

import (
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const subscribes = "resources/subscribe"

// Bounds on what participants can make us remember of who wants to hear of which
// resource, and on the frames that one word of the server's becomes.
const (
	subscriptionsMost  = 8192 // of all
	subscriptionsShare = 512  // of one participant; where nobody makes sure who speaks, of all of them
	subscribersMost    = 256  // to one resource
)

// subscribers are those who want to hear of resources.
type subscribers struct {
	to  map[string]map[string]bool // resource URI -> participants
	has map[string]int             // to how many each participant is subscribed
	all int
}

func (s *subscribers) add(uri, who string) {
	if s.to[uri][who] {
		return
	}
	if s.to == nil {
		s.to, s.has = map[string]map[string]bool{}, map[string]int{}
	}
	if s.to[uri] == nil {
		s.to[uri] = map[string]bool{}
	}
	s.to[uri][who] = true
	s.has[who]++
	s.all++
}

// remove reports whether somebody was subscribed and nobody is any more.
func (s *subscribers) remove(uri, who string) (orphan bool) {
	if !s.to[uri][who] {
		return false
	}
	delete(s.to[uri], who)
	s.all--
	if s.has[who]--; s.has[who] == 0 {
		delete(s.has, who)
	}
	if len(s.to[uri]) > 0 {
		return false
	}
	delete(s.to, uri)
	return true
}

// forget returns the resources nobody wants to hear of any more.
func (s *subscribers) forget(who string) (orphans []string) {
	if s.has[who] == 0 {
		return nil
	}
	for _, uri := range s.resources() {
		if s.remove(uri, who) {
			orphans = append(orphans, uri)
		}
	}
	return orphans
}

func (s *subscribers) resources() []string { return sorted(s.to) }

// noPlace says why a subscription cannot be kept, before the server hears of it: who is
// told yes counts on hearing of changes. Those that are on their way have places too.
func (e *Engine) noPlace(c *inflight.Call) (refusal.Refusal, bool) {
	if e.server.subscribers.to[c.Key][c.From] {
		return refusal.Refusal{}, false
	}
	why := e.overBounds(c)
	if why != "" && e.shareOf(c.From) == "" && e.room.peers[c.From] != nil && e.unlistedGiveWay() {
		why = e.overBounds(c)
	}
	return refusal.Busy(why), why != ""
}

func (e *Engine) overBounds(c *inflight.Call) string {
	s := &e.server.subscribers
	share := e.shareOf(c.From)
	own, here, all := s.has[c.From], len(s.to[c.Key]), s.all
	if share == "" {
		own = all
	}
	for _, o := range e.calls.Open {
		if o == c || o.Method != subscribes {
			continue
		}
		all++
		if e.shareOf(o.From) == share {
			own++
		}
		if o.Key == c.Key {
			here++
		}
	}
	switch {
	case own >= subscriptionsShare && share == "":
		return fmt.Sprintf("participants whom the gateway does not verify have as many subscriptions together as they may have (%d)", subscriptionsShare)
	case own >= subscriptionsShare:
		return fmt.Sprintf("you have as many subscriptions as one participant may have (%d); end one with resources/unsubscribe", subscriptionsShare)
	case here >= subscribersMost:
		return fmt.Sprintf("the resource has as many subscribers as it may have (%d)", subscribersMost)
	case all >= subscriptionsMost:
		return fmt.Sprintf("there are as many subscriptions as there may be (%d)", subscriptionsMost)
	}
	return ""
}

// unlistedGiveWay ends the subscriptions of those whom no roster lists. Where names cost
// nothing they may be invented, and nobody will say that they have left.
func (e *Engine) unlistedGiveWay() (some bool) {
	for _, who := range sorted(e.server.subscribers.has) {
		if e.room.peers[who] == nil {
			e.unsubscribeAll(who)
			some = true
		}
	}
	return some
}

// noteSubscription keeps who wants to hear of which resource.
func (e *Engine) noteSubscription(c *inflight.Call, m *jsonrpc.Message) {
	if m.Has(jsonrpc.Err) {
		return
	}
	switch c.Method {
	case subscribes:
		switch {
		case !c.Left || e.room.peers[c.From] != nil:
			e.server.subscribers.add(c.Key, c.From)
		case len(e.server.subscribers.to[c.Key]) == 0:
			e.unsubscribe(c.Key)
		}
	case "resources/unsubscribe":
		if !e.staysHere(c) {
			e.server.subscribers.remove(c.Key, c.From)
			e.keepOthersSubscribed(c.Key)
		}
	}
}

// keepOthersSubscribed renews a subscription that one participant has ended
// for all: the server knows only us.
func (e *Engine) keepOthersSubscribed(uri string) {
	if len(e.server.subscribers.to[uri]) > 0 {
		e.ask(subscribes, uriParams(uri), func(*jsonrpc.Message) {})
	}
}

func (e *Engine) unsubscribe(uri string) {
	if e.server.up && !e.hosted {
		e.ask("resources/unsubscribe", uriParams(uri), func(*jsonrpc.Message) {})
	}
}

// unsubscribeFor ends what somebody who is gone was subscribed to, or is about to be.
func (e *Engine) unsubscribeFor(who string) {
	for _, c := range e.calls.Open {
		if c.From == who {
			c.Left = true
		}
	}
	e.unsubscribeAll(who)
}

func (e *Engine) unsubscribeAll(who string) {
	for _, uri := range e.server.subscribers.forget(who) {
		e.unsubscribe(uri)
	}
}

// resourceUpdated tells subscribers that a resource has changed, at most once in
// gatherFor: gateways deliver each frame to everybody, and who subscribed reads the
// resource anew however often it was told.
func (e *Engine) resourceUpdated(uri string, raw []byte) {
	who := sorted(e.server.subscribers.to[uri])
	if len(who) == 0 {
		return
	}
	if len(raw) > waitsMax {
		raw = jsonrpc.AppendNotification(nil, "notifications/resources/updated", uriParams(uri))
	}
	if g := e.server.updated[uri]; g != nil {
		g.last = raw
		return
	}
	g, again := &gathering{}, gatherFor
	if wait := allWait(&e.server.passed, e.now); wait > 0 {
		g.last, again = raw, wait
	} else {
		for _, w := range who {
			e.tellOne(wire.Notice, w, "notifications/resources/updated", raw)
		}
		e.server.passed.Take(e.now, len(who)*weightOf(raw), allEvery)
	}
	if e.server.updated == nil {
		e.server.updated = map[string]*gathering{}
	}
	e.server.updated[uri] = g
	e.alarms.set(e.now.Add(again), func() {
		delete(e.server.updated, uri)
		if g.last != nil {
			e.resourceUpdated(uri, g.last)
		}
	})
}

func uriParams(uri string) []byte {
	return append(jsonrpc.AppendQuote([]byte(`{"uri":`), uri), '}')
}
