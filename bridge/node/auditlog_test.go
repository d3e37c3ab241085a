package node

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What is to be kept reaches the record, and what limits and the memory of calls are read
// back from stays there whatever was said.
func TestTheRecordIsKeptAsItWasSaid(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{o: Options{Record: RecordOptions{Sync: audit.Always, KeepSize: 20 << 20, KeepFor: 12 * time.Hour}}}
	p.engine.Policy = rules
	o := p.auditOptions("fs")
	if o.KeepSize != 20<<20 || o.KeepFor != 12*time.Hour || o.Least != 15*time.Minute || !o.Mode.Waits(false) {
		t.Errorf("%+v", o)
	}
	if neededFor(0) != 15*time.Minute || neededFor(time.Hour) != time.Hour {
		t.Error("what limits and the memory of calls need may be removed")
	}
}
