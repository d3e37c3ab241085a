// Package plainlog is a log for people: one line per event, "mcpx-bridge: " in front,
// attributes behind as key=value, warnings named as such. Whatever others wrote in it is fit
// to be shown. It has no time and no source: whoever needs these takes slog's own handlers.
// A [Countdown] keeps one line below it, with what is waited for.
package plainlog

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A handler writes one line per event. A warning says that it is one, unless it is the hint
// that goes with another.
type handler struct {
	w     io.Writer
	mu    *sync.Mutex // held while a line is written
	level slog.Level
	attrs string
	group string
}

// New is a handler that writes what is at least of a level. Each line is one Write; w is not
// written to by two goroutines at once.
func New(w io.Writer, level slog.Level) slog.Handler {
	return &handler{w: w, mu: new(sync.Mutex), level: level}
}

func (s *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= s.level }

func (s *handler) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString("mcpx-bridge: ")
	if r.Level >= slog.LevelError {
		b.WriteString("error: ")
	} else if r.Level >= slog.LevelWarn && !strings.HasPrefix(r.Message, "hint: ") {
		b.WriteString("warning: ")
	}
	b.WriteString(text.Line(r.Message))
	b.WriteString(s.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(attrText(s.group, a))
		return true
	})
	b.WriteByte('\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(b.Bytes())
	return err
}

func (s *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *s
	for _, a := range attrs {
		c.attrs += attrText(s.group, a)
	}
	return &c
}

func (s *handler) WithGroup(name string) slog.Handler {
	c := *s
	c.group += name + "."
	return &c
}

func attrText(group string, a slog.Attr) string {
	if a.Equal(slog.Attr{}) {
		return "" // as slog.Handler wants it
	}
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		var all strings.Builder
		for _, inner := range v.Group() {
			all.WriteString(attrText(group+a.Key+".", inner))
		}
		return all.String()
	}
	shown := text.Line(v.String())
	if shown == "" || strings.ContainsAny(shown, " \"=") {
		shown = strconv.Quote(shown)
	}
	return " " + group + a.Key + "=" + shown
}

// Quieter is a handler that takes ordinary lines of another for details: they show with
// --log-level debug only.
func Quieter(h slog.Handler) slog.Handler { return quieter{h} }

type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, l slog.Level) bool {
	if l == slog.LevelInfo {
		l = slog.LevelDebug
	}
	return q.Handler.Enabled(ctx, l)
}

func (q quieter) WithAttrs(a []slog.Attr) slog.Handler { return quieter{q.Handler.WithAttrs(a)} }
func (q quieter) WithGroup(name string) slog.Handler   { return quieter{q.Handler.WithGroup(name)} }

// Hushed is a handler that says what is normal only to those who want details: a
// server that is started to be looked at comes and goes.
func Hushed(h slog.Handler) slog.Handler { return hushed{h} }

type hushed struct{ slog.Handler }

func (h hushed) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, l-(slog.LevelInfo-slog.LevelDebug))
}
func (h hushed) WithAttrs(all []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(all)} }
func (h hushed) WithGroup(name string) slog.Handler     { return hushed{h.Handler.WithGroup(name)} }
