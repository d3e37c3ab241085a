package show

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// A Found is a record that is wanted, and the log in which it stands.
type Found struct {
	audit.Record
	Path string
}

// In yields the records of logs that are wanted, oldest first. Lengths of time are those before
// now. A log that cannot be read any further ends with its error, which comes in a Found with
// the path alone; the others go on. When ctx ends, each log ends with its cause. Text of a record
// is good until the next one comes.
func (f Filter) In(ctx context.Context, paths []string, now time.Time) (iter.Seq2[Found, error], error) {
	pick, since, err := f.Picker(now)
	if err != nil {
		return nil, err
	}
	return func(yield func(Found, error) bool) {
		var last []Found // at most f.Last, in a ring that begins at next
		next := 0
		for r, err := range merged(ctx, paths, since) {
			switch {
			case err == nil && !pick(&r.Record):
			case err != nil || f.Last == 0:
				if !yield(r, err) {
					return
				}
			case len(last) < f.Last:
				last = append(last, kept(r))
			default:
				last[next] = kept(r)
				next = (next + 1) % f.Last
			}
		}
		for i := range last {
			if !yield(last[(next+i)%len(last)], nil) {
				return
			}
		}
	}, nil
}

// kept is a record that is good for ever.
func kept(r Found) Found {
	r.Text = bytes.Clone(r.Text)
	return r
}

// A stream is a log on its way into a merge.
type stream struct {
	path string
	next func() (audit.Record, error, bool)
	r    audit.Record // the next to come
	err  error
	at   time.Time // of that; where it says none, of the one before
}

// advance reports whether there is one more.
func (s *stream) advance() (more bool) {
	if s.err != nil {
		return false
	}
	if s.r, s.err, more = s.next(); !s.r.At.IsZero() {
		s.at = s.r.At
	}
	return more
}

// merged yields the records of all logs by their times, those of each in its own order.
func merged(ctx context.Context, paths []string, since time.Time) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		var all []*stream
		for _, path := range paths {
			next, stop := iter.Pull2(audit.Records(ctx, path, since))
			defer stop()
			if s := (&stream{path: path, next: next}); s.advance() {
				all = append(all, s)
			}
		}
		for len(all) > 0 {
			first := 0
			for i, s := range all {
				if s.at.Before(all[first].at) {
					first = i
				}
			}
			s := all[first]
			if !yield(Found{s.r, s.path}, s.err) {
				return
			}
			if !s.advance() {
				all = append(all[:first], all[first+1:]...)
			}
		}
	}
}
