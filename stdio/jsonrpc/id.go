package jsonrpc

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// wholeMax is the first whole number beside which not all are kept apart by
// readers that know one kind of number.
const wholeMax = 1 << 53

// Loosely is what the most careless reader makes of a raw id: two that somebody
// may take for the same are the same text. 1.0 is 1 to all that decode numbers,
// and an older official client takes "1" and "0x1" for it too. "": there is no id.
func Loosely(id []byte) string {
	text, quoted := Unquote(id)
	bare := cmp.Or(strings.TrimSpace(text), "0")
	if !quoted {
		text, bare = string(id), string(id)
	}
	f, err := strconv.ParseFloat(bare, 64)
	if err != nil {
		var n int64
		n, err = strconv.ParseInt(bare, 0, 64)
		f = float64(n)
	}
	if err != nil || !(math.Abs(f) < wholeMax) {
		return text
	}
	return strconv.FormatFloat(f+0, 'g', -1, 64)
}
