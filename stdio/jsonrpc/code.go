package jsonrpc

import (
	"errors"
	"math"
	"strconv"
)

// A Code is the code of a JSON-RPC error, which package json reads in every spelling that
// JSON has for a whole number, such as -31004.0 and -3.1004e4.
type Code int

var errCode = errors.New("the code of an error must be a whole number")

// UnmarshalJSON leaves the code as it is where there is null, as package json does.
func (c *Code) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	code, ok := ReadCode(text)
	if !ok {
		return errCode
	}
	*c = Code(code)
	return nil
}

// ReadCode reads raw JSON as a [Code]; ok is false for what is no whole number, and for
// one that other readers may take for another.
func ReadCode(raw []byte) (code int, ok bool) {
	if n, err := strconv.Atoi(string(raw)); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= wholeMax {
		return 0, false
	}
	return int(f), true
}
