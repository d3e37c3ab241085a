package stdio

import (
	"bytes"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What of a server's lines its host does not hear, or not as it came: questions
// that may be about somebody else's business, and lines too long to be kept.

// questionRefused is the reason of the Noise that tells of a question for a
// person which not every reader finds in its line.
const questionRefused = "child_question_unclear"

// personal are the requests of a server that reach a person, or spend what is
// theirs. The others a host may have whoever caused them.
var personal = map[string]bool{"elicitation/create": true, "sampling/createMessage": true}

// asksSomebodyElse hands a question to the handler that may be about somebody
// else's business. It is not for a person to wonder whose.
//
// What the most forgiving client could take for such a question counts as one
// (DESIGN 4: what a server asks is read as the strictest reader would), but the
// handler gets it only if every reader does.
func (r *relay) asksSomebodyElse(line []byte) bool {
	if r.host.Occupied == nil || !r.host.Occupied() || !mentions(line) {
		return false
	}
	m, err := jsonrpc.Parse(bytes.TrimSpace(line), jsonrpc.Rules{Depth: r.rules.Depth, Size: r.rules.Size, TopOnly: true, Halves: true})
	switch k := skimmed(line); {
	case err != nil && !isJSON(err), k.personal() && (err != nil || !personal[m.Text(jsonrpc.Method)] || m.Class() != jsonrpc.Request):
		r.refuseQuestion(line, k)
		return true
	case err != nil || !personal[m.Text(jsonrpc.Method)]:
		return false
	}
	r.tell(m)
	return true
}

// isJSON reports whether a line was refused though it has the form of one JSON
// object, so that its outermost members are certain.
func isJSON(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return false
	}
	switch e.Reason {
	case jsonrpc.DuplicateKey, jsonrpc.KeyCase, jsonrpc.InvalidUTF8, jsonrpc.TooDeep, jsonrpc.BadID, jsonrpc.BadMethod:
		return true
	}
	return false
}

// refuseQuestion answers the server what nobody else will.
func (r *relay) refuseQuestion(line []byte, k *skim) {
	r.noise(Noise{Reason: questionRefused, Head: head(line),
		Detail: "it may ask the person at the client something while the server is at work for somebody else, and not every reader would see that"})
	id := []byte("null")
	if len(k.ids) == 1 && validID(k.ids[0]) {
		id = []byte(k.ids[0])
	}
	if r.c.put(jsonrpc.AppendError(nil, id, -32600, "this is not asked clearly enough to be passed on; write one plain request per line", nil)) == nil {
		r.c.out.Flush()
	}
}

// validID reports whether the raw value of an id can be sent back.
func validID(raw string) bool {
	_, err := jsonrpc.Parse([]byte(`{"id":`+raw+`}`), jsonrpc.Judged)
	return err == nil
}

// part takes a piece of a line that is too long to be kept. If it is an answer
// to us nobody can use it. Where that is told by its end only, the host has heard
// the rest of it by then, and knows of no such id.
func (r *relay) part(piece []byte) {
	first := !r.mid
	if first {
		r.over = skim{}
	}
	r.over.add(piece)
	if first {
		id, _ := r.over.answer()
		if r.mid, r.mine = true, r.marked(id); r.mine {
			r.noise(Noise{Reason: CauseLineTooLong, Head: head(piece), Answer: true, ID: id})
		} else if r.mine = !r.serverAnswers(id, nil); !r.mine {
			r.tongue.amid(r, true)
		}
	}
	if r.mine || r.cutOff(piece) {
		return
	}
	r.say(piece)
}

// endOfParts takes the last of a line that came in pieces.
func (r *relay) endOfParts(line []byte) {
	before, _ := r.over.answer()
	r.over.add(line)
	if r.mine || r.cutOff(line) {
		return
	}
	switch id, _ := r.over.answer(); {
	case before != nil || id == nil:
	case r.marked(id):
		r.noise(Noise{Reason: CauseLineTooLong, Head: head(line), Answer: true, ID: id})
	case !r.serverAnswers(id, nil):
		line = nil
	}
	r.say(line, newline)
	r.tongue.amid(r, false)
}

// cutOff ends a line in the middle, of which the host has heard the beginning, if
// it turns out to be a question that may be about somebody else's business. What
// has no end is a question to nobody.
func (r *relay) cutOff(piece []byte) bool {
	if !r.over.personal() || r.host.Occupied == nil || !r.host.Occupied() {
		return false
	}
	r.mine = true
	r.say(newline)
	r.tongue.amid(r, false)
	r.refuseQuestion(piece, &r.over)
	return true
}

// last takes what stands before the end of what the server says, without a
// newline. To a host that may be a line too.
func (r *relay) last(line []byte) {
	if r.mid {
		r.over.add(line)
		r.mine = r.mine || r.cutOff(line)
	} else {
		r.mine = bytes.Contains(line, r.mark) && r.ours(line) || r.asksSomebodyElse(line) || !r.passes(line)
	}
	if r.tongue.amid(r, true); !r.mine {
		r.say(line)
	}
}
