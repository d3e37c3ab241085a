package desktop

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (g *page) leaveOut(o omission) {
	if len(g.left) == maxTold {
		g.more++
		return
	}
	g.left = append(g.left, o)
}

func (f *Proxy) sit(ev Seated) {
	f.me, f.topic, f.seated, f.greets = ev.Me, ev.Topic, true, ev.Greet
	if f.first == nil {
		f.first = map[string]bool{}
		for _, p := range ev.Peers {
			f.first[p.ID] = p.ID != ev.Me && !p.Mute
		}
	}
	present := map[string]bool{}
	for _, p := range ev.Peers {
		present[p.ID] = true
		f.came(p)
	}
	for _, id := range f.ids() {
		if !present[id] {
			f.left(id)
		}
	}
	f.askAgain("")
	f.openAll()
}

// stand: what was asked may yet be answered, after the next joining.
func (f *Proxy) stand(why string) {
	f.seated, f.why = false, why
	f.shake("", "the link to the topic was lost meanwhile, and the answer with it")
	for _, id := range f.ids() {
		p := f.peers[id]
		p.here = false
		p.silent.stop()
		f.dropLists(p)
	}
}

func (f *Proxy) came(who Peer) {
	if who.ID == f.me {
		return
	}
	p := f.peers[who.ID]
	if p == nil {
		p = &peer{}
		f.peers[who.ID] = p
	}
	p.gone.stop()
	if p.silent != nil && p.silent.Stands() { // it may be another that knows nothing of what the one before was asked
		p.silent.stop()
		f.shake(who.ID, who.ID+" left meanwhile and came back, and its answer may be lost")
	}
	was := p.here && !p.Mute
	if !p.here {
		f.askAgain(text.Line(who.ID))
	}
	p.Peer, p.here = who, true
	if who.Mute || was {
		return
	}
	p.greeted = false
	f.returns(p)
	for k := range kinds {
		p.lists[k].tries = 0
	}
	f.meet(p)
}

func (f *Proxy) left(id string) {
	p := f.peers[id]
	if p == nil || !p.here && p.gone != nil && p.gone.Stands() {
		return
	}
	p.here = false
	f.leaves(id)
	f.dropLists(p)
	p.gone = f.clock.after(stayTime, func() { f.forget(id) })
	p.silent = f.clock.after(leaveTime, func() { f.abandon(id, id+" left before it answered") })
	f.openAll()
}

func (f *Proxy) forget(id string) {
	f.peers[id].silent.stop()
	f.abandon(id, id+" left before it answered")
	delete(f.peers, id)
	for k := range kinds {
		f.changed(k)
	}
}

// dropLists ends what is being asked of a peer that is not there now.
func (f *Proxy) dropLists(p *peer) {
	p.slow.stop()
	f.unask(p.hello, "no longer wanted")
	p.hello = 0
	for k := range kinds {
		l := &p.lists[k]
		l.due.stop()
		l.late.stop()
		f.unask(l.ref, "no longer wanted")
		l.ref, l.again, l.soon = 0, false, false
	}
}

// meet shakes hands where that has to come first, and asks what there is. Native
// participants of some dialects never answer a handshake: after a short wait they
// are asked all the same, and an answer that comes yet is taken (FINDINGS D3).
func (f *Proxy) meet(p *peer) {
	if !f.greets || p.greeted {
		f.listKinds(p, [len(kinds)]bool{true, true, true, true})
		return
	}
	p.greeted = true
	waiting := true
	p.hello = f.ask(p.ID, methodInitialize, f.helloParams(), asking{done: func(a Answered) {
		p.slow.stop()
		p.hello = 0
		f.met(p, a, waiting)
	}})
	p.slow = f.clock.after(greetTime, func() {
		waiting = false
		f.listKinds(p, [len(kinds)]bool{true, true, true, true})
	})
}

// showing tells the peers that were greeted before it was known that the client shows apps:
// a server may offer more to who does.
func (f *Proxy) showing(ui []byte) {
	if ui == nil || f.ui != nil {
		return
	}
	f.ui = slices.Clone(ui)
	for _, id := range f.ids() {
		if p := f.peers[id]; p.here && !p.Mute && (p.greeted || p.identified) {
			f.dropLists(p)
			p.greeted, p.identified = false, false
			f.meet(p)
		}
	}
}

// met: an error is taken too, for some servers know tools/list and tools/call
// alone. Who was not waited for was asked what it has already.
func (f *Proxy) met(p *peer, a Answered, waited bool) {
	if a.Failed != "" {
		if waited {
			p.greeted = false
			f.listFailed(p, tools, a.Failed, true)
		}
		return
	}
	f.do(Tell{p.ID, toldInitialized})
	f.identify(p, a.Result)
	has := [len(kinds)]bool{tools: true}
	if said, err := pick(a.Result, "capabilities"); err == nil && isObject(said[0]) {
		if at, err := pick(said[0], "prompts", "resources"); err == nil {
			has[prompts], has[resources], has[templates] = at[0] != nil, at[1] != nil, at[1] != nil
		}
	}
	if waited {
		f.listKinds(p, has)
		return
	}
	for k := range kinds {
		if has[k] {
			f.relist(p, k) // it may have refused before
		}
	}
}

func (f *Proxy) listKinds(p *peer, has [len(kinds)]bool) {
	for k := range kinds {
		if has[k] {
			f.list(p, k)
		} else {
			p.lists[k].settled = true
		}
	}
	f.openAll()
}

// list asks a peer for its list, from the beginning.
func (f *Proxy) list(p *peer, k int) {
	l := &p.lists[k]
	if l.ref != 0 {
		l.again = true
		return
	}
	l.due.stop()
	l.soon = false
	l.next = page{seen: map[string]bool{}}
	f.listPage(p, k, nil)
}

func (f *Proxy) listPage(p *peer, k int, params []byte) {
	l := &p.lists[k]
	l.ref = f.ask(p.ID, kinds[k].method, params, asking{done: func(a Answered) { f.listed(p, k, a) }})
	ref := l.ref
	l.late = f.clock.after(listTime, func() {
		f.unask(ref, "it took too long")
		f.listed(p, k, Answered{Failed: "it took too long"})
	})
}

func (f *Proxy) listed(p *peer, k int, a Answered) {
	l := &p.lists[k]
	l.late.stop()
	l.ref = 0
	if h, ok := refusal.Hear(a.Err); ok && h.Code == codeUnknownMethod {
		l.all, l.next = nil, page{}
		f.listSettled(p, k)
		l.due.stop() // nor will it have any
		return
	}
	if a.Failed != "" || a.Err != nil {
		f.listFailed(p, k, a.Failed+string(a.Err), a.Failed != "" || passing(a.Err))
		return
	}
	cursor, err := f.readPage(p, k, a.Result)
	if err != nil {
		f.listFailed(p, k, err.Error(), false)
		return
	}
	l.next.size += len(cursor) // which is kept too
	switch {
	case cursor == "" || l.next.seen[cursor]:
	case len(l.next.seen) == maxPages || l.next.size > MaxListSize:
		l.next.leaveOut(omission{kinds[k].one(), "(all from the next page on)", "the list has more pages than are taken"})
	default:
		l.next.seen[cursor] = true
		f.listPage(p, k, append(jsonrpc.AppendQuote([]byte(`{"cursor":`), cursor), '}'))
		return
	}
	f.tellOmissions(p, k)
	l.all, l.left, l.more, l.next = l.next.all, l.next.left, l.next.more, page{}
	f.listSettled(p, k)
}

// tellOmissions notes what of a list is not offered and why, unless it has.
func (f *Proxy) tellOmissions(p *peer, k int) {
	l := &p.lists[k]
	if slices.Equal(l.left, l.next.left) && l.more == l.next.more {
		return
	}
	for _, o := range l.next.left {
		f.noteOf(p, fmt.Sprintf("%s: the %s %s is not offered: %s", clip(p.ID, 80), o.Kind, o.Name, o.Why))
	}
	if l.next.more > 0 {
		f.noteOf(p, fmt.Sprintf("%s: %d more of its %s are not offered", clip(p.ID, 80), l.next.more, kinds[k].member))
	}
}

func (f *Proxy) listSettled(p *peer, k int) {
	l := &p.lists[k]
	l.settled, l.tries = true, 0
	if k == tools {
		f.compareTools(p)
		f.askIdentity(p)
	}
	l.due = f.clock.after(freshTime, func() { f.list(p, k) })
	f.changed(k)
	if l.again {
		l.again = false
		f.relist(p, k)
	}
	f.openAll()
}

// listFailed keeps what was known, and tries again if that may help.
func (f *Proxy) listFailed(p *peer, k int, why string, again bool) {
	l := &p.lists[k]
	l.settled, l.again, l.next = true, false, page{}
	if k == tools {
		f.noteOf(p, fmt.Sprintf("no tools from %s: %.200s", p.ID, why))
	}
	if again && l.tries < 3 {
		l.tries++
		l.due = f.clock.after(time.Duration(l.tries)*5*time.Second, func() { f.retry(p, k) })
	}
	f.openAll()
}

func (f *Proxy) retry(p *peer, k int) {
	if f.greets && !p.greeted {
		f.meet(p)
		return
	}
	f.list(p, k)
}

// relist asks again soon: what changes often is not asked for each time.
func (f *Proxy) relist(p *peer, k int) {
	l := &p.lists[k]
	switch {
	case l.ref != 0:
		l.again = true
	case !l.soon:
		l.due.stop()
		l.soon = true
		l.due = f.clock.after(gatherTime, func() { f.list(p, k) })
	}
}

func (f *Proxy) noticed(from, method string) {
	p := f.peers[from]
	if p == nil || !p.here || p.Mute {
		return
	}
	if method == "notifications/tools/available" { // some say it like this (WIRE 9.3)
		method = kinds[tools].change
	}
	for k := range kinds {
		if kinds[k].change == method {
			f.relist(p, k)
		}
	}
}

// readPage adds a page to the list. What is wrong with one entry does not hide
// the others.
func (f *Proxy) readPage(p *peer, k int, result []byte) (cursor string, err error) {
	at, err := peek(jsonrpc.Mend(result), kinds[k].member, "nextCursor") // it is each entry that is held to more
	if err != nil {
		return "", err
	}
	entries, err := elements(at[0])
	if err != nil {
		return "", err
	}
	l := &p.lists[k].next
	for _, raw := range entries {
		d, err := define(k, raw)
		switch {
		case err != nil:
			l.leaveOut(omission{kinds[k].one(), nameIn(raw, kinds[k].key), clip(err.Error(), 200)})
		case slices.ContainsFunc(l.all, func(have definition) bool { return have.key == d.key }):
		case k == tools && len(l.all) == MaxTools:
			l.leaveOut(omission{kinds[k].one(), clip(d.key, 80), fmt.Sprintf("at most %d tools of one participant are", MaxTools)})
		case len(l.all) == maxListed || l.size+len(raw) > MaxListSize:
			l.leaveOut(omission{kinds[k].one(), clip(d.key, 80), "the list is longer than is taken; the rest is left out too"})
			return "", nil
		default:
			l.all, l.size = append(l.all, d), l.size+len(raw)
		}
	}
	cursor, _ = jsonrpc.Unquote(at[1])
	return cursor, nil
}

// nameIn is how something that is not offered is called, as far as that can be
// told.
func nameIn(raw []byte, key string) string {
	at, err := peek(raw, key)
	name, ok := jsonrpc.Unquote(at[0])
	if err != nil || !ok {
		return "(no name)"
	}
	return clip(name, 80)
}
