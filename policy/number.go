package policy

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// numeral is JSON's grammar of numbers.
var numeral = lazily(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

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
