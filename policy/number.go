package policy

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// numeral is JSON's grammar of numbers.
var numeral = lazily(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// isNumeral is numeral for texts of any length.
func isNumeral(text []byte) bool {
	at := 0
	if at < len(text) && text[at] == '-' {
		at++
	}
	whole := digits(text, at)
	if whole == at || text[at] == '0' && whole > at+1 {
		return false
	}
	at = whole
	if at < len(text) && text[at] == '.' {
		from := at + 1
		if at = digits(text, from); at == from {
			return false
		}
	}
	if at < len(text) && text[at]|0x20 == 'e' {
		at++
		if at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		from := at
		if at = digits(text, from); at == from {
			return false
		}
	}
	return at == len(text)
}

// digits is the offset after the digits that begin at i, of which there may be millions.
func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// Numbers are compared exactly, so a short text with a huge exponent would
// cost memory without bound: beyond this many digits nothing is compared.
const maxDigits = 400

var errHugeNumber = errors.New("its number is too long to compare")

// decimal is the exact value of a JSON number.
func decimal(text string) (*big.Rat, error) {
	if len(text) > 2*maxDigits {
		return nil, errHugeNumber
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	e := 0
	if scientific {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil {
			return nil, errHugeNumber
		}
	}
	if len(mantissa) > maxDigits || max(e, -e) > maxDigits {
		return nil, errHugeNumber
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errHugeNumber
	}
	return r, nil
}

// plain writes r as decimal text without an exponent, exactly.
func plain(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}
