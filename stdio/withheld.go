package stdio

import (
	"bytes"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Lines of the server that the host does not get, or not as they came: questions to a
// person that may be about somebody else's call, and lines too long to be kept whole.

// questionRefused is the reason of the Noise that tells of a question for a
// person which not every reader finds in its line.
const questionRefused = "child_question_unclear"

// personal are the requests of a server that ask a person, or spend a person's money. Other
// requests the host gets, whoever caused them.
var personal = map[string]bool{"elicitation/create": true, "sampling/createMessage": true}

// withholdsQuestion gives a question that may be about somebody else's call to the handler
// instead of the host, and reports whether it did: the person at the host could not know
// whose call it is about.
//
// What the most forgiving client could take for such a question counts as one
// (DESIGN 4: what a server asks is read as the strictest reader would), but the
// handler gets it only if every reader does.
func (r *relay) withholdsQuestion(line []byte) bool {
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
	r.message(&m)
	return true
}

// isJSON reports whether a line that was refused is one JSON object all the same, so that
// its outermost members are certain.
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

// refuseQuestion answers a question of the server with an error, because nobody gets it.
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

// longPart takes a piece of a line that is too long to be kept. An answer to us is dropped.
// If only the end of the line shows that it is one, the host has got the pieces before; it
// does not know the id.
func (r *relay) longPart(piece []byte) {
	first := !r.inLong
	if first {
		r.longLine = skim{}
	}
	r.longLine.add(piece)
	if first {
		id, _ := r.longLine.answer()
		if r.inLong, r.withheld = true, r.hasOurPrefix(id); r.withheld {
			r.noise(Noise{Reason: CauseLineTooLong, Head: head(piece), Answer: true, ID: id})
		} else if r.withheld = !r.serverAnswers(id, nil); !r.withheld {
			r.toHost.setMidLine(r, true)
		}
	}
	if r.withheld || r.cutQuestion(piece) {
		return
	}
	r.send(piece)
}

// endOfLong takes the last piece of a line that came in pieces.
func (r *relay) endOfLong(line []byte) {
	before, _ := r.longLine.answer()
	r.longLine.add(line)
	if r.withheld || r.cutQuestion(line) {
		return
	}
	switch id, _ := r.longLine.answer(); {
	case before != nil || id == nil:
	case r.hasOurPrefix(id):
		r.noise(Noise{Reason: CauseLineTooLong, Head: head(line), Answer: true, ID: id})
	case !r.serverAnswers(id, nil):
		line = nil
	}
	r.send(line, newline)
	r.toHost.setMidLine(r, false)
}

// cutQuestion ends a long line early if it turns out to be a question that may be about
// somebody else's call. The host has got its beginning, which is no message without the end.
func (r *relay) cutQuestion(piece []byte) bool {
	if !r.longLine.personal() || r.host.Occupied == nil || !r.host.Occupied() {
		return false
	}
	r.withheld = true
	r.send(newline)
	r.toHost.setMidLine(r, false)
	r.refuseQuestion(piece, &r.longLine)
	return true
}

// unendedLine takes what the server wrote last, without a newline. Some hosts take that for
// a line too.
func (r *relay) unendedLine(line []byte) {
	if r.inLong {
		r.longLine.add(line)
		r.withheld = r.withheld || r.cutQuestion(line)
	} else {
		r.withheld = bytes.Contains(line, r.idPrefix) && r.takeOurs(line) || r.withholdsQuestion(line) || !r.hostMayHear(line)
	}
	if r.toHost.setMidLine(r, true); !r.withheld {
		r.send(line)
	}
}
