package client

import (
	"slices"
)

func (t *pendingAnswers) add(w *pendingAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(w)
}

func (t *pendingAnswers) addLocked(w *pendingAnswer) {
	if t.all == nil {
		t.all = map[string][]*pendingAnswer{}
	}
	t.all[w.env] = append(t.all[w.env], w)
}

// find returns the pending answer to an envelope that from may give, nil if there is none.
// "" is the gateway, which may refuse on behalf of any recipient.
func (t *pendingAnswers) find(env, from string) *pendingAnswer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.findLocked(env, from)
}

func (t *pendingAnswers) findLocked(env, from string) *pendingAnswer {
	for _, w := range t.all[env] {
		if w.to == from || from == "" && w.proposal == nil {
			return w
		}
	}
	for _, w := range t.all[env] {
		if w.to == "" && from != "" {
			return w // whoever answers
		}
	}
	return nil
}

// addFirst adds w and returns true, unless an answer to the same envelope id from the same
// participant is pending already: others may use an id twice, and the first one counts.
func (t *pendingAnswers) addFirst(w *pendingAnswer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.all[w.env], func(other *pendingAnswer) bool { return other.to == w.to }) {
		return false
	}
	t.addLocked(w)
	return true
}

func (t *pendingAnswers) count(which func(*pendingAnswer) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, all := range t.all {
		for _, w := range all {
			if which(w) {
				n++
			}
		}
	}
	return n
}

func (t *pendingAnswers) drop(which func(*pendingAnswer) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for env, all := range t.all {
		if t.all[env] = slices.DeleteFunc(all, which); len(t.all[env]) == 0 {
			delete(t.all, env)
		}
	}
}

// settle ends the wait for an answer, if there is one.
func (t *pendingAnswers) settle(env, from string, a Answer) {
	t.mu.Lock()
	w := t.findLocked(env, from)
	if w != nil {
		t.dropLocked(w)
	}
	t.mu.Unlock()
	if w != nil {
		w.done(a)
	}
}

func (t *pendingAnswers) forget(env string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, env)
}

func (t *pendingAnswers) dropLocked(w *pendingAnswer) {
	left := slices.DeleteFunc(t.all[w.env], func(other *pendingAnswer) bool { return other == w })
	if t.all[w.env] = left; len(left) == 0 {
		delete(t.all, w.env)
	}
}

// answersAsker reports whether what goes to those can be the answer to a request that somebody
// makes for our proposal: they alone may get it (WIRE 7.8).
func (w *pendingAnswer) answersAsker(to []string) bool {
	return w.proposal != nil && !w.forProposal && slices.Contains(to, w.by)
}
