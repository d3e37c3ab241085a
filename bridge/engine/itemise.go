package engine

import (
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// refusedArgs is how many bytes of the arguments of a denied call go on record;
// of longer ones only how many they were. What ran, or was asked about, has more
// room (argsMax).
const refusedArgs = 512

// recordLimits: at some 400 bytes each, one participant comes to 70 MB a day at the
// most, and all together come to five times that, however many names they have.
var recordLimits = quota.Limits{Burst: 200, Again: time.Second / 2, AllBurst: 2000, AllAgain: time.Second / 10, Names: 1024, Sums: 16}

func newQuota() quota.Shares[string] {
	return quota.Shares[string]{Limits: recordLimits, Keep: strings.Clone, Compare: strings.Compare}
}

// chargeRecord reports whether a refusal of a participant's, or a frame of theirs that
// is dropped, is listed on record. Beyond a share they are counted: refused calls must
// not fill the disk, for a full disk stops everybody's (FINDINGS M7).
func (e *Engine) chargeRecord(from string) (listed bool) {
	if e.isHost(from) || e.quota.Take(e.now, e.shareOf(from), 0) {
		return true
	}
	if !e.summing {
		e.summing = true
		e.alarms.set(e.now.Add(quota.SumEvery), e.sumUp)
	}
	return false
}

// shareOf is whose share of the record, of the memory of calls and of what may be asked a
// participant has. Where nobody makes sure who speaks all have one together, called "":
// names cost nothing there, and who writes many would have as many shares. They take
// nothing from each other that they could not take by speaking in each other's name.
func (e *Engine) shareOf(from string) string {
	if e.believed() {
		return from
	}
	return ""
}

// sumUp puts on record how many refusals were not listed.
func (e *Engine) sumUp() {
	e.summing = false
	for _, s := range e.quota.Draw(e.now) {
		r := record.Record{Event: record.Dropped, From: s.By, Reason: "summed_up", Count: s.Count,
			Detail: "refusals and dropped frames of this participant that are not listed one by one"}
		if s.By == "" && e.believed() {
			r.Detail = "refusals and dropped frames of other participants that are not listed one by one"
		} else if s.By == "" {
			r.Detail = "refusals and dropped frames that are not listed one by one, of participants whom the gateway does not verify"
		}
		e.note(r)
	}
}
