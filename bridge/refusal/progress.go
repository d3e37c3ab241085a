package refusal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Progress is a word of progress as it arrives at a caller, or at who looks on: what a server
// counts, or what its bridge says of a call that people decide about or that waits for the
// server to start.
type Progress struct {
	Token   []byte // raw, as the caller wrote it; nil: there is none
	Message string
	Ours    bool // a bridge says so, and not the server, whose words could be the same

	counted, total json.Number
	about          about
}

// about is what a bridge says to programs.
type about struct {
	Waiting  bool     `json:"waiting"`
	Digest   string   `json:"digest"`
	Of       []string `json:"of"`
	Need     int      `json:"need"`
	Left     float64  `json:"left_ms"`
	Halted   bool     `json:"halted"`
	Starting bool     `json:"starting"`
	Seconds  uint32   `json:"seconds"`
}

// HearProgress reads the params of notifications/progress, and reports whether they are some.
// Of what a bridge says to programs, what cannot be read is left out.
func HearProgress(params []byte) (p Progress, ok bool) {
	var said struct {
		Token           json.RawMessage `json:"progressToken"`
		Progress, Total json.Number
		Message         string
		Meta            struct {
			Approval json.RawMessage `json:"mcpx/approval"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &said) != nil {
		return p, false
	}
	p = Progress{Token: said.Token, Message: said.Message, counted: said.Progress, total: said.Total}
	if said.Meta.Approval != nil && string(said.Meta.Approval) != "null" {
		p.Ours, p.about = true, hearAbout(said.Meta.Approval)
	}
	return p, true
}

// HearStart reads the params of a bridge's word to who has asked for no progress: that the
// server is starting.
func HearStart(params []byte) Progress {
	p := Progress{Ours: true, about: hearAbout(params)}
	p.about.Starting = true
	return p
}

func hearAbout(raw []byte) (a about) {
	if json.Unmarshal(raw, &a) != nil {
		return about{}
	}
	return a
}

// Line says it in one line, what the server says as that of whom it is; it is not made safe to
// show.
func (p *Progress) Line(from string) string {
	line := string(p.counted)
	if n, err := p.counted.Float64(); err == nil && n >= 0 && n < 1e-6 {
		line = "0" // raised above what was said while people decided
	}
	switch {
	case p.total != "":
		line += "/" + string(p.total)
	case p.Message != "":
		line = "" // what is counted, and how far it goes, nobody says
	}
	line = strings.TrimSpace(line + " " + p.Message)
	if !p.Ours {
		line = from + ": " + line
	}
	return line
}

// Starting is that the server is starting, in words, and for how long; "" if it does not say so.
func (p *Progress) Starting() string {
	switch {
	case !p.about.Starting:
		return ""
	case p.about.Seconds == 0:
		return "starting"
	}
	return fmt.Sprintf("starting, %d s", p.about.Seconds)
}

// Undecided reports whether it says that people have not decided.
func (p *Progress) Undecided() bool { return p.about.Waiting }

// Waiting is who decides about which question. It is false for what does not say that.
func (p *Progress) Waiting(now time.Time) (Waiting, bool) {
	if !p.about.Waiting || p.about.Digest == "" {
		return Waiting{}, false
	}
	left := time.Duration(max(0, min(p.about.Left, float64(policy.MaxQuestion.Milliseconds())))) * time.Millisecond
	return Waiting{Of: p.about.Of, Need: p.about.Need, Digest: p.about.Digest, Until: now.Add(left), Halted: p.about.Halted}, true
}
