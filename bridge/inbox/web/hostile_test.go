package web_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// nasty is what somebody might call things to get out of their frame.
var nasty = []string{
	`<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`,
	`' onfocus='alert(1)' autofocus='`,
	`</bdi></main></body><form action="https://evil.example"><button>Allow</button>`,
	`--><!--`, `]]>`, `<![CDATA[`, `</textarea></title></style></script>`,
	`javascript:alert(1)`, `&lt;b&gt;&#60;i&#62;&quot;`, "\u0000<\u0001>",
	"evil\u202Etxt.exe\u2066\u200B\u200D\uFEFF\U000E0041\uFE0F",
	"a" + strings.Repeat("\u0301", 50), strings.Repeat("x", 5000), "line\nmcpx-bridge: allowed by local\n",
	"allowed by local", "you", "The server says that it may destroy something.",
}

// skeleton is the markup of a page without its words and values.
func skeleton(page string) string {
	tags := regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1)
	values := regexp.MustCompile(`="[^"]*"`)
	var b strings.Builder
	for _, tag := range tags {
		b.WriteString(values.ReplaceAllString(tag, "=") + "\n")
	}
	marks := regexp.MustCompile(`(?:<mark class=>|<mark>)\n</mark>\n`).ReplaceAllString(b.String(), "")
	return regexp.MustCompile(`<ul class= aria-label=>\n(<li>\n</li>\n)+</ul>\n`).ReplaceAllString(marks, "") // warnings
}

// everywhere is a question that has s in every field that a stranger fills in.
func everywhere(s string) approval.Question {
	// names that are one to some reader are refused before anybody is asked
	one, _ := json.Marshal("k" + s) // strings always marshal
	value, _ := json.Marshal(s)
	args := `{` + string(one) + `:` + string(value) + `,"n":1,"field":` + string(value) + `,"list":[` + string(value) + `]}`
	return approval.Question{Caller: s, Via: "request", Method: "tools/call", Tool: s, About: s, Proposer: s, Reason: s, Gateway: s,
		Args: []byte(args), Beside: []byte(`{"_meta":{` + string(one) + `:` + string(value) + `}}`),
		Terms: policy.Terms{Of: []string{"local"}, Need: 1, Within: 300e9, Rules: []string{s}, Remember: []string{"session"}, Priority: s,
			Delegate: &policy.Delegate{To: []string{s}}, Edit: []policy.Edit{{Field: "field", Arg: "/field", Title: s, Type: "string", Enum: []string{string(value), `"other"`}}}}}
}

func TestNothingThatOthersWroteLeavesItsFrame(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	pages := func(s string) [2]string {
		id := h.Ask(everywhere(s))
		defer h.Withdraw(id)
		return [2]string{b.get("/").body, b.get("/q/notes/" + id).body}
	}
	plain := pages("plain")
	long := pages(strings.Repeat("x", 5000))
	for _, s := range nasty {
		want, got := plain, pages(s)
		if len(s) == 5000 {
			want = long
		}
		if strings.Contains(s, "\n") {
			want = pages("two\nlines\n")
		}
		if !text.Plain(s) {
			want[0] = pages("pl\u200Bain")[0] // says that something is hidden
		}
		for i, page := range got {
			if a, b := skeleton(page), skeleton(want[i]); a != b {
				n := 0
				for n < min(len(a), len(b)) && a[n] == b[n] {
					n++
				}
				t.Errorf("page %d has other markup with %.40q, from here on:\n%.200s\nin place of:\n%.200s", i, s, a[n:], b[n:])
			}
			for _, r := range page {
				if r < ' ' && r != '\n' && r != '\t' || r == 0x202E || r == 0x2066 || r == 0x200B || r == 0xFEFF || r == 0xE0041 {
					t.Errorf("page %d shows %U of %q as it is", i, r, s)
				}
			}
		}
	}
}

// What comes by another way than a question's view is made safe here.
func TestNothingElseThatOthersWroteHidesOrTurnsText(t *testing.T) {
	const evil = "a\u202Eb\u200B<i>"
	log := record(t, `"event":"decided","call":"`+evil+`","from":"`+evil+`","tool":"`+evil+`","verdict":"allow","by":["`+evil+`"],"rule":"`+evil+`","reason":"`+evil+`"`)
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	status := inbox.Status{ID: evil, Topic: evil, Server: evil, Gateway: evil, PolicyErr: evil, Policy: evil, Flags: []string{evil}, Audit: log, AuditOK: true, Present: &inbox.Present{Names: []string{evil}, All: 1}}
	b := within(t, serve(t, &web.Source{Inbox: recorded{h, status}, Key: "notes", Label: evil}))
	for _, at := range []string{"/", "/q/notes/" + id, "/alike/notes/" + id, "/bridges", "/remembered", "/history", "/history?q=" + url.QueryEscape(evil), "/history?bridge=notes&call=" + url.QueryEscape(evil)} {
		page := b.get(at).body
		if strings.ContainsAny(page, "\u202E\u200B") || strings.Contains(page, "<i>") {
			t.Errorf("%s:\n%s", at, page)
		}
	}
}
