package rawjson

import "bytes"

// OneLine is raw JSON without line breaks, which can stand between tokens only. The value is
// the same.
func OneLine(raw []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, raw)
}
