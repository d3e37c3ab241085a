package desktop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// An ownTool is one of the tools that are always there, for clients that do not hear of
// changes. None of them decides anything, whatever its arguments are, but for the one that
// is for our own card.
type ownTool struct {
	name, title, does string
	takes             string             // the schema of its arguments
	hints             mcp.ToolAnnotation // all four, for those left out are read as the worst
	ui                any                // what it is to an app, nil if nothing
	answer            func(*Proxy, *request) *mcp.CallToolResult
}

func hints(reads, destroys, again, outside bool) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{ReadOnlyHint: &reads, DestructiveHint: &destroys, IdempotentHint: &again, OpenWorldHint: &outside}
}

func ownTools() [ownCount]ownTool {
	return [...]ownTool{
		{"mcpx_peers", "Who is here", "Lists the participants of the topic and their tools.",
			`{"type":"object","properties":{"capability":{"type":"string","description":"list only participants with a tool whose name or description has this in it"}}}`,
			hints(true, false, true, true), nil, (*Proxy).answerPeers},
		{"mcpx_call", "Call a participant's tool", "Calls a tool of a participant, by their own names. For tools that are not listed by themselves.",
			`{"type":"object","properties":{"peer":{"type":"string","description":"the participant"},"tool":{"type":"string","description":"the tool, as mcpx_peers lists it"},` +
				`"arguments":{"type":"object","description":"the arguments of the tool"},"why":{"type":"string","description":"why you call it, in a sentence for the people who decide; some tools demand it"}},"required":["peer","tool"]}`,
			hints(false, true, false, true), nil, (*Proxy).answerCall},
		{"mcpx_approvals", "Questions for the person here", "Puts the questions that wait for the person at this client before that person. Only the person answers them.",
			`{"type":"object","properties":{}}`,
			hints(false, false, true, false), map[string]any{"resourceUri": cardURI, "visibility": []string{"model"}}, (*Proxy).answerApprovals},
		{"mcpx_result", "Fetch an answer", "Fetches the answer of a call that took too long, with the ticket that was given instead.",
			`{"type":"object","properties":{"ticket":{"type":"string"}},"required":["ticket"]}`,
			hints(true, false, true, true), nil, (*Proxy).answerResult},
	}
}

// cardTools are those of the card, which no model gets.
func cardTools() []ownTool {
	onlyApps := map[string]any{"resourceUri": cardURI, "visibility": []string{"app"}}
	return []ownTool{
		{cardTool, "Questions for the card", "Gives the card of " + ourName + " the questions that wait for the person here.",
			`{"type":"object","properties":{"key":{"type":"string"},"ticket":{"type":"string"}},"required":["key","ticket"]}`,
			hints(true, false, true, false), onlyApps, (*Proxy).answerCard},
		{answerTool, "An answer from the card", "Takes from the card of " + ourName + " what the person here decided.",
			`{"type":"object","properties":{"digest":{"type":"string"},"nonce":{"type":"string"},"answer":{"type":"object"}},"required":["digest","nonce","answer"]}`,
			hints(false, true, false, true), onlyApps, (*Proxy).answerAnswer},
	}
}

func ofCard(name string) bool { return name == cardTool || name == answerTool }

// offerOwn puts our own tools into the library, which finds them when they are called,
// and into every list that they are for.
func (f *Proxy) offerOwn() {
	all := ownTools()
	for _, o := range all {
		f.own = append(f.own, plain(o.tool()))
	}
	f.ownApps = f.own
	offered := all[:]
	if f.c.Card {
		f.ownApps = nil
		offered = append(offered, cardTools()...)
		for _, o := range offered {
			f.ownApps = append(f.ownApps, plain(o.forApps()))
		}
	}
	for _, o := range offered {
		f.protocol.AddTool(o.tool(), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if result := o.answer(f, ctx.Value(asker{}).(*request)); result != nil {
				return result, nil
			}
			return nil, errElsewhere
		})
	}
}

func (o *ownTool) tool() mcp.Tool {
	return mcp.Tool{Name: o.name, Title: o.title, Description: o.does, RawInputSchema: json.RawMessage(o.takes), Annotations: o.hints}
}

// forApps is a tool as clients have it that show apps.
func (o *ownTool) forApps() mcp.Tool {
	t := o.tool()
	if o.ui != nil {
		t.Meta = mcp.NewMetaFromMap(appMeta(o.ui))
	}
	return t
}

func (f *Proxy) callOwn(r *request) { f.speak(r, mcp.CallToolParams{Name: r.own}) }

// tooEarly reports whether it is not known yet who offers what. The tool is called once
// more when it is.
func (f *Proxy) tooEarly(r *request) bool {
	if f.catalogue[tools].opened {
		return false
	}
	f.whenOpen(tools, r, func() { f.callOwn(r) })
	return true
}

// A present is one peer in the answer of mcpx_peers.
type present struct {
	Peer   string     `json:"peer"`
	Here   bool       `json:"here"`
	Tools  []string   `json:"tools"`
	Beside int        `json:"toolsBeside,omitempty"` // that there is no room for
	Server *identity  `json:"server,omitempty"`
	Seat   []string   `json:"seat,omitempty"`
	Hidden []omission `json:"notOffered,omitempty"`
	More   int        `json:"notOfferedBeside,omitempty"`
}

// answerPeers lists who is here, or with capability only who has a tool that it
// stands in (seed 004).
func (f *Proxy) answerPeers(r *request) *mcp.CallToolResult {
	at, err := pick(r.args, "capability")
	wanted, ok := jsonrpc.Unquote(at[0])
	if err != nil || at[0] != nil && !ok {
		f.refuse(r, codeInvalidParams, "mcpx_peers takes capability, which is a string, or nothing", nil)
		return nil
	}
	if f.tooEarly(r) {
		return nil
	}
	list := []present{}
	var text strings.Builder
	for _, id := range f.ids() {
		if one, fits := f.present(id, strings.ToLower(wanted)); fits {
			list = append(list, one)
		}
	}
	for i := range list {
		one := &list[i]
		one.fit(maxPeers / len(list))
		text.WriteString(clip(one.Peer, 80))
		if one.Server != nil {
			fmt.Fprintf(&text, " (%s)", one.Server)
		}
		fmt.Fprintf(&text, ": %s\n", clip(strings.Join(one.Tools, ", "), 2000))
		if one.Beside > 0 {
			fmt.Fprintf(&text, "  %d more tools are not named here\n", one.Beside)
		}
		for _, line := range one.Seat {
			fmt.Fprintf(&text, "  %s\n", line)
		}
		for _, o := range one.Hidden {
			fmt.Fprintf(&text, "  %s %s is not offered: %s\n", o.Kind, o.Name, o.Why)
		}
		if one.More > 0 {
			fmt.Fprintf(&text, "  %d more are not offered\n", one.More)
		}
	}
	switch {
	case len(list) == 0 && wanted != "":
		fmt.Fprintf(&text, "nobody here has a tool for %s\n", clip(wanted, 80))
	case len(list) == 0:
		text.WriteString("nobody else is here\n")
	}
	if !f.seated {
		text.WriteString("not connected to the topic: " + clip(f.why, 200) + "\n")
	}
	return mcp.NewToolResultStructured(map[string]any{"me": f.me, "topic": f.topic, "connected": f.seated, "peers": list}, strings.TrimSuffix(text.String(), "\n"))
}

// present is what mcpx_peers says of a peer; fits is false if none of its tools is
// wanted. A participant whose id cannot be seen is named as it is shown: its tools
// are called by the names in the list.
func (f *Proxy) present(id, wanted string) (one present, fits bool) {
	p := f.peers[id]
	one = present{Peer: text.Line(id), Here: p.here && f.seated, Tools: []string{}, Seat: p.seat()}
	if p.who.Name != "" || p.who.Version != "" || len(p.who.Provides) > 0 {
		one.Server = &p.who
	}
	for i := range p.lists[tools].all {
		d := &p.lists[tools].all[i]
		said, _ := jsonrpc.Unquote(d.get("description"))
		if f.choice.Shows(Pair{id, d.key}) && !d.appOnly && strings.Contains(strings.ToLower(d.key+" "+said), wanted) {
			one.Tools = append(one.Tools, d.key)
		}
	}
	if wanted != "" {
		return one, len(one.Tools) > 0
	}
	for k := range kinds {
		one.Hidden = append(one.Hidden, p.lists[k].left...)
		one.More += p.lists[k].more
	}
	return one, true
}

// fit cuts names that are too long to be seen, and counts what goes beyond so many bytes
// instead of naming it: what one peer lists must not keep a model from seeing the others.
func (one *present) fit(room int) {
	for i, name := range one.Tools {
		if len(name) > maxName {
			name = clip(name, maxName)
			one.Tools[i] = name
		}
		if room -= len(name) + len(`"",`); room < 0 {
			one.Tools, one.Beside = one.Tools[:i], len(one.Tools)-i
			break
		}
	}
	for i, o := range one.Hidden {
		if room -= len(o.Kind) + len(o.Name) + len(o.Why) + len(`{"kind":"","name":"","why":""},`); room < 0 {
			one.More += len(one.Hidden) - i
			one.Hidden = one.Hidden[:i]
			break
		}
	}
}

func (f *Proxy) answerCall(r *request) *mcp.CallToolResult {
	at, err := pick(r.args, "peer", "tool", "arguments", "why")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return nil
	}
	if at[2] == nil {
		at[2] = []byte("{}")
	}
	if at[3] == nil {
		at[3] = []byte(`""`)
	}
	given, err := texts(at[0], at[1], at[3])
	if err != nil || !isObject(at[2]) {
		f.refuse(r, codeInvalidParams, "mcpx_call takes peer, tool and why, which are strings, and arguments, which are an object", nil)
		return nil
	}
	if f.tooEarly(r) {
		return nil
	}
	pair := Pair{given[0], given[1]}
	switch d := f.definition(tools, pair); {
	case !f.choice.Shows(pair):
		f.sorry(r, notThere, clip(pair.Name, 80)+" of "+clip(pair.Peer, 80)+" is not shown here; the call was not made")
	case d != nil && d.appOnly:
		f.sorry(r, notThere, clip(pair.Name, 80)+" of "+clip(pair.Peer, 80)+" is for that participant's app alone; the call was not made")
	default:
		f.call(r, pair, at[2], cmp.Or(given[2], r.why))
	}
	return nil
}

func (f *Proxy) answerResult(r *request) *mcp.CallToolResult {
	at, err := pick(r.args, "ticket")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return nil
	}
	if given, err := texts(at[0]); err != nil {
		f.refuse(r, codeInvalidParams, "mcpx_result takes a ticket, which is a string", nil)
	} else if c := f.tickets[given[0]]; c == nil {
		f.sorry(r, notThere, "there is no call with this ticket; answers are kept for 15 minutes")
	} else {
		f.join(r, c)
	}
	return nil
}

// checkApprovals answers those that wait for questions of which none is left.
func (f *Proxy) checkApprovals() {
	if slices.ContainsFunc(f.questions, func(q *question) bool { return !q.failed }) {
		return
	}
	for _, r := range f.inOrder() {
		if r.answers {
			f.callOwn(r)
		}
	}
}

// An openQuestion is one in the answer of mcpx_approvals. It says no more than
// what there is to decide: what a stranger wrote is for the person, not for the
// model.
type openQuestion struct {
	Digest string `json:"digest"`
	Bridge string `json:"bridge"`
	From   string `json:"from"`
	Tool   string `json:"tool"`
}

// answerApprovals waits until the questions to us are answered, if the client can
// put them to its person; else it says where they are answered.
func (f *Proxy) answerApprovals(r *request) *mcp.CallToolResult {
	if r.elicits && r.away == nil {
		r.answers = true
		r.away = f.clock.after(f.c.Patience, func() { f.callOwn(r) }).stop
		return nil
	}
	var text strings.Builder
	for _, line := range r.settled {
		fmt.Fprintln(&text, line)
	}
	open := []openQuestion{}
	for _, q := range f.questions {
		one := openQuestion{q.Digest, clip(q.Bridge, 80), clip(q.From, 80), clip(q.Tool, 80)}
		open = append(open, one)
		fmt.Fprintf(&text, "[%s] may %s call %s at %s?\n", one.Digest, one.From, one.Tool, one.Bridge)
	}
	card := f.showsCard(r) && !f.cardClosed
	switch {
	case len(open) == 0:
		text.WriteString("no question waits for the person here\n")
	case !r.elicits && card:
		text.WriteString("The person decides on the card that this client shows, or with the command: mcpx-bridge approve\n")
	case !r.elicits:
		text.WriteString("This client cannot put them to its person. The person decides with the command: mcpx-bridge approve\n")
	default:
		text.WriteString("They were not answered yet. The person can also decide with the command: mcpx-bridge approve\n")
	}
	result := mcp.NewToolResultStructured(map[string]any{"questions": open}, strings.TrimSuffix(text.String(), "\n"))
	if card {
		f.ticketTo(result)
	}
	return result
}
