package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A transcript is one file of testdata: an envelope in neutral terms, then a
// section per dialect. A section named by a protocol string alone is the frame
// that is written for the envelope and is read as it. Further sections say
//
//	(reads)     another frame that is read as the envelope
//	(writes)    a frame that loses something, so only writing is tried
//	(cannot)    why the dialect has no word for it
//	(as STYLE)  the frame that is written in a style, read with the same meaning
type transcript struct {
	Kind     string
	Spelled  string
	ID       string
	TS       string
	From     string
	To       []string
	Corr     []string
	Method   string
	Key      string
	Context  string
	Text     string // of a chat
	Topic    string // from here on: frames of the gateway
	You      *member
	Peers    []member
	History  []string
	Event    string
	Who      *member
	Fault    *wire.Fault
	Notice   string
	Caps     json.RawMessage
	Payload  []byte `json:"-"`
	sections []section
}

type member struct {
	ID   string
	Caps json.RawMessage
}

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	tr := load(t, file)
	told := map[string]bool{}
	for _, s := range tr.sections {
		protocol, mode, _ := strings.Cut(s.Name, " ")
		d, ok := wire.Lookup(protocol)
		if !ok {
			t.Fatalf("section %q is of no dialect", s.Name)
		}
		told[protocol] = true
		frame := []byte(s.Text)
		switch mode {
		case "":
			tr.write(t, d, frame)
			tr.read(t, d, frame)
		case "(reads)":
			tr.read(t, d, frame)
		case "(writes)":
			tr.write(t, d, frame)
		case "(as seed000)", "(as seed001)", "(as seed002)", "(as v2)", "(as chat)":
			tr.style(t, d, strings.TrimSuffix(strings.TrimPrefix(mode, "(as "), ")"), frame)
		case "(cannot)":
			if got, err := d.Append(nil, tr.envelope(t), wire.Caps{}); err != wire.ErrInexpressible || len(got) != 0 {
				t.Errorf("%s: wrote %s, %v; want ErrInexpressible", s.Name, got, err)
			}
		default:
			t.Fatalf("section %q says nothing known", s.Name)
		}
	}
	for _, d := range wire.Dialects {
		if !told[d.Protocol] {
			t.Errorf("no section for %s", d.Protocol)
		}
	}
}

// A section is one file of a txtar archive.
type section struct{ Name, Text string }

func load(t *testing.T, file string) *transcript {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	about, sections := archive(string(text))
	if strings.TrimSpace(about) == "" || len(sections) < 2 || sections[0].Name != "envelope" {
		t.Fatal("want a word about what it shows and an envelope first")
	}
	tr := &transcript{sections: sections[1:]}
	dec := json.NewDecoder(strings.NewReader(sections[0].Text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(tr); err != nil {
		t.Fatal(err)
	}
	if tr.sections[0].Name == "payload" {
		tr.Payload, tr.sections = []byte(tr.sections[0].Text), tr.sections[1:]
	}
	return tr
}

// archive splits a txtar archive. No section here ends in more than one newline.
func archive(text string) (about string, sections []section) {
	for line := range strings.Lines(text) {
		name, begins := strings.CutPrefix(line, "-- ")
		if name, ok := strings.CutSuffix(name, " --\n"); begins && ok {
			sections = append(sections, section{Name: name})
		} else if n := len(sections); n > 0 {
			sections[n-1].Text += line
		} else {
			about += line
		}
	}
	for i := range sections {
		sections[i].Text = strings.TrimSuffix(sections[i].Text, "\n")
	}
	return about, sections
}

func (tr *transcript) envelope(t *testing.T) *wire.Envelope {
	for k := wire.Unknown; k <= wire.Stream; k++ {
		if k.String() == tr.Kind {
			e := &wire.Envelope{Kind: k, Spelled: tr.Spelled, ID: tr.ID, TS: tr.TS, From: tr.From, To: tr.To, Corr: tr.Corr,
				Method: tr.Method, Key: tr.Key, Payload: tr.Payload}
			if tr.Context != "" {
				e.Context, _ = json.Marshal(tr.Context)
			}
			return e
		}
	}
	t.Fatalf("no kind is called %q", tr.Kind)
	return nil
}

func (m member) participant(t *testing.T) wire.Participant {
	return wire.Participant{ID: m.ID, Caps: caps(t, m.Caps)}
}

func caps(t *testing.T, raw []byte) wire.Caps {
	c, err := wire.ParseCaps(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (tr *transcript) write(t *testing.T, d wire.Dialect, want []byte) {
	t.Helper()
	got, err := tr.append(t, d, []byte("kept"))
	if err != nil {
		t.Fatalf("%s: %v", d.Protocol, err)
	}
	if got, ok := bytes.CutPrefix(got, []byte("kept")); !ok || !bytes.Equal(got, want) {
		t.Errorf("%s: wrote\n%s\nwant\n%s", d.Protocol, got, want)
	}
}

// style writes the envelope in a style and reads it back. The payload may say
// it in other words, so what it means is compared.
func (tr *transcript) style(t *testing.T, d wire.Dialect, name string, want []byte) {
	t.Helper()
	e := tr.envelope(t)
	e.Style, _ = wire.ParseStyle(name)
	got, err := d.Append(nil, e, wire.Caps{})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s as %s: %v, wrote\n%s\nwant\n%s", d.Protocol, name, err, got, want)
	}
	back, err := d.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if spelled, err := d.Spelling(e, wire.Caps{}); err != nil || spelled != back.Spelled {
		t.Errorf("%s as %s: says it would write %q, %v; writes %q", d.Protocol, name, spelled, err, back.Spelled)
	}
	if name == "chat" {
		return
	}
	if back.Kind != e.Kind || back.From != e.From || !slices.Equal(back.Corr, e.Corr) || meaning(&back) != meaning(e) {
		t.Errorf("%s as %s: read as a %s from %q about %q that means %+v, want %+v", d.Protocol, name, back.Kind, back.From, back.Corr, meaning(&back), meaning(e))
	}
}

// meaning is what a frame about a proposal says, whatever its spelling.
func meaning(e *wire.Envelope) [4]string {
	end, _ := e.Ending()
	stand, _ := e.Standing()
	return [4]string{e.Method + e.Key, end.Of + " " + end.Reason + " " + end.Detail, stand.Of + " " + stand.State, stand.Reason}
}

func (tr *transcript) append(t *testing.T, d wire.Dialect, dst []byte) ([]byte, error) {
	switch {
	case tr.You != nil:
		w := wire.Welcome{You: tr.You.participant(t)}
		for _, m := range tr.Peers {
			w.Peers = append(w.Peers, m.participant(t))
		}
		var history [][]byte
		for _, frame := range tr.History {
			history = append(history, []byte(frame))
		}
		return d.AppendWelcome(dst, tr.ID, tr.TS, tr.Topic, w, history), nil
	case tr.Who != nil:
		return d.AppendPresence(dst, tr.ID, tr.TS, tr.Event, tr.Who.participant(t)), nil
	case tr.Fault != nil:
		f := *tr.Fault
		f.Trigger, f.Caps = tr.Corr, caps(t, tr.Caps)
		return d.AppendFault(dst, tr.ID, tr.TS, tr.To[0], f), nil
	}
	return d.Append(dst, tr.envelope(t), wire.Caps{})
}

func (tr *transcript) read(t *testing.T, d wire.Dialect, frame []byte) {
	t.Helper()
	before := bytes.Clone(frame)
	e, err := d.Decode(frame)
	if err != nil {
		t.Errorf("%s: %v\n%s", d.Protocol, err, frame)
		return
	}
	if !bytes.Equal(before, frame) {
		t.Errorf("%s: reading changed the frame", d.Protocol)
	}
	want := tr.envelope(t)
	if e.Kind != want.Kind {
		t.Fatalf("%s: a %s, want a %s\n%s", d.Protocol, e.Kind, want.Kind, frame)
	}
	switch {
	case tr.You != nil:
		tr.readWelcome(t, d, &e)
	case tr.Who != nil:
		tr.readPresence(t, d, &e)
	case tr.Notice != "":
		if f, err := e.Fault(); err != nil || !strings.HasSuffix(f.Message, tr.Notice) || e.From != "" {
			t.Errorf("%s: %+v, %v; want %q", d.Protocol, f, err, tr.Notice)
		}
	case tr.Fault != nil:
		tr.readFault(t, d, &e)
	default:
		tr.readEnvelope(t, d, &e, want)
	}
}

func (tr *transcript) readEnvelope(t *testing.T, d wire.Dialect, e, want *wire.Envelope) {
	t.Helper()
	if e.Kind == wire.Response && !strings.Contains(e.Spelled, "tools/call") && !strings.Contains(e.Spelled, "elicitation/create") {
		want.Method, want.Key = "", "" // said in the kind or not at all
	}
	if e.Kind == wire.Withdraw && e.Spelled == "mcp" {
		e.Payload = want.Payload
	}
	if want.Spelled != "" && e.Spelled != want.Spelled {
		t.Errorf("%s: spelled %q, want %q", d.Protocol, e.Spelled, want.Spelled)
	}
	for _, m := range []struct{ name, got, want string }{
		{"id", e.ID, want.ID}, {"ts", e.TS, want.TS}, {"from", e.From, want.From}, {"method", e.Method, want.Method},
		{"key", e.Key, want.Key}, {"context", string(e.Context), string(want.Context)}, {"payload", string(e.Payload), string(want.Payload)},
		{"text", e.ChatText(), tr.Text},
	} {
		if m.got != m.want {
			t.Errorf("%s: %s is %q, want %q", d.Protocol, m.name, m.got, m.want)
		}
	}
	if !slices.Equal(e.To, want.To) || !slices.Equal(e.Corr, want.Corr) {
		t.Errorf("%s: to %q links %q, want %q and %q", d.Protocol, e.To, e.Corr, want.To, want.Corr)
	}
	if carries := slices.Contains([]wire.Kind{wire.Request, wire.Response, wire.Notification, wire.Proposal}, e.Kind); carries != (e.Message.Raw != nil) {
		t.Errorf("%s: a %s with the message %q", d.Protocol, e.Kind, e.Message.Raw)
	}
	if loose := bytes.Contains(e.Payload, []byte(`"deep"`)); e.Loose != loose {
		t.Errorf("%s: Loose is %v", d.Protocol, e.Loose)
	}
}

func (tr *transcript) readWelcome(t *testing.T, d wire.Dialect, e *wire.Envelope) {
	t.Helper()
	w, err := e.Welcome()
	if err != nil {
		t.Fatalf("%s: %v", d.Protocol, err)
	}
	got, want := append(w.Peers, w.You), append(slices.Clone(tr.Peers), *tr.You)
	if len(got) != len(want) {
		t.Fatalf("%s: %d participants, want %d", d.Protocol, len(got), len(want))
	}
	for i := range want {
		sameMember(t, d, got[i], want[i])
	}
}

// sameMember compares capabilities by what they permit, as dialects write them
// differently. A dialect may leave them out, then nothing is stated.
func sameMember(t *testing.T, d wire.Dialect, got wire.Participant, want member) {
	t.Helper()
	if got.ID != want.ID {
		t.Errorf("%s: somebody is %q, want %q", d.Protocol, got.ID, want.ID)
	}
	if !got.Caps.Stated() {
		return
	}
	meant := caps(t, want.Caps)
	for _, e := range []wire.Envelope{
		{Kind: wire.Chat}, {Kind: wire.Response, Method: "tools/call", Key: "x"}, {Kind: wire.Reject},
		{Kind: wire.Request, Method: "tools/list", Payload: []byte(`{"method":"tools/list"}`)},
		{Kind: wire.Request, Method: "tools/call", Key: "read_file", Payload: []byte(`{"method":"tools/call","params":{"name":"read_file"}}`)},
		{Kind: wire.Request, Method: "tools/call", Key: "write_file", Payload: []byte(`{"method":"tools/call","params":{"name":"write_file"}}`)},
		{Kind: wire.Proposal, Method: "tools/call", Key: "x", Payload: []byte(`{"method":"tools/call","params":{"name":"x"}}`)},
	} {
		if g, w := got.Caps.Permits(&e), meant.Permits(&e); g != w {
			t.Errorf("%s: %s may send %s %s %s: %v, want %v", d.Protocol, got.ID, e.Kind, e.Method, e.Key, g, w)
		}
	}
}

func (tr *transcript) readPresence(t *testing.T, d wire.Dialect, e *wire.Envelope) {
	t.Helper()
	event, who, err := e.Presence()
	if err != nil || event != tr.Event {
		t.Fatalf("%s: event %q, %v; want %q", d.Protocol, event, err, tr.Event)
	}
	sameMember(t, d, who, *tr.Who)
}

func (tr *transcript) readFault(t *testing.T, d wire.Dialect, e *wire.Envelope) {
	t.Helper()
	f, err := e.Fault()
	if err != nil || f.Code != tr.Fault.Code || f.Message != tr.Fault.Message || !slices.Equal(f.Trigger, tr.Corr) {
		t.Errorf("%s: %+v, %v; want %+v about %q", d.Protocol, f, err, *tr.Fault, tr.Corr)
	}
	if f.AttemptedKind != "" && f.AttemptedKind != tr.Fault.AttemptedKind {
		t.Errorf("%s: attempted kind %q, want %q", d.Protocol, f.AttemptedKind, tr.Fault.AttemptedKind)
	}
}
