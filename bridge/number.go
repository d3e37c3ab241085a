package bridge

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
)

// A server knows each request of ours by a number, which is also its progress
// token. Where others may talk to the same server the number is a string with
// a mark in front, so that no answer to them can be taken for one to us.

// id is the number of a call as the server gets it, raw.
func (cs *calls) id(c *call) []byte {
	if cs.mark == "" {
		return strconv.AppendUint(nil, c.number, 10)
	}
	id := append(append(make([]byte, 0, len(cs.mark)+22), '"'), cs.mark...)
	return append(strconv.AppendUint(id, c.number, 10), '"')
}

// find returns the call that the server means by a raw id or token, nil if it
// is none of ours.
func (cs *calls) find(id []byte) *call {
	if cs.mark != "" {
		marked := false
		if id, marked = bytes.CutPrefix(id, []byte(`"`+cs.mark)); !marked || !bytes.HasSuffix(id, []byte(`"`)) {
			return nil
		}
		id = id[:len(id)-1]
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return nil
	}
	if c := cs.byNumber[n]; c != nil && c.origin != inflight.Host { // the client's own the server knows by another id
		return c
	}
	return nil
}

// further adds what was already reported while people decided to the server's
// own progress, which must go on from there.
func further(progress []byte, reminders int) []byte {
	if _, vast := catalog.Numeral(progress).(catalog.VastNumber); vast || reminders == 0 {
		return progress
	}
	n, ok := new(big.Rat).SetString(string(progress))
	if !ok {
		return progress
	}
	n.Add(n, big.NewRat(int64(reminders), 1))
	if n.IsInt() {
		return []byte(n.Num().String())
	}
	return bytes.TrimRight([]byte(n.FloatString(9)), "0")
}
