package main

import (
	"math"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestWhatOfTheRecordIsToBeKept(t *testing.T) {
	for text, want := range map[string]int64{"1GB": 1 << 30, "1 gb": 1 << 30, "1048576": 1 << 20, "20MB": 20 << 20, "1024KB": 1 << 20, "1TB": 1 << 40,
		"1": -1, "1023KB": -1, "-1GB": -1, "1.5GB": -1, "GB": -1, "1GiB": -1, "9999999999TB": -1, "0": -1} {
		s := settings{AuditKeepSize: text, AuditKeepDays: .5}
		size, age, err := s.auditKeep()
		if want < 0 && err == nil || want > 0 && (err != nil || size != want || age != 12*time.Hour) {
			t.Errorf("%s: %d, %v, %v", text, size, age, err)
		}
	}
	for days, good := range map[float64]bool{0: true, 90: true, 36500: true, 36501: false, -1: false, 1e9: false, math.NaN(): false, math.Inf(1): false, math.Inf(-1): false} {
		s := settings{AuditKeepDays: days}
		if _, _, err := s.auditKeep(); good != (err == nil) {
			t.Errorf("%v days: %v", days, err)
		}
	}
}

// What is to be kept reaches the record.
func TestTheRecordIsKeptAsItWasSaid(t *testing.T) {
	p, f := &program{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	p.s.policyFlags(f)
	if err := f.Parse([]string{"--audit=a.jsonl", "--audit-sync=always", "--audit-keep-size=20MB", "--audit-keep-days=0.5"}); err != nil {
		t.Fatal(err)
	}
	r, err := p.recordOptions()
	if err != nil || r.Off || r.File != "a.jsonl" || r.KeepSize != 20<<20 || r.KeepFor != 12*time.Hour || !r.Sync.Waits(false) {
		t.Errorf("%+v, %v", r, err)
	}
}
