package desktop

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// whenOpen does something for a request as soon as those who were present at
// joining have said what they offer, or have had their time.
func (f *Proxy) whenOpen(k int, r *request, then func()) {
	c := &f.catalogue[k]
	if c.opened {
		then()
		return
	}
	c.held = append(c.held, waiting{r, then})
	if c.opening == nil {
		c.opening = f.clock.after(openTime, func() { f.open(k) })
	}
}

// openAll opens what nobody has to be waited for any more.
func (f *Proxy) openAll() {
	for k := range kinds {
		if !f.catalogue[k].opened && f.seated && f.allHeard(k) {
			f.open(k)
		}
	}
	if f.seated && f.allHeard(tools) {
		f.announce()
	}
}

// announce says once that there is a topic to be seen.
func (f *Proxy) announce() {
	if !f.announced {
		f.announced = true
		f.compile(tools)
		f.do(Ready{f.catalogue[tools].count})
	}
}

func (f *Proxy) allHeard(k int) bool {
	for id, p := range f.peers {
		if f.first[id] && p.here && !p.lists[k].settled {
			return false
		}
	}
	return true
}

func (f *Proxy) open(k int) {
	c := &f.catalogue[k]
	c.opening.stop()
	c.opened = true
	f.compile(k)
	c.told = sha256.Sum256(c.list) // it will see this when it asks
	if k == tools && f.seated {
		f.announce()
	}
	held := c.held
	c.held = nil
	for _, h := range held {
		if !h.r.ended {
			h.then()
		}
	}
}

// changed: what is shown of a kind may be another.
func (f *Proxy) changed(k int) {
	c := &f.catalogue[k]
	c.list = nil
	if c.telling == nil {
		c.telling = f.clock.after(batchTime, func() { f.tellChanges(k) })
	}
}

// tellChanges tells the client that there is another list, if there is.
func (f *Proxy) tellChanges(k int) {
	c := &f.catalogue[k]
	c.telling = nil
	if !c.opened {
		c.telling = f.clock.after(batchTime, func() { f.tellChanges(k) })
		return
	}
	f.compile(k)
	if now := sha256.Sum256(c.list); now != c.told {
		c.told = now
		f.notify(kinds[k].change)
	}
}

// An entry is one thing in a list.
type entry struct {
	pair Pair
	def  *definition
}

// entries are all that may be shown of a kind, by peer and name.
func (f *Proxy) entries(k int) (all []entry) {
	for _, id := range f.ids() {
		defs := f.peers[id].lists[k].all
		from := len(all)
		for i := range defs {
			if p := (Pair{id, defs[i].key}); f.choice.Shows(p) {
				all = append(all, entry{p, &defs[i]})
			}
		}
		slices.SortStableFunc(all[from:], func(a, b entry) int { return a.pair.Compare(b.pair) })
	}
	return all
}

// compile makes the list that the client gets.
func (f *Proxy) compile(k int) {
	c := &f.catalogue[k]
	if c.list != nil {
		return
	}
	c.names.Keep(func(p Pair) bool { return f.definition(k, p) != nil })
	parts := [][]byte{}
	shown, forApps := f.chosen(k)
	for _, e := range shown {
		parts = f.appendEntry(parts, k, e)
	}
	c.count = len(parts)
	own, ownApps := f.ours(k)
	c.plain = listOfKind(k, own, parts)
	for _, e := range forApps {
		parts = f.appendEntry(parts, k, e)
	}
	c.list = listOfKind(k, ownApps, parts)
}

// ours are what we offer of a kind ourselves, and what to who shows apps.
func (f *Proxy) ours(k int) (all, forApps [][]byte) {
	switch {
	case k == tools:
		return f.own, f.ownApps
	case k == resources && f.c.Card:
		return nil, [][]byte{cardEntry()}
	}
	return nil, nil
}

func (f *Proxy) appendEntry(parts [][]byte, k int, e entry) [][]byte {
	if name := f.outward(k, e.pair); name != "" {
		parts = append(parts, e.def.of(e.pair.Peer, kinds[k].key, name))
	}
	return parts
}

func listOfKind(k int, own, parts [][]byte) []byte {
	return slices.Concat([]byte(`{"`+kinds[k].member+`":[`), bytes.Join(slices.Concat(own, parts), []byte(",")), []byte("]}"))
}

// chosen are the entries that are shown: all, or as many tools as the limit
// leaves room for, peer by peer in turn (WIRE 9.4). What is for apps alone takes no
// room: no model gets it.
func (f *Proxy) chosen(k int) (shown, forApps []entry) {
	all := f.entries(k)
	room := f.c.Limit - ownCount
	forApps = slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return !e.def.appOnly })
	all = slices.DeleteFunc(all, func(e entry) bool { return e.def.appOnly })
	if k != tools || f.c.Limit == 0 || len(all) <= room {
		f.omit(k, nil)
		return all, forApps
	}
	in, out := Fair(all, room, func(e entry) Pair { return e.pair })
	f.omit(k, out)
	return in, forApps
}

// omit says which tools the limit leaves out, once.
func (f *Proxy) omit(k int, out []entry) {
	if c := &f.catalogue[k]; c.omitted != len(out) {
		c.omitted = len(out)
		var names []string
		for _, e := range out {
			names = append(names, e.pair.Peer+"/"+e.pair.Name)
		}
		if len(names) > 0 {
			f.note(fmt.Sprintf("the limit leaves out %d tools: %.2000s", len(out), strings.Join(names, ", ")))
		}
	}
}

// outward is what the client calls something, "" if that cannot be said.
func (f *Proxy) outward(k int, p Pair) string {
	if k == resources || k == templates {
		return outwardURI(p)
	}
	return f.catalogue[k].names.Of(p)
}

// find looks up what the client calls by a name. Names of what is gone are
// unknown.
func (f *Proxy) find(k int, name string) (Pair, *definition) {
	pair, ok := f.catalogue[k].names.Pair(name)
	if !ok || f.peers[pair.Peer] == nil || !f.choice.Shows(pair) {
		return Pair{}, nil
	}
	return pair, f.definition(k, pair)
}

func (f *Proxy) definition(k int, pair Pair) *definition {
	p := f.peers[pair.Peer]
	if p == nil {
		return nil
	}
	for i := range p.lists[k].all {
		if d := &p.lists[k].all[i]; d.key == pair.Name {
			return d
		}
	}
	return nil
}

// answerList gives the client a list, all of it on one page.
func (f *Proxy) answerList(k int, r *request) {
	f.whenOpen(k, r, func() {
		f.compile(k)
		f.catalogue[k].told = sha256.Sum256(f.catalogue[k].list)
		if r.apps {
			f.reply(r, f.catalogue[k].list)
			return
		}
		f.reply(r, f.catalogue[k].plain)
	})
}

// notify tells the client that a list changed: whoever listens for it, or a
// client of the older revisions, which is told without asking.
func (f *Proxy) notify(method string) {
	if f.client.ready {
		f.say(jsonrpc.AppendNotification(nil, method, nil))
	}
	for _, r := range f.subs {
		if slices.Contains(r.listens, method) {
			f.say(jsonrpc.AppendNotification(nil, method, r.tagged(nil)))
		}
	}
}
