package bridge

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
			const flood = 4 * quota.Burst
			for i := range flood {
				propose(s, fmt.Sprint("p", i))
			}
			s.pass(sumEvery + time.Second)
			mallorys, counted := 0, 0
			for i := range s.notes {
				if r := &s.notes[i]; r.From == "mallory" && r.forAudit() != nil {
					mallorys++
					counted += r.Count
				}
			}
			if mallorys > 3*quota.Burst || counted < flood-quota.Burst {
				t.Errorf("%d records, and %d counted", mallorys, counted)
			}
			s.notes = nil
			s.proposes("bob", "b1", "fs", "nope", `{}`, "")
			s.proposes("bob", "b2", "fs", "write_file", path, "")
			var said []string
			for _, r := range s.notes {
				said = append(said, r.Event+" "+r.Env)
			}
			if all := strings.Join(said, ", "); !strings.Contains(all, "proposed b1, rejected b1") || !strings.Contains(all, "proposed b2, asked b2") {
				t.Errorf("bob pays for mallory: %s", all)
			}
		})
	}
}
