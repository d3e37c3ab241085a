package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Refused calls had a share of the record, and refused proposals had none: 3 000 of them
// wrote 6 000 records. What proposals lead to nothing is counted beyond the share, too.
func TestAFloodOfProposalsIsSummedUpInTheRecord(t *testing.T) {
	for name, propose := range map[string]func(s *stage, id string){
		"for a tool that is none": func(s *stage, id string) { s.proposes("mallory", id, "fs", "nope", `{}`, "") },
		"denied":                  func(s *stage, id string) { s.proposes("mallory", id, "fs", "delete_file", `{}`, "") },
		"too many":                func(s *stage, id string) { s.proposes("mallory", id, "fs", "write_file", `{"path":"`+id+`"}`, "") },
		"for others":              func(s *stage, id string) { s.proposes("mallory", id, "carol", "write_file", path, "") },
		"taken back": func(s *stage, id string) {
			s.proposes("mallory", id, "fs", "write_file", `{"path":"`+id+`"}`, "")
			s.says("mallory", "w-"+id, wire.Withdraw, "", "", id, `{"reason":"never mind"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := proposalStage(t, "mew/v0.4", "fulfil: ask")
			flood := 4 * recordLimits.Burst
			for i := range flood {
				propose(s, fmt.Sprint("p", i))
			}
			s.pass(quota.SumEvery + time.Second)
			mallorys, counted := 0, 0
			for i := range s.notes {
				if r := &s.notes[i]; r.From == "mallory" && r.ForAudit() != nil {
					mallorys++
					counted += r.Count
				}
			}
			if mallorys > 3*recordLimits.Burst || counted < flood-recordLimits.Burst {
				t.Errorf("%d records, and %d counted", mallorys, counted)
			}
			s.notes = nil
			s.proposes("bob", "b1", "fs", "nope", `{}`, "")
			s.proposes("bob", "b2", "fs", "write_file", path, "")
			var said []string
			for _, r := range s.notes {
				said = append(said, string(r.Event)+" "+r.Env)
			}
			if all := strings.Join(said, ", "); !strings.Contains(all, "proposed b1, rejected b1") || !strings.Contains(all, "proposed b2, asked b2") {
				t.Errorf("bob pays for mallory: %s", all)
			}
		})
	}
}

// Each name had a share of its own, and all together had no bound: names cost nothing
// where anybody can have a token, or where the gateway does not make sure who speaks.
func TestInventedNamesFilledTheRecord(t *testing.T) {
	const names = 20_000
	for protocol, kind := range map[string]string{"mew/v0.4": "mcp/request", "mcpx/v0.1": "mcp/request:tools/call"} {
		s := newStage(t, protocol)
		written, counted := 0, 0
		count := func() {
			for i := range s.notes {
				if r := &s.notes[i]; r.ForAudit() != nil {
					written++
					counted += r.Count
				}
			}
			s.notes, s.frames, s.shown = nil, nil, nil
		}
		for i := range names {
			s.arrive(fmt.Sprintf(`{"protocol":%q,"id":"e%d","ts":"2026-01-01T00:00:00Z","from":"name%d","to":["carol"],"kind":%q,"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"a":1,"A":2}}}}`, protocol, i, i, kind))
			if i%1000 == 0 {
				count()
			}
		}
		s.pass(quota.SumEvery + time.Second)
		count()
		if most := recordLimits.AllBurst + recordLimits.Sums + 1; written > most || written+counted < names {
			t.Errorf("%s: %d names, one dropped frame each: %d records, and %d are counted", protocol, names, written, counted)
		}
	}
}
