package web

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// A Source is the inbox of one bridge.
type Source struct {
	inbox.Inbox
	Key   string // distinct from all others'; it stands in addresses
	Label string // for people

	// Keys has the passkeys of the bridge, where this page is its own; nil: a yes that takes one
	// cannot be said here.
	Keys inbox.Keyholder
}

// passkeys are those of the bridge, nil where there are none here.
func (src *Source) passkeys() inbox.Passkeys {
	if src == nil || src.Keys == nil {
		return nil
	}
	return src.Keys.Passkeys()
}

// A Finder returns the sources that there are now, without those whose keys are known.
type Finder func(ctx context.Context, known func(key string) bool) ([]*Source, error)

// Bridges finds the bridges of this user on this machine, by their sockets in dir. want
// narrows them down; nil: all.
func Bridges(dir string, want func(inbox.Status) bool) Finder {
	key := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".sock") }
	return func(ctx context.Context, known func(string) bool) (found []*Source, err error) {
		others, err := socket.Others(ctx, dir, func(path string) bool { return known(key(path)) })
		for _, c := range others {
			if want == nil || want(c.Known) {
				found = append(found, &Source{Inbox: c, Key: key(c.Path), Label: c.Known.ID + " in " + c.Known.Topic})
			}
		}
		return found, err
	}
}

// findAgain is how often one looks for new sources.
const findAgain = 2 * time.Second

// found are the sources there are by now, what is heard of them, and how questions ended that
// somebody may still look at. The zero value is ready.
type found struct {
	feed inbox.Feed // of all; Because is the key of the source, and what it said is in ended

	mu      sync.Mutex
	sources map[string]*Source
	ended   map[questionID]string // in words
	order   []questionID          // of ended, the oldest first
}

// A questionID is that of a question among those of all bridges.
type questionID struct{ bridge, id string }

// mostEnded is how many ended questions are remembered.
const mostEnded = 1000

// look keeps the sources of a page until ctx ends: only, or where that is nil all that are found.
// first is called when there are some, or none to be found at once.
func (f *found) look(ctx context.Context, only *Source, find Finder, first func()) {
	defer f.feed.Close()
	if only == nil {
		f.search(ctx, find, first)
		return
	}
	f.add(only)
	first()
	for f.listen(ctx, only); pause.For(ctx, findAgain); {
		f.listen(ctx, only)
	}
}

// search looks for sources, again and again, and listens to each.
func (f *found) search(ctx context.Context, find Finder, first func()) {
	var parts sync.WaitGroup
	defer parts.Wait()
	once := sync.OnceFunc(first)
	for {
		some, _ := find(ctx, func(key string) bool { return f.source(key) != nil }) // what cannot be reached is not there
		for _, src := range some {
			f.add(src)
			parts.Go(func() {
				f.listen(ctx, src)
				f.remove(src)
			})
		}
		once()
		if !pause.For(ctx, findAgain) {
			return
		}
	}
}

// listen hears of one source, until that ends.
func (f *found) listen(ctx context.Context, src *Source) {
	for e, err := range src.Watch(ctx) {
		if err != nil {
			return
		}
		if e.Event == "closed" {
			f.end(questionID{src.Key, e.ID}, e.Because)
		}
		f.post(src, e)
	}
}

func (f *found) post(src *Source, e inbox.Event) {
	f.feed.Post(inbox.Event{Event: cmp.Or(e.Event, "changed"), ID: e.ID, Because: src.Key})
}

func (f *found) add(src *Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sources == nil {
		f.sources, f.ended = map[string]*Source{}, map[questionID]string{}
	}
	f.sources[src.Key] = src
}

func (f *found) remove(src *Source) {
	f.mu.Lock()
	delete(f.sources, src.Key)
	f.mu.Unlock()
	f.post(src, inbox.Event{})
}

// source is the one of that key, nil if there is none.
func (f *found) source(key string) *Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sources[key]
}

// label is what people call the source of that key.
func (f *found) label(key string) string {
	if src := f.source(key); src != nil {
		return src.Label
	}
	return key
}

// all are the sources, by their labels.
func (f *found) all() (all []*Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, src := range f.sources {
		all = append(all, src)
	}
	slices.SortFunc(all, func(a, b *Source) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Key, b.Key)) })
	return all
}

// A reply is what came of asking a source.
type reply[T any] struct {
	*Source
	what T // zero with err
	err  error
}

// askAll calls ask for all sources, each in a goroutine, so that those that hang take no longer
// than one, and returns the replies in the order of the sources.
func askAll[T any](all []*Source, ask func(*Source) (T, error)) []reply[T] {
	heard := make([]reply[T], len(all))
	var parts sync.WaitGroup
	for i, src := range all {
		parts.Go(func() {
			what, err := ask(src)
			heard[i] = reply[T]{src, what, err}
		})
	}
	parts.Wait()
	return heard
}

// statuses asks all sources for their Status.
func statuses(ctx context.Context, all []*Source) []reply[inbox.Status] {
	return askAll(all, func(src *Source) (inbox.Status, error) { return src.Status(ctx) })
}

// end remembers how a question ended.
func (f *found) end(at questionID, how string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, was := f.ended[at]; !was {
		f.order = append(f.order, at)
	}
	f.ended[at] = how
	if len(f.order) > mostEnded {
		delete(f.ended, f.order[0])
		f.order = f.order[1:]
	}
}

// ending is how a question ended, "" if that is not known.
func (f *found) ending(at questionID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended[at]
}
