package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// asking is a trial of a bridge that asks them, at a gateway that somebody else runs.
func asking(t *testing.T, of string, trust bool) *Trial {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: ask\nasks: {default: {of: ["+of+"]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	trial, err := Try(Options{Server: Target{Args: []string{"notes-server"}}, ID: "notes", Rules: rules, TrustUnverified: trust,
		State: localgateway.StateDir(filepath.Join(t.TempDir(), "mcpx-bridge")),
		Connect: func(id string) (*localgateway.Connector, error) {
			return &localgateway.Connector{Join: topic.Options{URL: "ws://127.0.0.1:1", Topic: "lobby", ID: id}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Way().Close)
	return trial
}

func dialects(t *testing.T) (verified, unverified wire.Dialect) {
	for _, d := range wire.Dialects {
		if d.Verified() {
			verified = d
		} else {
			unverified = d
		}
	}
	if verified.Protocol == "" || unverified.Protocol == "" {
		t.Fatal("there are not both")
	}
	return verified, unverified
}

func sends(t *testing.T, kinds string) wire.Caps {
	caps, err := wire.ParseCaps([]byte(kinds))
	if err != nil {
		t.Fatal(err)
	}
	return caps
}

func TestWhoCouldBeAskedNow(t *testing.T) {
	verified, unverified := dialects(t)
	ann, ben := wire.Participant{ID: "ann", Caps: sends(t, `["mcp/*"]`)}, wire.Participant{ID: "ben", Caps: sends(t, `["chat"]`)}
	for what, c := range map[string]struct {
		of    string
		in    wire.Dialect
		trust bool
		here  []wire.Participant
		want  string // what is said, what is doubtful, and why nobody at all could be asked
	}{
		"nobody there is to be": {"local", verified, false, nil, " [] <nil>"},
		"she is there":          {"ann", verified, false, []wire.Participant{ann}, "ann can be asked [] <nil>"},
		"one of them is away": {"ann, ben", verified, false, []wire.Participant{ann},
			"ann can be asked [ben may be asked, and is not in the topic now] <nil>"},
		"he may not answer": {"ben", verified, false, []wire.Participant{ann, ben},
			"ben cannot be asked now [ben may be asked, but the gateway does not let ben send mcp/response, so no answer will come] <nil>"},
		"nobody verifies it is her": {"ann", unverified, false, []wire.Participant{ann},
			" [] ann cannot be asked, because this gateway does not verify who speaks; nobody else may decide, so calls that need a yes would be refused"},
		"nor that, and one is here": {"local, ann", unverified, false, []wire.Participant{ann},
			"those at this machine [ann will not be asked, because this gateway does not verify who speaks] <nil>"},
		"it is believed": {"ann", unverified, true, []wire.Participant{{ID: "ann"}}, "ann can be asked [] <nil>"},
	} {
		said, doubts, err := asking(t, c.of, c.trust).Approvers(c.here, c.in)
		if got := fmt.Sprint(said, " ", doubts, " ", err); got != c.want {
			t.Errorf("%s: %s\nwant %s", what, got, c.want)
		}
	}
}

func TestDoubtsAboutASeat(t *testing.T) {
	verified, unverified := dialects(t)
	for what, c := range map[string]struct {
		of, caps string
		in       wire.Dialect
		want     []string // what each begins with
	}{
		"all is well":               {"ann", `["mcp/*"]`, verified, nil},
		"questions are not for ann": {"ann", `[{"kind":"mcp/request","payload":{"method":"tools/*"}}]`, verified, []string{"what the gateway lets notes send has limits"}},
		"and nobody has to be":      {"local", `[{"kind":"mcp/request","payload":{"method":"tools/*"}}]`, verified, nil},
		"nobody verifies":           {"ann", `["mcp/*"]`, unverified, []string{"gateways that speak " + unverified.Protocol + " do not verify who speaks"}},
	} {
		got := asking(t, c.of, false).Doubts(wire.Participant{ID: "notes", Caps: sends(t, c.caps)}, c.in)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", what, got)
			continue
		}
		for i, begins := range c.want {
			if !strings.HasPrefix(got[i], begins) {
				t.Errorf("%s: %q", what, got[i])
			}
		}
	}
}
