package desktop

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// The card is an app of our own: a page in a client that shows apps, on which its person
// answers the questions that are put to this participant. It does what an elicitation of the
// client's does, and nothing more. Several things have to come together for an answer, and
// none of them is in what the client shows to its model:
//
//	the key     stands in the page, which the client reads for its frame
//	the ticket  is in the _meta of what mcpx_approvals answers, which the client gives to the
//	            page that it shows for that call, and to no other page
//	a nonce     is given to who has both, for one question, and good for one answer
//	the digest  of that question, which the card shows
//
// That its model cannot do what the page can, a client that shows apps promises (MCP Apps,
// "Visibility"). We cannot make sure of it: who doubts it leaves the card out (Config.Card).
//
// To the client the pages of all participants are those of one server, ours, and few clients
// hold a page to what its tools are for: another page could read ours, and call what it calls.
// So the card is closed as soon as a page of somebody else's has gone to the client.
const (
	cardURI    = "ui://mcpx/approvals"
	cardType   = "text/html;profile=mcp-app"
	cardTool   = "mcpx_card"
	answerTool = "mcpx_answer"
	cardTicket = "mcpx/card" // in _meta
)

const cardIsClosed = "pages of other participants were shown here, which could answer in your place: decide with the command mcpx-bridge approve; nothing was decided"

const cardIsLate = "this question is no longer asked; nothing was decided"

// maxCard is how many bytes of questions one answer to the card holds. Others follow when
// these are answered.
const maxCard = 4 * maxShown

var (
	//go:embed card/card.html
	cardHTML string
	//go:embed card/card.css
	cardCSS string
	//go:embed card/card.js
	cardJS string
)

// cardPage is the page, with a key. Nothing of a question is in it.
func cardPage(key string) string {
	return strings.NewReplacer("{{KEY}}", key, "{{CSS}}", cardCSS, "{{JS}}", cardJS, "{{STYLE}}", sourceOf(cardCSS), "{{SCRIPT}}", sourceOf(cardJS)).Replace(cardHTML)
}

// sourceOf is how a Content Security Policy names a script or style.
func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// appMeta is the _meta.ui of what belongs to the card.
func appMeta(ui any) map[string]any { return map[string]any{"ui": ui} }

// cardMeta is what the page may load, which is nothing, and how it likes to stand.
func cardMeta() map[string]any {
	return appMeta(map[string]any{"csp": map[string]any{}, "prefersBorder": true})
}

// cardEntry is the card in the list of resources.
func cardEntry() []byte {
	return compose(map[string]any{"uri": cardURI, "name": "mcpx_approvals", "title": "Questions for the person here", "mimeType": cardType, "_meta": cardMeta()})
}

// showsCard reports whether a request is of a client that has the card.
func (f *Proxy) showsCard(r *request) bool { return f.c.Card && r.apps }

// ticketTo gives the page that the client shows for a call its ticket.
func (f *Proxy) ticketTo(result *mcp.CallToolResult) {
	f.cardTicket = cmp.Or(f.cardTicket, f.c.NewID())
	result.Meta = mcp.NewMetaFromMap(map[string]any{cardTicket: f.cardTicket})
}

// closeFor closes the card if there is a page in what a peer answered: in what a tool gave, in
// a resource, or in the messages of a prompt.
func (f *Proxy) closeFor(from Pair, content, contents, messages []byte) {
	_, isPage := pageAddress(from.Name)
	if f.cardClosed || !isPage && !hasPage(content, "resource") && !hasPage(contents, "resource") && !hasPage(messages, "content", "resource") {
		return
	}
	f.cardClosed = true
	f.note("a page of " + clip(from.Peer, 80) + " went to the client, and could answer for its person: the card is closed until serve starts again")
}

// hasPage reports whether a thing, or one of a list, is or may be a page: by itself, or by what
// it has at the members within, each in the one before.
func hasPage(thing []byte, within ...string) bool {
	if len(thing) > 0 && thing[0] == '[' {
		for p := range rawjson.Parts(thing, 0) {
			if one := p.Of(thing); isObject(one) && hasPage(one, within...) {
				return true
			}
		}
	}
	if !isObject(thing) {
		return false
	}
	names := []string{"uri", "mimeType"}
	if len(within) > 0 {
		names = append(names, within[0])
	}
	at, err := peek(thing, names...)
	uri, _ := jsonrpc.Unquote(at[0])
	kind, _ := jsonrpc.Unquote(at[1])
	if _, isPage := pageAddress(uri); err != nil || isPage || strings.Contains(strings.ToLower(kind), "html") {
		return true
	}
	return len(within) > 0 && hasPage(at[2], within[1:]...)
}

func (f *Proxy) readCard(r *request) {
	f.cardKey = cmp.Or(f.cardKey, f.c.NewID())
	f.reply(r, compose(map[string]any{"contents": []any{map[string]any{"uri": cardURI, "mimeType": cardType, "text": cardPage(f.cardKey), "_meta": cardMeta()}}}))
}

// A cardQuestion is a question as the card gets it.
type cardQuestion struct {
	Digest string          `json:"digest"`
	Nonce  string          `json:"nonce"`
	Text   string          `json:"text"`
	Schema json.RawMessage `json:"schema"`
}

// answerCard gives the page the questions to us, oldest first.
func (f *Proxy) answerCard(r *request) *mcp.CallToolResult {
	at, err := pick(r.args, "key", "ticket")
	var given []string
	if err == nil {
		given, err = texts(at[0], at[1])
	}
	switch {
	case f.cardClosed:
		f.sorry(r, notThere, cardIsClosed)
		return nil
	case err != nil || f.cardKey == "" || f.cardTicket == "" || given[0] != f.cardKey || given[1] != f.cardTicket:
		f.sorry(r, notThere, "this card is of an earlier session; ask for the questions once more, or use the command mcpx-bridge approve")
		return nil
	}
	room := maxCard
	questions := []cardQuestion{}
	for _, q := range f.questions {
		if q.size() > min(maxShown, room) {
			continue
		}
		room -= q.size()
		q.nonce = cmp.Or(q.nonce, f.c.NewID())
		questions = append(questions, cardQuestion{q.Digest, q.nonce, q.Text, q.Schema()})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"questions": questions, "elsewhere": len(f.questions) - len(questions)}}
}

// answerAnswer takes the answer to one question, as a client's elicitation has it.
func (f *Proxy) answerAnswer(r *request) *mcp.CallToolResult {
	at, err := pick(r.args, "digest", "nonce", "answer")
	var given []string
	if err == nil {
		given, err = texts(at[0], at[1])
	}
	if err != nil {
		f.refuse(r, codeInvalidParams, answerTool+" takes digest and nonce, which are strings, and answer, which is an object", nil)
		return nil
	}
	if f.cardClosed {
		f.sorry(r, notThere, cardIsClosed)
		return nil
	}
	i := slices.IndexFunc(f.questions, func(q *question) bool {
		return q.nonce != "" && q.nonce == given[1] && q.Digest == given[0]
	})
	if i < 0 {
		f.sorry(r, notThere, cardIsLate)
		return nil
	}
	q := f.questions[i]
	q.nonce, q.card = "", r
	f.decide(q, orNothing(at[2]))
	return nil
}

// decided: it is known what became of an answer that was passed on, be it of the card or of a dialog.
func (f *Proxy) decided(ev Decided) {
	i := slices.IndexFunc(f.questions, func(q *question) bool { return q.ID == ev.ID })
	if i < 0 {
		return
	}
	q := f.questions[i]
	switch {
	case ev.Unsent != "":
		q.pause = max(againTime, 2*q.pause)
		q.again = f.clock.after(q.pause, func() { q.shown = false })
	case ev.Gone:
		f.endQuestion(q, notAsked)
	default:
		if ev.Others {
			q.said += "; others must agree too"
		}
		f.endQuestion(q, q.said)
	}
	if card := q.card; card != nil {
		q.card = nil
		f.answerOfCard(card, q, ev)
	}
}

// answerOfCard tells the card what came of its answer to a question.
func (f *Proxy) answerOfCard(r *request, q *question, ev Decided) {
	switch {
	case ev.Unsent != "":
		f.sorry(r, unavailable, "your answer could not be sent, and the question is asked still; nothing was decided: "+ev.Unsent)
	case ev.Gone:
		f.sorry(r, notThere, cardIsLate)
	default:
		f.note("the card in the client answered [" + q.Digest + "]: " + q.said)
		f.reply(r, plain(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"digest": q.Digest, "outcome": q.said}}))
	}
}
