package engine

import (
	"bytes"
	"math/big"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
)

// A server knows each request of ours by a number, which is also its progress
// token. Where others may talk to the same server the number is a string with
// a mark in front, so that no answer to them can be taken for one to us.

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
