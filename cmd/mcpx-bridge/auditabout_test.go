package main

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
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
	if neededFor(0) != 15*time.Minute || neededFor(time.Hour) != time.Hour {
		t.Error("what limits and the memory of calls need may be removed")
	}
}

// What is to be kept reaches the record.
func TestTheRecordIsKeptAsItWasSaid(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &program{s: settings{Audit: filepath.Join(t.TempDir(), "a.jsonl"), AuditSync: "always", AuditKeepSize: "20MB", AuditKeepDays: .5}}
	_, o, err := p.auditOptions("fs", &engine.Config{Policy: rules}, nil)
	if err != nil || o.KeepSize != 20<<20 || o.KeepFor != 12*time.Hour || o.Least != 15*time.Minute || !o.Mode.Waits(false) {
		t.Errorf("%+v, %v", o, err)
	}
}
