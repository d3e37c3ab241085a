package refusal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// A server that speaks of an approval is no bridge: its words stand behind its name.
func TestProgressSaysWhoseWordsItIs(t *testing.T) {
	for params, want := range map[string]string{
		`{"progress":1,"total":2}`:                                        "fs: 1/2",
		`{"progress":1,"message":"approved"}`:                             "fs: approved",
		`{"progress":0,"message":"asked","_meta":{"mcpx/approval":{}}}`:   "asked",
		`{"progress":0,"message":"asked","_meta":{"mcpx/approval":null}}`: "fs: asked",
		`{"progress":0,"message":"asked","_meta":{"mcpx/approval":7}}`:    "asked",
		`{"progress":0.000000004,"total":3}`:                              "fs: 0/3",
		`[]`:                                                              "",
	} {
		got := ""
		if p, ok := refusal.HearProgress([]byte(params)); ok {
			got = p.Line("fs")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
}

// What a bridge says to programs is heard in one way by all who wait and all who look on.
func TestProgressSaysWhatACallWaitsFor(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for about, want := range map[string]string{
		`{"waiting":true,"digest":"9d1a91e4","of":["local","alice"],"left_ms":60000}`:          "undecided, [local alice] until 12:01:00, ",
		`{"waiting":true,"digest":"9d","left_ms":1e300}`:                                       "undecided, [] until 12:00:00, ", // a day at most, whatever somebody says
		`{"waiting":true,"digest":"9d","left_ms":-5}`:                                          "undecided, [] until 12:00:00, ",
		`{"waiting":true,"digest":"9d","of":["local","ann","carol"],"need":2,"left_ms":60000}`: "undecided, [local ann carol] until 12:01:00, waiting for approval by 2 of: the person at the bridge, ann and carol, ",
		`{"waiting":true}`:                  "undecided, ",
		`{"waiting":"yes","digest":"9d"}`:   "",
		`{"by":["ann"]}`:                    "",
		`{"starting":true}`:                 "starting",
		`{"starting":true,"seconds":15}`:    "starting, 15 s",
		`{"starting":true,"seconds":-1}`:    "",
		`{"starting":true,"seconds":"all"}`: "",
	} {
		p, ok := refusal.HearProgress(fmt.Appendf(nil, `{"progressToken":7,"progress":1,"message":"m","_meta":{"mcpx/approval":%s}}`, about))
		got := ""
		if p.Undecided() {
			got += "undecided, "
		}
		if w, waits := p.Waiting(now); waits {
			got += fmt.Sprintf("%v until %s, ", w.Of, w.Until.Format(time.TimeOnly))
			if w.Need > 1 {
				got += refusal.Waiting{Of: w.Of, Need: w.Need}.Words(now) + ", "
			}
			if w.Until.Before(now) || w.Until.After(now.Add(24*time.Hour)) {
				t.Errorf("%s: until %s", about, w.Until)
			}
		}
		if got += p.Starting(); !ok || got != want || string(p.Token) != "7" {
			t.Errorf("%s: %q, want %q", about, got, want)
		}
	}
	for params, want := range map[string]string{`{"seconds":15,"message":"fs is starting, 15 s"}`: "starting, 15 s", `{}`: "starting", ``: "starting"} {
		if p := refusal.HearStart([]byte(params)); p.Starting() != want {
			t.Errorf("%s: %q", params, p.Starting())
		}
	}
}
