package text

import (
	"math"
	"strconv"
	"strings"
)

// Bytes reads a size as people write it: a whole number of bytes, KB, MB, GB or TB, each 1024 of
// the one before. It is false for what is none, or is more than an int64 holds.
func Bytes(said string) (int64, bool) {
	said = strings.ToUpper(strings.TrimSpace(said))
	shift := 0
	for i, unit := range []string{"KB", "MB", "GB", "TB"} {
		if digits, ok := strings.CutSuffix(said, unit); ok {
			said, shift = strings.TrimSpace(digits), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(said, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}
