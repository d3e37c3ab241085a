package approval_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What the desk asks over the topic is read back by the one who is asked.
func TestElicitationIsReadBack(t *testing.T) {
	now := time.Now()
	d := approval.NewDesk(approval.Options{Random: random()})
	d.SetRedactor(&policy.Policy{})
	d.SetBelieved(true)
	d.SetHere(approval.Participant("alice"), true)
	_, acts := d.Open(now, approval.Question{Caller: "bob", Via: "request", Method: "tools/call", Tool: "deploy", Bridge: "fs", Topic: "lobby",
		About: "Deploy\x1b it", Hints: policy.Hints{Destructive: new(true)},
		Envelope: "e7", RPC: []byte("7"), Args: []byte(`{"target":"production","note":"a\u202eb"}`),
		Terms: policy.Terms{Of: []string{"alice"}, Need: 1, Within: time.Minute, Rules: []string{"deploys"}, Remember: []string{"session"},
			Delegate: &policy.Delegate{To: []string{"carol"}, Depth: 1},
			Edit:     []policy.Edit{{Field: "modifiedTarget", Arg: "/target", Title: "Target", Type: "string", Enum: []string{`"production"`, `"staging"`}}}}})
	show, ok := acts[0].(approval.Show)
	if !ok {
		t.Fatalf("%+v", acts)
	}
	q, err := approval.Elicit(now, "fs", "alice", show.Params)
	if err != nil {
		t.Fatal(err)
	}
	v := q.View
	if v.Digest != show.Digest.String() || v.Deadline != now.Add(time.Minute) || !q.View.Choice || !q.Delegate || !slices.Equal(q.DelegateTo, []string{"carol"}) || len(v.Remember) != 2 ||
		len(v.Edits) != 1 || v.Edits[0].Now != `"production"` || v.People[0] != (approval.Person{Who: "alice", State: "asked"}) {
		t.Errorf("%+v", q)
	}
	if v.Via != "request" || v.Rule != "deploys" || v.About != `Deploy\u{1b} it` || !slices.Equal(v.Hints, []string{policy.MayDestroy}) {
		t.Errorf("of why one is asked is read: %s, %s, %s, %q", v.Via, v.Rule, v.About, v.Hints)
	}
	for _, want := range []string{"bob requests permission to execute deploy", "Asked by: fs", `/target = "production"`, `/note = "a\u{202e}b"`, "! contains 1 direction"} {
		if !strings.Contains(v.Text(), want) {
			t.Errorf("%q is missing in\n%s", want, v.Text())
		}
	}
	r := approval.Reply{Allow: true, Fields: []approval.Entry{{Field: "modifiedTarget", Raw: []byte(`"staging"`)}}}
	acts = d.Answer(now, approval.Answer{Who: show.To, Corr: []string{show.Ask}, ID: show.RPC, Result: r.Result(q.View.Choice)})
	acts = d.Verified(now, acts[len(acts)-1].(approval.Verify).ID, "")
	if s, ok := acts[len(acts)-1].(approval.Settled); !ok || s.Outcome != approval.Allowed || !strings.Contains(string(s.Args), "staging") {
		t.Errorf("%+v", acts)
	}
}

// The examples of seed 003, as any bridge may write them.
func TestElicitationsOfOthers(t *testing.T) {
	now := time.Now()
	const seed = `{"message":"agent-a requests permission to execute 'dangerous_operation'","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve this tool call?","description":"Tool: dangerous_operation\nCaller: agent-a\nArguments: {target: 'production'}"},"reason":{"type":"string"}},"required":["approve"]},"metadata":{"elicitationType":"tool_approval"ORIGINAL}}`
	whole := strings.Replace(seed, "ORIGINAL", `,"originalRequest":{"from":"agent-a","tool":"dangerous_operation","arguments":{"target":"production"},"requestId":"original-req-123"}`, 1)
	q, err := approval.Elicit(now, "agent-b", "user-1", []byte(whole))
	if err != nil || q.View.Choice || q.Delegate || len(q.View.Edits) != 0 || q.View.Deadline != now.Add(5*time.Minute) || len(q.View.Short) != 8 {
		t.Fatalf("%+v, %v", q, err)
	}
	if q.View.Headline != "agent-a requests permission to execute dangerous_operation" || q.View.Arguments[0].Text != `"production"` {
		t.Errorf("%+v", q.View)
	}
	again, _ := approval.Elicit(now, "agent-b", "user-1", []byte(whole))
	other, _ := approval.Elicit(now, "agent-c", "user-1", []byte(whole))
	if again.Key != q.Key || other.Key == q.Key {
		t.Error("keys do not tell askers apart")
	}

	bare, err := approval.Elicit(now, "agent-b", "user-1", []byte(strings.Replace(seed, "ORIGINAL", "", 1)))
	if err != nil || !strings.Contains(bare.View.Text(), "It says: Arguments: {target: 'production'}") || !strings.Contains(bare.View.Text(), "Warning") {
		t.Errorf("%+v, %v", bare, err)
	}

	for _, digest := range []string{strings.Repeat("0a", 31), strings.Repeat("0a", 33), strings.Repeat("0A", 32), strings.Repeat("0a", 32)} {
		q, err := approval.Elicit(now, "agent-b", "user-1", []byte(strings.Replace(seed, "ORIGINAL", `,"digest":"`+digest+`"`, 1)))
		if taken := err == nil && q.View.Digest == digest; err != nil || taken != (digest == strings.Repeat("0a", 32)) {
			t.Errorf("digest %s: %s, %v", digest, q.View.Digest, err)
		}
	}
	for _, params := range []string{`{}`, `{"message":"your password?","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`,
		strings.Replace(seed, "tool_approval\"ORIGINAL", "chat\"", 1)} {
		if _, err := approval.Elicit(now, "agent-b", "user-1", []byte(params)); !errors.Is(err, approval.ErrNotApproval) {
			t.Errorf("%.60s: %v", params, err)
		}
	}
}

// What a peer says is never shown as our own question about the policy file, which hides what it
// does not know.
func TestNobodyInTheTopicAsksAboutThePolicyFile(t *testing.T) {
	for _, of := range []string{`"tool":"policy/reload"`, `"method":"policy/reload"`} {
		q, err := approval.Elicit(time.Now(), "fs", "alice", []byte(`{"message":"m","metadata":{"elicitationType":"tool_approval","originalRequest":{"from":"the policy file",`+of+
			`,"arguments":{"looser":["nothing much"],"file":"/srv/policy.yaml","sha256":"0f","run":"rm -rf /"}}}}`))
		if err != nil || q.View.AboutPolicy || q.View.From == approval.PolicyFile || !strings.Contains(q.View.Text(), `/run = "rm -rf /"`) {
			t.Errorf("%s: %v, %+v", of, err, q)
		}
	}
}

// "none" stood where the arguments were too long for the topic.
func TestArgumentsThatAreNotSentAreNotNone(t *testing.T) {
	for says, want := range map[string]string{`"argumentsBytes":25000`: "too long to be sent: 25000 bytes, not shown here", `"arguments":{}`: "{}"} {
		q, err := approval.Elicit(time.Now(), "fs", "alice", []byte(`{"message":"m","metadata":{"elicitationType":"tool_approval","originalRequest":{"from":"bob","tool":"rm",`+says+`}}}`))
		if err != nil || q.View.Compact != want || !strings.Contains(q.View.Text(), "\nArguments: "+want) {
			t.Errorf("%s: %v, %+v", says, err, q)
		}
	}
}

// What no person can be shown is not taken: 1 MiB of a long name before many values was gigabytes.
func TestAQuestionHasNoMoreThanAPersonIsShown(t *testing.T) {
	many := func(one string, n int) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	for _, c := range []struct {
		says string
		ok   bool
	}{
		{`"agreed":` + many(`"ann"`, 100), true},
		{`"agreed":` + many(`"ann"`, 101), false},
		{`"agreed":["` + strings.Repeat("a", 256) + `"]`, true},
		{`"agreed":["` + strings.Repeat("a", 257) + `"]`, false},
		{`"originalRequest":{"arguments":{"a":` + many("0", approval.MaxAskedValues-2) + `}}`, true},
		{`"originalRequest":{"arguments":{"a":` + many("0", approval.MaxAskedValues-1) + `}}`, false},
		{`"originalRequest":{"arguments":{"` + strings.Repeat("a", 600) + `":` + many("0", 10_000) + `}}`, true},
		{`"originalRequest":{"arguments":{"` + strings.Repeat("a", 1000) + `":` + many("0", 10_000) + `}}`, false},
		{`"originalRequest":{"beside":{"` + strings.Repeat("a", 1000) + `":` + many("0", 10_000) + `}}`, false},
	} {
		if q, err := approval.Elicit(time.Now(), "fs", "alice", []byte(`{"message":"m","metadata":{"elicitationType":"tool_approval","need":2,`+c.says+`}}`)); (err == nil) != c.ok {
			t.Errorf("%.60s…: %v, %v", c.says, err, q == nil)
		}
	}
}

// AI-15 holds for what others make of a question too.
func FuzzElicit(f *testing.F) {
	f.Add([]byte(`{"message":"x\u202e","requestedSchema":{"properties":{"approve":{"description":"a\nb"},"t":{"type":"string","enum":["\u0000"],"default":"\u0000"}}},"metadata":{"elicitationType":"tool_approval","timeout":1e999,"digest":"0","originalRequest":{"from":"b\u0007","tool":"t","arguments":{"a":[{}]}}}}`))
	f.Add([]byte(`{"requestedSchema":{"properties":[]},"metadata":{"elicitationType":"tool_approval"}}`))
	f.Add([]byte(`{"_meta":{"mcpx/approval":{"elicitationType":"tool_approval","timeout":-1}}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if jsonrpc.Scan(params, jsonrpc.Judged, nil, nil) != nil {
			return
		}
		q, err := approval.Elicit(time.Now(), "fs", "me", params)
		if err != nil {
			return
		}
		for line := range strings.Lines(q.View.Text()) {
			if got := text.Line(strings.TrimSuffix(line, "\n")); got != strings.TrimSuffix(line, "\n") {
				t.Errorf("%q is shown", line)
			}
		}
		for i := range q.View.Edits {
			q.View.Edits[i].Typed()
			q.View.Edits[i].Choices()
		}
	})
}

func random() func() [16]byte {
	n := byte(0)
	return func() [16]byte { n++; return [16]byte{n} }
}

// The client of a hosted server and that of a participant show the same question in the
// same words: what differs is what who is asked over the topic cannot know.
func TestClientsShowAQuestionInTheSameWords(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	d := approval.NewDesk(approval.Options{Random: random()})
	d.SetRedactor(&policy.Policy{})
	d.SetBelieved(true)
	d.SetHere(approval.Participant("alice"), true)
	d.SetHere(approval.Participant("carol"), true)
	_, acts := d.Open(now, approval.Question{Caller: "bob", Via: "request", Method: "tools/call", Tool: "deploy", Bridge: "fs", Topic: "lobby", Envelope: "e7", RPC: []byte("7"),
		Args: []byte(`{"target":"production","note":"a\u202eb"}`), About: "Deploy it", Hints: policy.Hints{Destructive: new(true)}, Terms: policy.Terms{Of: []string{"alice", "carol"}, Need: 2, Within: time.Minute, Rules: []string{"deploys"}}})
	show, _ := acts[0].(approval.Show)
	v, ok := d.ViewOf(now, show.ID, approval.Who{Door: approval.Host}, true)
	asked, err := approval.Elicit(now, "fs", "alice", show.Params)
	if !ok || err != nil {
		t.Fatalf("%v, %v", acts, err)
	}
	const both = `bob requests permission to execute deploy [SHORT]
It contains 1 direction-control character, shown as \u{…}
`
	for name, c := range map[string]struct{ got, want string }{
		"the host": {v.Dialog("").Text, both + `Tool: deploy
Caller: bob
Bridge: fs
Topic: lobby
Rule: deploys
Needs: 2 who agree
Decide by: 2026-01-01 12:01:00 UTC (in 1m0s)
Digest: SHORT
Server says: Deploy it; may destroy
Arguments:
  /target = "production"
  /note = "a\u{202e}b"`},
		"a participant": {asked.Dialog("lobby", []string{"carol"}).Text, both + `Asked by: fs
Tool: deploy
Caller: bob
Digest: SHORT
Topic: lobby
Decide by: 2026-01-01 12:01:00 UTC
Server says: Deploy it; may destroy
Why asked: rule deploys
Needs: 2 who agree
Arguments:
  /target = "production"
  /note = "a\u{202e}b"`},
		"asked again": {v.Dialog("the answer held no decision").Text, "Please answer again: the answer held no decision\n" + v.Dialog("").Text},
	} {
		if want := strings.ReplaceAll(c.want, "SHORT", v.Short); c.got != want {
			t.Errorf("%s is shown\n%s\nand not\n%s", name, c.got, want)
		}
	}
}

// Who has a question open hears when somebody else agrees, and whoever did how it ended: also
// whose yes decided it.
func TestWhoMustAgreeHearsOfTheOthers(t *testing.T) {
	now := time.Now()
	d := approval.NewDesk(approval.Options{Random: random()})
	d.SetBelieved(true)
	for _, who := range []string{"ann", "carol", "dave"} {
		d.SetHere(approval.Participant(who), true)
	}
	_, acts := d.Open(now, approval.Question{Caller: "bob", Via: "request", Method: "resources/read", Bridge: "fs", Topic: "lobby", Envelope: "e7",
		Terms: policy.Terms{Of: []string{"ann", "carol", "dave"}, Need: 2, Within: time.Minute}})
	ann, carol := acts[0].(approval.Show), acts[1].(approval.Show)
	q, err := approval.Elicit(now, "fs", "carol", carol.Params)
	if err != nil || q.View.Headline != "bob requests permission to read a resource" || strings.Contains(q.View.Text(), "It says: bob") {
		t.Fatalf("%v\n%s", err, q.View.Text())
	}
	agree := func(show approval.Show) []approval.Act {
		acts := d.Answer(now, approval.Answer{Who: show.To, Corr: []string{show.Ask}, ID: show.RPC, Result: []byte(`{"action":"accept","content":{"approve":true}}`)})
		return d.Verified(now, acts[len(acts)-1].(approval.Verify).ID, "")
	}
	told := map[string]string{}
	for _, a := range agree(ann) {
		if tally, is := a.(approval.Tally); is {
			told[tally.To.ID] = string(tally.Params)
		}
	}
	want := `{"requestId":` + string(carol.RPC) + `,"need":2,"agreed":["ann"]}`
	if len(told) != 2 || told["carol"] != want || told["dave"] == "" {
		t.Fatalf("they hear %q, carol is to hear %s", told, want)
	}
	v, ok := q.View.Tallied([]byte(want))
	if !ok || v.Need != 2 || v.Have != 1 || !slices.Equal(v.People, []approval.Person{{Who: "ann", State: "agreed"}, {Who: "carol", State: "asked"}, {Who: "dave", State: "asked"}}) {
		t.Errorf("carol reads %v, %+v", ok, v)
	}
	if at := q.View.People; q.View.Have != 0 || len(at) != 3 || at[1] != (approval.Person{Who: "ann", State: "asked"}) || at[2].Who != "dave" {
		t.Error("what was read before has changed")
	}
	for _, says := range []string{`{}`, `{"need":0,"agreed":["x"]}`, `{"need":2,"agreed":"x"}`, `7`} {
		if _, ok := q.View.Tallied([]byte(says)); ok {
			t.Errorf("%s says something", says)
		}
	}
	clear(told)
	for _, a := range agree(carol) {
		if c, is := a.(approval.Close); is {
			told[c.To.ID] += c.Because
		}
	}
	for _, who := range []string{"ann", "carol", "dave"} {
		if told[who] != "allowed by ann and carol" {
			t.Errorf("%s hears %q", who, told[who])
		}
	}
}

// Who is asked elsewhere reads what the person at the bridge does: why the proposer wants it, the
// arguments as they were written, and who else is asked; and then who decided, and their words.
func TestWhoIsAskedElsewhereReadsWhatIsReadAtTheBridge(t *testing.T) {
	now := time.Now()
	ann, local := approval.Participant("ann"), approval.Who{Door: approval.Local}
	for _, c := range []struct {
		by           approval.Who
		result, want string
		said         string
	}{
		{local, `{"action":"accept","content":{"approve":true,"reason":"fine"}}`, "allowed by the person at the bridge", "fine"},
		{ann, `{"action":"decline","content":{"reason":"not today"}}`, "denied by ann", "not today"},
	} {
		d := approval.NewDesk(approval.Options{Random: random()})
		d.SetBelieved(true)
		d.SetRedactor(&policy.Policy{})
		d.SetHere(ann, true)
		d.SetHere(local, true)
		_, acts := d.Open(now, approval.Question{Caller: "bob", Via: "proposal", Method: "tools/call", Tool: "write", Bridge: "fs", Topic: "lobby", Envelope: "e7",
			Args: []byte(`{"path": "/a", "content": "x"}`), Reason: "tidying up", Terms: policy.Terms{Of: []string{"local", "ann"}, Within: time.Minute}})
		here, there := acts[0].(approval.Show), acts[1].(approval.Show)
		q, err := approval.Elicit(now, "fs", "ann", there.Params)
		if err != nil {
			t.Fatal(err)
		}
		v := q.View
		for _, want := range []string{"The proposer says: \"tidying up\"\n", "Arguments:\n  /path = \"/a\"\n  /content = \"x\"\n"} {
			if !strings.Contains(v.Text(), want) {
				t.Errorf("%s\ndoes not say %q", v.Text(), want)
			}
		}
		if !slices.Equal(v.People, []approval.Person{{Who: "ann", State: "asked"}, {Who: "local", State: "asked"}}) {
			t.Errorf("asked: %+v", v.People)
		}
		answer := approval.Answer{Who: c.by, Corr: []string{there.Ask}, ID: there.RPC, Result: []byte(c.result)}
		if c.by == local {
			answer = approval.Answer{Who: c.by, Question: here.ID, Digest: here.Digest.String(), Result: []byte(c.result)}
		}
		acts = d.Answer(now, answer)
		if verify, is := acts[len(acts)-1].(approval.Verify); is {
			acts = d.Verified(now, verify.ID, "")
		}
		told := 0
		for _, a := range acts {
			if closed, is := a.(approval.Close); is && closed.To != c.by {
				told++
				if closed.Because != c.want || closed.Said != c.said {
					t.Errorf("%s reads %q, %q", closed.To, closed.Because, closed.Said)
				}
			}
		}
		if told != 1 {
			t.Errorf("%d were told: %+v", told, acts)
		}
	}
}

// Who is asked in the topic, and sees the question by a client of ours, reads where a yes counts
// before giving one that does not.
func TestWhoIsAskedByTopicReadsThatAYesTakesAPasskey(t *testing.T) {
	now := time.Now()
	d := approval.NewDesk(approval.Options{Random: random()})
	d.SetRedactor(&policy.Policy{})
	d.SetBelieved(true)
	d.SetHere(approval.Participant("alice"), true)
	d.SetHere(approval.Who{Door: approval.Local}, true)
	_, acts := d.Open(now, approval.Question{Caller: "bob", Via: "request", Method: "tools/call", Tool: "deploy", Bridge: "fs", Topic: "lobby", Envelope: "e7", RPC: []byte("7"),
		Args: []byte(`{"target":"production"}`), Terms: policy.Terms{Of: []string{"alice", "local"}, Need: 1, Within: time.Minute, Confirm: policy.Passkey, Remember: []string{"once"}}})
	for _, a := range acts {
		show, is := a.(approval.Show)
		if !is || show.To.ID != "alice" {
			continue
		}
		q, err := approval.Elicit(now, "fs", "alice", show.Params)
		if err != nil {
			t.Fatal(err)
		}
		if q.View.Confirm != policy.Passkey || !strings.Contains(q.View.Text(), approval.TakesPasskey) {
			t.Errorf("confirm is %q in\n%s", q.View.Confirm, q.View.Text())
		}
		return
	}
	t.Fatalf("alice is not asked: %+v", acts)
}
