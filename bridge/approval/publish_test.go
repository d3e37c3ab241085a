package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What the topic may see was made anew for each of those who were asked, and again
// whenever the link came back: with long arguments, everybody waited (FINDINGS M3).
func TestWhatTheTopicSeesIsMadeOnceForAll(t *testing.T) {
	s := newStage(t, Options{})
	made := 0
	s.hide = func(args []byte) []byte { made++; return args }
	names := []string{}
	for i := range 20 {
		names = append(names, fmt.Sprint("p", i))
		s.d.SetHere(Participant(names[i]), true)
	}
	q := deploy(names...)
	q.Terms.Need = 2
	s.open(q)
	s.did(s.d.Reask(s.now))
	s.did(s.d.Joined(s.now, Participant("p3")))
	if made != 1 {
		t.Errorf("it was made %d times", made)
	}
	for who, how := range map[string]string{"p3": "rejoined", "p4": "reconnected"} {
		if a := s.shown(who); a.Why != how || !bytes.Contains(a.Params, []byte(`"arguments":{"target":"production"}`)) {
			t.Errorf("%s was shown %s", who, a.Params)
		}
	}
}

// It is made anew when the arguments are others, or others of them are hidden.
func TestWhatTheTopicSeesIsNeverThatOfBefore(t *testing.T) {
	s := newStage(t, Options{})
	q := deploy("alice", "carol", "dave")
	q.Terms.Need = 2
	id := s.open(q)
	s.says("alice", `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`)
	if a := s.shown("carol"); a.Why != "edited" || bytes.Contains(a.Params, []byte(`"target":"production"`)) || !bytes.Contains(a.Params, []byte(`"target":"staging"`)) {
		t.Errorf("carol was shown %s", a.Params)
	}
	s.hide = func([]byte) []byte { return []byte(`{"target":"[redacted]"}`) }
	s.did(s.judged(verdict(policy.Allow)))
	s.now = s.now.Add(time.Second)
	s.did(s.d.Reask(s.now))
	if a := s.shown("carol"); a.Why != "reconnected" || bytes.Contains(a.Params, []byte(`"target":"staging"`)) || !bytes.Contains(a.Params, []byte(`[redacted]`)) {
		t.Errorf("carol was shown %s", a.Params)
	}
	if v, ok := s.d.View(s.now, id, true); !ok || !strings.Contains(v.Compact, "staging") {
		t.Error("the person at this machine does not see what it is now")
	}
}

// What a request names stood in the title and the facts as it came, beside arguments that hid it.
func TestWhatARequestNamesIsHiddenWithItsArguments(t *testing.T) {
	const secret = "file:///x?sig=SECRET"
	s := newStage(t, Options{})
	s.hide = func([]byte) []byte { return []byte(`{"uri":"[redacted]"}`) }
	q := writeFile("alice", "local")
	q.Method, q.Tool, q.Args = "resources/read", "", []byte(`{"uri":"`+secret+`"}`)
	id := s.open(q)
	public, _ := s.d.PublicView(s.now, id)
	told, _ := json.Marshal(public)
	for whom, what := range map[string]string{"alice": string(s.shown("alice").Params), "the public": string(told)} {
		if strings.Contains(what, "SECRET") || !strings.Contains(what, "Resource") || !strings.Contains(what, "[redacted]") {
			t.Errorf("%s reads %s", whom, what)
		}
	}
	if public.Tool != "resources/read [redacted]" {
		t.Errorf("it is called %q", public.Tool)
	}
	if v, _ := s.d.View(s.now, id, true); v.Tool != "resources/read "+secret || !strings.Contains(v.Text(), "Resource: "+secret) {
		t.Errorf("the person at this machine reads\n%s", v.Text())
	}
	s.d.SetRedactor(nil)
	s.did(s.judged(verdict(policy.Allow)))
	if v, _ := s.d.PublicView(s.now, id); v.Tool != "resources/read" || strings.Contains(v.Text(), "Resource") {
		t.Errorf("where nothing may be seen, the public reads\n%s", v.Text())
	}
}
