package engine

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

func (s *stage) count(event record.Event, reason string) (n int) {
	for _, r := range s.notes {
		if r.Event == event && r.Reason == reason {
			n++
		}
	}
	return n
}

// A flood of notifications is on record once, and does not fill the record; a
// call is answered all the same.
func TestAFloodOfNotificationsIsOnRecordOnce(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	floods := func(n int, method string) {
		for range n {
			s.said(`{"jsonrpc":"2.0","method":"` + method + `","params":{"level":"info","data":"x"}}`)
		}
	}
	floods(notifiedMost, "notifications/message")
	if s.count(record.ServerLog, "") != notifiedMost || s.count(record.ServerNoise, "child_notification_flood") != 0 {
		t.Fatal("as many as that are no flood")
	}
	for range 3 { // seconds of it
		floods(notifiedMost, "notifications/message")
		floods(notifiedMost, "notifications/odd")
		s.pass(time.Second)
	}
	if logs, odd, floods := s.count(record.ServerLog, ""), s.count(record.ServerNoise, "notification_not_passed_on"), s.count(record.ServerNoise, "child_notification_flood"); logs != notifiedMost || odd != 0 || floods != 1 {
		t.Errorf("%d log lines, %d others, %d floods", logs, odd, floods)
	}
	s.pass(5 * time.Second)
	floods(1, "notifications/message")
	if s.count(record.ServerLog, "") != notifiedMost+1 {
		t.Error("it is quiet again, and still passed over")
	}
	floods(2*notifiedMost, "notifications/odd")
	if s.count(record.ServerNoise, "child_notification_flood") != 2 {
		t.Error("the second flood is not on record")
	}
}
