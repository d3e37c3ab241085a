package channel

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Notice is what a channel tells of a question.
type Notice struct {
	ID       string        // the same whenever this is told again, and of no other notice
	Event    string        // asked, reminder or closed
	Question approval.View // as it may leave this machine; of one that is closed, as it was
	Left     time.Duration // of its time
	Link     string        // to the page where one answers; ""
	Command  string        // by which one answers at the bridge
	Because  string        // of one that is closed: how it ended
	By       string        // who decided
	Ref      string        // what Send returned for what was told of it before

	// Buttons says that one may answer here; Allow, which the channel sets, that it may be a yes:
	// all there is to the question is in the notice, and it takes no passkey.
	Buttons, Allow bool
}

// NoticeID is that of the notice of an event of a question, as it is now.
func NoticeID(v approval.View, event string) string { return v.ID + "-" + v.Short + "-" + event }

// maxTitle is how many characters the title has where one may answer.
const maxTitle = 250

// Title is what it is about, on one line of at most most characters.
func (n *Notice) Title(most int) string {
	title := n.Question.Headline
	switch n.Event {
	case "closed":
		title = text.Cut(n.Because, most/2) + ": " + title
	case "reminder":
		title = text.Span(n.Left.Round(time.Second)) + " left: " + title
	}
	return text.Cut(title, most-1)
}

// Body is all there is to say below the title, in at most most bytes.
func (n *Notice) Body(most int) string {
	if n.Event == "closed" {
		return text.Cut("["+n.Question.Short+"] "+n.Question.Tool+" from "+n.Question.From+": "+n.Because, most/4)
	}
	end := n.where()
	return cutBytes(n.what(), most-len(end)-len(cutMark)) + end
}

// Whole reports whether Body, and a title of maxTitle characters, leave nothing out that one should
// read before saying yes.
func (n *Notice) Whole(most int) bool {
	if len(n.Question.Arguments) == 0 && n.Question.Compact != "{}" {
		return false // they are too long for the topic, or hidden, and what there is of them is cut
	}
	for _, l := range n.Question.Arguments {
		if l.Cut || l.Whole != "" {
			return false
		}
	}
	if text.Cut(n.Question.Headline, maxTitle-1) != text.Line(n.Question.Headline) {
		return false
	}
	return n.Question.More == 0 && n.Question.BesideText == "" && len(n.what())+len(n.where())+len(cutMark) <= most
}

// offer sets Allow for where Body is shown in at most most bytes.
func (n *Notice) offer(most int) {
	n.Allow = n.Buttons && n.Question.Confirm == "" // if so Body says it, and Whole counts that
	n.Allow = n.Allow && n.Whole(most)
}

func (n *Notice) what() string {
	v := &n.Question
	var b strings.Builder
	for _, line := range v.Banner {
		b.WriteString("! " + line + "\n")
	}
	for _, l := range v.Arguments {
		b.WriteString(l.Name + " = " + l.Text + "\n")
	}
	if len(v.Arguments) == 0 && v.Compact != "" {
		b.WriteString(v.Compact + "\n")
	}
	if v.BesideText != "" {
		b.WriteString("Beside the arguments: " + v.BesideText + "\n")
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "… and %d more values\n", v.More)
	}
	for _, f := range v.Facts {
		if shown[f.Name] {
			b.WriteString(f.Name + ": " + f.Text + "\n")
		}
	}
	if says := v.ServerSays(); says != "" {
		b.WriteString("Server says: " + says + "\n")
	}
	return b.String()
}

// shown are the facts that a notice has.
var shown = map[string]bool{"Caller": true, "Warning": true, "The caller says": true, "The proposer says": true, "Proposed by": true,
	"Bridge": true, "Topic": true, "Rule": true, "Needs": true, "Confirmed": true, "Passed on": true, "Decide by": true}

// where says where one answers, and under which digest.
func (n *Notice) where() string {
	there := "at the bridge: " + n.Command
	if n.Link != "" {
		there = "at the bridge, in a browser: " + n.Link
	}
	switch {
	case !n.Buttons || !n.Allow:
	case n.Event == "reminder" && n.Ref != "":
		there = "above, or " + there
	default:
		there = "here, or " + there
	}
	return "Answer [" + n.Question.Short + "] " + there
}

const cutMark = "… (cut)\n"

// cutBytes is the beginning of a text of whole lines, or whole characters, with a mark where
// something is left out.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + cutMark
}

// JSON is the notice for programs, on one line: the members of the question, and event, notice
// (its id), link, because and by.
func (n *Notice) JSON() []byte {
	v := n.Question
	v.AboutPolicy = false // which is for our own surfaces
	out, err := json.Marshal(struct {
		approval.View
		Event   string `json:"event"`
		Notice  string `json:"notice"`
		Link    string `json:"link,omitempty"`
		Because string `json:"because,omitempty"`
		By      string `json:"by,omitempty"`
		LeftMS  int64  `json:"left_ms,omitempty"`
	}{v, n.Event, n.ID, n.Link, n.Because, n.By, n.Left.Milliseconds()})
	if err != nil {
		panic(err) // a View holds nothing that cannot be written, and its JSON was scanned before
	}
	return text.EscapeJSON(out)
}
