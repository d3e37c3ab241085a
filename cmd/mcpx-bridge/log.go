package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
)

// A speaker is the log for people: one line per event, "mcpx-bridge: " in
// front, attributes behind as key=value. A warning says that it is one, unless
// it is the hint that goes with another.
type speaker struct {
	w     io.Writer
	mu    *sync.Mutex // held while a line is written
	level slog.Level
	attrs string
	group string
}

func newLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil || strings.ContainsAny(level, "+-") {
		return nil, misused("it is debug, info, warn or error", "--log-level: %q is no level", level)
	}
	switch format {
	case "text":
		return slog.New(&speaker{w: w, mu: new(sync.Mutex), level: l}), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), nil
	}
	return nil, misused("it is text or json", "--log-format: %q is no format", format)
}

func (s *speaker) Enabled(_ context.Context, l slog.Level) bool { return l >= s.level }

func (s *speaker) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString("mcpx-bridge: ")
	if r.Level >= slog.LevelError {
		b.WriteString("error: ")
	} else if r.Level >= slog.LevelWarn && !strings.HasPrefix(r.Message, "hint: ") {
		b.WriteString("warning: ")
	}
	b.WriteString(visible(r.Message))
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

func (s *speaker) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *s
	for _, a := range attrs {
		c.attrs += attrText(s.group, a)
	}
	return &c
}

func (s *speaker) WithGroup(name string) slog.Handler {
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
	text := visible(v.String())
	if text == "" || strings.ContainsAny(text, " \"=") {
		text = strconv.Quote(text)
	}
	return " " + group + a.Key + "=" + text
}

// A quieter handler takes ordinary lines for details: they show with
// --log-level debug only.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, l slog.Level) bool {
	if l == slog.LevelInfo {
		l = slog.LevelDebug
	}
	return q.Handler.Enabled(ctx, l)
}

func (q quieter) WithAttrs(a []slog.Attr) slog.Handler { return quieter{q.Handler.WithAttrs(a)} }
func (q quieter) WithGroup(name string) slog.Handler   { return quieter{q.Handler.WithGroup(name)} }
