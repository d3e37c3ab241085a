package main

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// mostDays is a century, which a time.Duration holds.
const mostDays = 36500

// auditKeep reads what of the record is to be kept; zeros: all of it.
func (s *settings) auditKeep() (size int64, age time.Duration, err error) {
	if !(s.AuditKeepDays >= 0 && s.AuditKeepDays <= mostDays) { // which NaN is not either
		return 0, 0, misused("--audit-keep-days 90", "--audit-keep-days: %v is no number of days", s.AuditKeepDays)
	}
	age = time.Duration(s.AuditKeepDays * 24 * float64(time.Hour))
	if s.AuditKeepSize == "" {
		return 0, age, nil
	}
	size, ok := bytesIn(s.AuditKeepSize)
	if !ok || size < 1<<20 {
		return 0, 0, misused("--audit-keep-size 1GB; 1MB at least", "--audit-keep-size: %q is no size to keep", s.AuditKeepSize)
	}
	return size, age, nil
}

// bytesIn reads a size: a whole number of bytes, KB, MB, GB or TB, each 1024 of the one before.
func bytesIn(text string) (int64, bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	shift := 0
	for i, unit := range []string{"KB", "MB", "GB", "TB"} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(digits), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}
