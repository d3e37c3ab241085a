package gateway

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// perFrame is what a frame in the history costs beside its bytes, about.
const perFrame = 1024

// A history holds the latest posts of a topic, bounded by their number and by
// their bytes: payloads can be large, and every joiner of some dialects gets
// them all in one welcome.
type history struct {
	frames int // most posts; under 1 keeps none
	size   int // most bytes
	posts  []*post
	bytes  int
}

// add keeps a post, and forgets the oldest ones to make room. A post that is
// too large for the whole history is not kept.
func (h *history) add(p *post) {
	n := len(p.frame) + perFrame
	if h.frames < 1 || n > h.size {
		return
	}
	for len(h.posts) >= h.frames || h.bytes+n > h.size {
		h.bytes -= len(h.posts[0].frame) + perFrame
		h.posts[0] = nil
		h.posts = h.posts[1:]
	}
	h.posts = append(h.posts, p)
	h.bytes += n
}

// in returns the posts as frames of dialect d, oldest first, without those it
// has no word for. The caller holds the topic's lock.
func (h *history) in(d wire.Dialect) (frames [][]byte) {
	for _, p := range h.posts {
		if body := p.as(d); body != nil {
			frames = append(frames, body)
		}
	}
	return frames
}

// before returns at most limit posts that came before the one with the given
// id, or before the given time, newest first; before "" from the newest on.
func (h *history) before(mark string, limit int) (posts []*post) {
	end := len(h.posts)
	if mark != "" {
		end = h.find(mark)
	}
	for i := end - 1; i >= 0 && len(posts) < limit; i-- {
		posts = append(posts, h.posts[i])
	}
	return posts
}

// find returns the index of the post with that id, or of the first post not
// before that time, 0 if mark is neither.
func (h *history) find(mark string) int {
	for i, p := range h.posts {
		if p.env.ID == mark {
			return i
		}
	}
	at, err := time.Parse(time.RFC3339, mark)
	if err != nil {
		return 0
	}
	for i, p := range h.posts {
		if !p.at.Before(at) {
			return i
		}
	}
	return len(h.posts)
}
