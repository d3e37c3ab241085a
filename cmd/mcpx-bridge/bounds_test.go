package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// Each flag that takes a number or a time, at both ends of its bound and beside them (FINDINGS T3).
func TestFlagsAtTheirBounds(t *testing.T) {
	const least = desktop.LeastLimit
	serve := func(change func(*settings)) func() error {
		p := &program{s: settings{Patience: time.Second, MaxName: desktop.LeastName}}
		change(&p.s)
		return p.checkServe
	}
	hints := func(change func(*settings), flag string) func() error {
		p := &program{s: settings{Timeout: time.Minute}}
		p.s.Offer.Style = "auto"
		change(&p.s)
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Duration("ttl", 0, "")
		f.Duration("fallback", 0, "")
		if flag != "" {
			f.Set(flag, "1s")
		}
		return func() error { _, _, err := p.hints(f, ""); return err }
	}
	within := func(d time.Duration) func() error {
		p := &program{s: settings{Within: d}}
		return func() error { _, err := p.asking(); return err }
	}
	for _, c := range []struct {
		what string
		try  func() error
		fits bool
	}{
		{"--patience 999.999999ms", serve(func(s *settings) { s.Patience = time.Second - 1 }), false},
		{"--patience 1s", serve(func(s *settings) {}), true},
		{"--max-name 31", serve(func(s *settings) { s.MaxName = 31 }), false},
		{"--max-name 32", serve(func(s *settings) { s.MaxName = 32 }), true},
		{"--max-name 64", serve(func(s *settings) { s.MaxName = 64 }), true},
		{"--max-name 65", serve(func(s *settings) { s.MaxName = 65 }), false},
		{"--limit 0, which is none", serve(func(s *settings) { s.Limit = 0 }), true},
		{"--limit 1", serve(func(s *settings) { s.Limit = 1 }), false},
		{"--limit just under", serve(func(s *settings) { s.Limit = least - 1 }), false},
		{"--limit at least", serve(func(s *settings) { s.Limit = least }), true},
		{"--ttl 0", hints(func(s *settings) { s.Offer.TTL = 0 }, "ttl"), false},
		{"--ttl 999.999µs", hints(func(s *settings) { s.Offer.TTL = time.Millisecond - 1 }, "ttl"), false},
		{"--ttl 1ms", hints(func(s *settings) { s.Offer.TTL = time.Millisecond }, "ttl"), true},
		{"--ttl 10m", hints(func(s *settings) { s.Offer.TTL = 10 * time.Minute }, "ttl"), true},
		{"--ttl over 10m", hints(func(s *settings) { s.Offer.TTL = 10*time.Minute + 1 }, "ttl"), false},
		{"--fallback 999.999µs", hints(func(s *settings) { s.Offer.Preferred, s.Offer.Fallback = []string{"x"}, time.Millisecond-1 }, "fallback"), false},
		{"--fallback 1ms", hints(func(s *settings) { s.Offer.Preferred, s.Offer.Fallback = []string{"x"}, time.Millisecond }, "fallback"), true},
		{"--fallback 10m", hints(func(s *settings) { s.Offer.Preferred, s.Offer.Fallback = []string{"x"}, 10*time.Minute }, "fallback"), true},
		{"--fallback over 10m", hints(func(s *settings) { s.Offer.Preferred, s.Offer.Fallback = []string{"x"}, 10*time.Minute+1 }, "fallback"), false},
		{"--preferred of 64", hints(func(s *settings) { s.Offer.Preferred = []string{strings.Repeat("x", 64)} }, ""), true},
		{"--preferred of 65", hints(func(s *settings) { s.Offer.Preferred = []string{strings.Repeat("x", 65)} }, ""), false},
		{"--timeout 0 of a proposal", hints(func(s *settings) { s.Timeout = 0 }, ""), false},
		{"--timeout 1ns of a proposal", hints(func(s *settings) { s.Timeout = 1 }, ""), true},
		{"--within 999.999999ms", within(time.Second - 1), false},
		{"--within 1s", within(time.Second), true},
		{"--within 24h", within(24 * time.Hour), true},
		{"--within over 24h", within(24*time.Hour + 1), false},
		{"--timeout 0", (&settings{Timeout: 0}).checkTimeout, false},
		{"--timeout 1ns", (&settings{Timeout: 1}).checkTimeout, true},
		{"--timeout -1ns", (&settings{Timeout: -1}).checkTimeout, false},
	} {
		if err := c.try(); (err == nil) != c.fits {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// What a code says of a refusal, at both ends of ours and beside them.
func TestCodesAtTheirBounds(t *testing.T) {
	for code, want := range map[int]int{-31000: exitFailed, -31001: exitRefused, -31098: exitRefused, -31099: exitRefused, -31100: exitFailed, -30999: exitFailed} {
		if got := client.ExitOf(code); got != want {
			t.Errorf("%d: exit code %d, want %d", code, got, want)
		}
	}
}
