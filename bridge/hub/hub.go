package hub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Options of a hub. What keeps its topics is in memory where nil. The limits have no default.
type Options struct {
	Log      Log
	Presence Presence
	History  func(topic string) History

	HistoryLimit    int // entries kept in memory per topic; under 1: none
	HistoryBytes    int // bytes kept in memory per topic
	MaxParticipants int // in one topic
	MaxTopics       int // in this hub

	// Refused is told of each frame that nobody gets. Any goroutine calls it, with no lock held.
	// nil: nobody is.
	Refused func(Refusal)
}

// A Hub is any number of topics. It has no goroutine of its own. Its methods may be called by
// any goroutine.
type Hub struct {
	Count Counters

	log       Log
	presence  Presence
	settings  settings
	maxTopics int

	mu     sync.Mutex // taken after a topic's, never before
	closed bool
	topics map[string]*Topic
	empty  []*Topic // those nobody is in, longest empty first
}

// New returns a hub without topics.
func New(o Options) *Hub {
	h := &Hub{
		log: cmp.Or[Log](o.Log, memoryLog{}), presence: cmp.Or[Presence](o.Presence, memoryPresence{}),
		maxTopics: o.MaxTopics, topics: map[string]*Topic{},
	}
	h.settings = settings{most: o.MaxParticipants, history: o.History, refused: o.Refused, release: h.release, count: &h.Count}
	if h.settings.history == nil {
		h.settings.history = func(string) History { return &ring{most: o.HistoryLimit, size: o.HistoryBytes} }
	}
	if h.settings.refused == nil {
		h.settings.refused = func(Refusal) {}
	}
	return h
}

// Cut ends every session. Nobody can join any more.
func (h *Hub) Cut(code int, reason string) {
	h.mu.Lock()
	h.closed = true
	topics := slices.Collect(maps.Values(h.topics))
	h.mu.Unlock()
	for _, t := range topics {
		t.cutAll(code, reason)
	}
}

// Close forgets all topics. It is called once all sessions have left.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.topics {
		t.feed.Close()
	}
	h.topics, h.empty = nil, nil
}

// keepEmpty is how many topics that everybody has left are remembered, with their history: a
// bridge that restarts alone finds what was said.
const keepEmpty = 16

// open returns the topic of that name, with a hold on it: it is not forgotten before release.
func (h *Hub) open(name string) (*Topic, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	t := h.topics[name]
	if t == nil {
		if len(h.topics) >= h.maxTopics && !h.forgetOldest() {
			return nil, ErrTopics
		}
		t = newTopic(name, h.settings)
		var err error
		if t.feed, err = h.log.Open(name, t); err != nil {
			return nil, fmt.Errorf("topic %s: %w", name, err)
		}
		h.topics[name] = t
	}
	if t.holds++; t.holds == 1 {
		h.empty = slices.DeleteFunc(h.empty, func(e *Topic) bool { return e == t })
	}
	return t, nil
}

// release gives up one hold on a topic.
func (h *Hub) release(t *Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.holds--; t.holds > 0 || h.topics == nil {
		return
	}
	h.empty = append(h.empty, t)
	if len(h.empty) > keepEmpty {
		h.forgetOldest()
	}
}

// forgetOldest drops the topic that has been empty for longest and reports whether there was
// one. The caller holds h.mu.
func (h *Hub) forgetOldest() bool {
	if len(h.empty) == 0 {
		return false
	}
	h.empty[0].feed.Close()
	delete(h.topics, h.empty[0].name)
	h.empty = h.empty[1:]
	return true
}

// look returns the topic of that name if there is one. It takes no hold.
func (h *Hub) look(name string) *Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.topics[name]
}

// CanJoin reports whether there is room for a participant, so that most of those for whom there
// is none hear of it before they are let in: ErrTopics, ErrFull or nil.
func (h *Hub) CanJoin(topic, id string) error {
	h.mu.Lock()
	t, full := h.topics[topic], len(h.topics) >= h.maxTopics && len(h.empty) == 0
	h.mu.Unlock()
	switch {
	case t == nil && full:
		return ErrTopics
	case t != nil && !t.hasSeat(id):
		return ErrFull
	}
	return nil
}

// Topics returns the names of the topics that somebody is in, sorted.
func (h *Hub) Topics() (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, t := range h.topics {
		if t.holds > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TopicCount returns how many topics somebody is in.
func (h *Hub) TopicCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.topics) - len(h.empty)
}

// Members returns who is in a topic, in the order of joining. The slice is the hub's.
func (h *Hub) Members(topic string) []*Member {
	if t := h.look(topic); t != nil {
		return t.roster()
	}
	return nil
}

// Before returns at most limit of the latest frames of a topic as participants of dialect d are
// to read them, newest first, without those that it has no word for; mark as in [History].
func (h *Hub) Before(topic string, d wire.Dialect, mark string, limit int) ([][]byte, error) {
	t := h.look(topic)
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	entries, err := t.past.Before(mark, limit)
	t.mu.Unlock()
	return rehearsal(nil).spelled(entries, d), err // which may take milliseconds, and nobody here waits for it
}
