package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// A lounge is where those sit who have the topic by serve, in clients that show its card.
type lounge struct {
	w  *company
	of map[string]*card // by whose it is
}

// A card is the page on which somebody answers. What comes of an answer the bridge's own code says;
// the seat that serve has for them, with what it has heard of questions, is here.
type card struct {
	lounge *lounge
	w      *company
	who    *person
	dice   dice
	proxy  *desktop.Proxy

	key, ticket string // what the page has
	open        []*rung
	shown       map[string]*rung // by the nonce with which that may be answered
	words       []cardWord       // that were meant to be said
	spent       map[string]bool  // nonces
	closed      bool             // a page of somebody else's is in the client

	turns     int
	reply     cardReply // to what the client asked last
	answering bool
	sent      *rung  // what was answered thereby
	result    []byte // and how
}

// A cardWord is an answer on a card, and how it is meant.
type cardWord struct {
	digest, nonce, text string
	yes                 bool
	to, amount          string
}

// A cardReply is a line to the client.
type cardReply struct {
	ID     json.RawMessage
	Result struct {
		Content           json.RawMessage
		StructuredContent json.RawMessage
		Meta              map[string]json.RawMessage `json:"_meta"`
		Contents          []struct{ Text string }
	}
}

const cardClient = `{"protocolVersion":"2025-06-18","capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}},"clientInfo":{"name":"c","version":"1"}}`

var cardKey = regexp.MustCompile(`name="?mcpx-key"? content="([^"]+)"`)

// hears tells the client of somebody what is put to them, and they answer there: late, twice, or wrong.
func (lo *lounge) hears(p *person, l *letter) {
	if !lo.w.o.Faults[onCard] {
		return
	}
	cd := lo.of[p.id]
	if cd == nil {
		cd = lo.open(p)
	}
	switch l.Payload.Method {
	case "elicitation/create":
		cd.asked(l)
	case "notifications/cancelled":
		var of struct{ RequestID json.RawMessage }
		json.Unmarshal(l.Payload.Params, &of)
		cd.ends(func(r *rung) bool { return bytes.Equal(r.Payload.ID, of.RequestID) })
	}
}

// open has the client of somebody show its card.
func (lo *lounge) open(p *person) *card {
	ids := newDice(lo.w.o.Seed, "nonces of "+p.id)
	cd := &card{lounge: lo, w: lo.w, who: p, dice: newDice(lo.w.o.Seed, "card of "+p.id), shown: map[string]*rung{}, spent: map[string]bool{}}
	cd.proxy = desktop.New(desktop.Config{Version: "sim", Card: true, NewID: func() string { return fmt.Sprintf("%x", ids.random()) }})
	lo.of[p.id] = cd
	cd.step(desktop.Seated{Me: p.id, Topic: "lobby", Peers: []desktop.Peer{{ID: us}}})
	cd.request("initialize", cardClient)
	cd.request("resources/read", `{"uri":"ui://mcpx/approvals"}`)
	cd.key = cardKey.FindStringSubmatch(cd.reply.Result.Contents[0].Text)[1]
	cd.toModel()
	json.Unmarshal(cd.reply.Result.Meta["mcpx/card"], &cd.ticket)
	return cd
}

// step lets the client's side of serve know something, and carries out what it wants.
func (cd *card) step(ev desktop.Event) {
	for todo := []desktop.Event{ev}; len(todo) > 0; {
		acts := cd.proxy.Step(begin.Add(cd.w.now), todo[0])
		todo = todo[1:]
		for _, a := range acts {
			switch a := a.(type) {
			case desktop.WriteClient:
				json.Unmarshal(a.Line, &cd.reply)
			case desktop.Ask:
				todo = append(todo, desktop.Answered{Ref: a.Ref, Result: fromPeer(a.Method)})
			case desktop.Decide:
				todo = append(todo, cd.decided(a)...)
			}
		}
	}
}

// fromPeer is what the bridge has for a client: no tool, and one page.
func fromPeer(method string) []byte {
	what, list := strings.CutSuffix(method, "/list")
	switch {
	case what == "resources/templates":
		return []byte(`{"resourceTemplates":[]}`)
	case list:
		return fmt.Appendf(nil, `{"%s":[]}`, what)
	}
	return []byte(`{"content":[{"type":"resource","resource":{"uri":"ui://its/page","mimeType":"text/html","text":"<p>"}}]}`)
}

func (cd *card) request(method, params string) {
	cd.turns++
	cd.reply = cardReply{}
	cd.step(desktop.Line{Text: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, cd.turns, method, params)})
}

func (cd *card) tool(name, format string, a ...any) {
	cd.request("tools/call", fmt.Sprintf(`{"name":"%s","arguments":%s}`, name, fmt.Sprintf(format, a...)))
}

// toModel has the client's model ask for the questions, which it gets nothing of to answer one with.
func (cd *card) toModel() {
	cd.tool("mcpx_approvals", `{"decision":"allow","approve":true}`)
	seen := string(cd.reply.Result.Content) + string(cd.reply.Result.StructuredContent)
	secrets := []string{cd.key, cd.ticket}
	for _, x := range cd.words {
		secrets = append(secrets, x.nonce)
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(seen, secret) {
			cd.w.check.blame("on card", "a model sees what is the card's: %s", seen)
		}
	}
}

// asked takes a question; put again, it takes the place of the first.
func (cd *card) asked(l *letter) {
	q, err := approval.Elicit(cd.w.wall(), us, cd.who.id, l.Payload.Params)
	if err != nil {
		return // nobody is shown it
	}
	q.View.ID = l.ID
	r := &rung{l, *q, cd.who.id}
	cd.ends(func(old *rung) bool { return old.Key == r.Key })
	cd.open = append(cd.open, r)
	cd.step(desktop.Asked{Question: desktop.QuestionOf(&r.Elicited, "lobby", r.DelegateTo)})
	cd.w.after(max(0, q.View.Deadline.Sub(cd.w.wall())), func() { cd.ends(func(old *rung) bool { return old == r }) })
	if cd.w.healed || !cd.w.strikes(onCard) {
		return
	}
	nonce := cd.looks()[r]
	if nonce == "" {
		return
	}
	x := cd.wordOn(r, nonce)
	cd.words = append(cd.words, x)
	for range pick(cd.dice, 1, 1, 2) {
		cd.w.after(cd.dice.between(0, pick(cd.dice, 2*time.Second, 20*time.Second, 20*time.Minute)), func() { cd.answers(x) })
	}
}

// ends takes away what is asked no more.
func (cd *card) ends(is func(*rung) bool) {
	i := slices.IndexFunc(cd.open, is)
	if i < 0 {
		return
	}
	r := cd.open[i]
	cd.open = slices.Delete(cd.open, i, i+1)
	cd.step(desktop.Settled{ID: r.View.ID})
}

// looks has the page ask for the questions, and gets nonces for them.
func (cd *card) looks() map[*rung]string {
	cd.tool("mcpx_card", `{"key":"%s","ticket":"%s"}`, cd.key, cd.ticket)
	var has struct {
		Questions []struct{ Digest, Nonce, Text string }
		Elsewhere int
	}
	json.Unmarshal(cd.reply.Result.StructuredContent, &has)
	if n := len(has.Questions) + has.Elsewhere; cd.closed && n > 0 || !cd.closed && n != len(cd.open) {
		cd.w.check.blame("on card", "%d questions are on the card of %s, and %d are asked", n, cd.who, len(cd.open))
	}
	nonces := map[*rung]string{}
	for _, q := range has.Questions {
		i := slices.IndexFunc(cd.open, func(r *rung) bool { return r.View.Short == q.Digest })
		if i < 0 {
			cd.w.check.blame("on card", "%s is shown, and is not asked", q.Digest)
			continue
		}
		cd.shown[q.Nonce], nonces[cd.open[i]] = cd.open[i], q.Nonce
		cd.w.check.cardShows(q.Text)
	}
	return nonces
}

// cardShows: what stands on a card can be seen, and is no secret.
func (c *checker) cardShows(text string) {
	for line := range strings.Lines(text) {
		c.legible(strings.TrimSuffix(line, "\n"))
	}
	if strings.Contains(text, "SECRET") {
		c.blame("AI-24", "a secret is on a card: %s", text)
	}
}

// wordOn is what somebody means to say to a question that the card shows.
func (cd *card) wordOn(r *rung, nonce string) cardWord {
	x := cardWord{digest: r.View.Short, nonce: nonce}
	allow := func(more string) string { return `{"action":"accept","content":{"decision":"allow"` + more + `}}` }
	switch n := cd.dice.IntN(10); {
	case n == 0:
		x.text = pick(cd.dice, `{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept","content":{"decision":"deny"}}`)
	case n == 1:
		x.text = pick(cd.dice, unclear...)
	case n == 2 && len(r.DelegateTo) > 0:
		x.to = pick(cd.dice, r.DelegateTo...)
		x.text = fmt.Sprintf(`{"action":"accept","content":{"decision":"delegate","delegateTo":"%s"}}`, x.to)
	case n < 5 && r.offers("amount"):
		x.yes, x.amount, x.text = true, "7", allow(`,"amount":7`)
	default:
		x.yes, x.text = true, allow("")
	}
	return x
}

// unclear are answers that are no clear yes.
var unclear = []string{`{"action":"accept"}`, `{"action":"accept","content":{"decision":"Allow"}}`, `{"action":"accept","content":{"decision":true}}`,
	`{"action":"accept","content":{"decision":"allow","decision":"deny"}}`, `{"action":"accept","content":{"decision":"allow","n":"another"}}`,
	`{"action":"accept","content":{"decision":"delegate","delegateTo":"eve"}}`, `{"action":"accept","content":{"decision":"allow","delegateTo":"carol"}}`,
	`{"action":"accept","content":{"approve":true}}`, `{"decision":"allow"}`, `{}`, `[]`, `"allow"`, `true`, `null`}

// answers gives an answer, right or wrong.
func (cd *card) answers(x cardWord) {
	if cd.w.healed {
		return
	}
	at := cd
	switch cd.dice.IntN(12) {
	case 0: // as if it had been shown with another digest
		x.digest = pick(cd.dice, "", x.digest[1:], pick(cd.dice, cd.words...).digest)
	case 1:
		x.nonce = pick(cd.dice, "", cd.key, cd.ticket, pick(cd.dice, cd.words...).nonce)
	case 2: // in the client of somebody else
		if other := cd.lounge.of[pick(cd.dice, everybody...)]; other != nil {
			at = other
		}
	case 3:
		cd.pries()
	case 4:
		cd.toModel()
	case 5: // which closes the card
		cd.closed = cd.closed || cd.dice.chance(.3)
		if cd.closed {
			cd.tool("mcpx_call", `{"peer":"%s","tool":"its_page"}`, us)
		}
	case 6:
		cd.looks()
	}
	at.says(x)
}

// pries has a page ask for the questions that is not the one that the client shows for them.
func (cd *card) pries() {
	cd.tool("mcpx_card", `{"key":"%s","ticket":"%s"}`, pick(cd.dice, "", cd.ticket, cd.key), pick(cd.dice, "", cd.key))
	if len(cd.reply.Result.StructuredContent) > 0 {
		cd.w.check.blame("on card", "a page that is not the card's gets %s", cd.reply.Result.StructuredContent)
	}
}

func (cd *card) says(x cardWord) {
	r := cd.shown[x.nonce]
	right := r != nil && !cd.closed && !cd.spent[x.nonce] && x.digest == r.View.Short && slices.Contains(cd.open, r) && unambiguous([]byte(x.text))
	cd.answering, cd.sent = true, nil
	cd.tool("mcpx_answer", `{"digest":"%s","nonce":"%s","answer":%s}`, x.digest, x.nonce, x.text)
	cd.answering = false
	cd.w.trace.note(cd.w.now, "on card", fmt.Appendf(nil, "%s: %s%s", cd.who, cd.reply.Result.Content, cd.reply.Result.StructuredContent))
	cd.w.check.onCard(cd, x, r, right)
	if right {
		cd.spent[x.nonce] = true
	}
}

// decided carries an answer to the topic; what cannot be sent is asked still.
func (cd *card) decided(a desktop.Decide) []desktop.Event {
	i := slices.IndexFunc(cd.open, func(r *rung) bool { return r.View.ID == a.ID })
	if i < 0 {
		return []desktop.Event{desktop.Decided{ID: a.ID, Gone: true}}
	}
	r := cd.open[i]
	if !cd.answering {
		cd.w.check.blame("on card", "%s is answered, and nobody said anything", r.View.Short)
	}
	if !cd.who.here() {
		return []desktop.Event{desktop.Decided{ID: a.ID, Unsent: "no seat"}}
	}
	cd.open = slices.Delete(cd.open, i, i+1)
	cd.sent, cd.result = r, a.Reply.Result(r.View.Choice)
	cd.who.replies(r, cd.result)
	return []desktop.Event{desktop.Decided{ID: a.ID}}
}

// onCard: an answer on a card counts for the question that was shown with its digest and nonce, once,
// as long as that is asked and the card is the only page, and for what was meant; and such a one
// is passed on, if it can be read in one way, and no other is said to be. r is what was shown with its nonce, right that all of that is so.
func (c *checker) onCard(cd *card, x cardWord, r *rung, right bool) {
	switch {
	case cd.sent == nil && right && cd.who.here():
		c.blame("on card", "an answer of %s to %s is not passed on: %s", cd.who, x.digest, cd.reply.Result.Content)
	case cd.sent != nil && (!right || cd.sent != r):
		c.blame("on card", "an answer of %s to %s with the nonce %q is passed on to %s", cd.who, x.digest, x.nonce, cd.sent.View.Short)
	}
	var told struct{ Outcome string }
	json.Unmarshal(cd.reply.Result.StructuredContent, &told)
	if passed := cd.sent != nil; passed != (told.Outcome != "") {
		c.blame("on card", "%s is told %q of an answer to %s, passed on: %t", cd.who, told.Outcome, x.digest, passed)
	}
	if cd.sent == nil {
		return
	}
	var said struct {
		Action  string
		Content struct {
			Approve            bool
			Action, DelegateTo string
			Amount             json.RawMessage
		}
	}
	json.Unmarshal(cd.result, &said)
	yes := said.Action == "accept" && (said.Content.Approve || said.Content.Action == "approve")
	if yes != x.yes || said.Content.DelegateTo != x.to || said.Content.Amount != nil && string(said.Content.Amount) != x.amount {
		c.blame("on card", "%s is passed on as %s", x.text, cd.result)
	}
}
