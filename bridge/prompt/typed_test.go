package prompt

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// What is typed faster than it is taken waits; where it is too much nothing of it counts, and
// that is said.
func TestNoneOfWhatIsTypedIsLostInSilence(t *testing.T) {
	typed, at := newTyped(), time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for i := range mostKeys {
		typed.put([]key{{rune('a' + i%26), at}})
	}
	for i := range mostKeys {
		<-typed.more
		if k, some := typed.take(); !some || k.r != rune('a'+i%26) {
			t.Fatalf("key %d is %c", i, k.r)
		}
	}
	for range mostKeys + 1 {
		typed.put([]key{{'a', at}})
	}
	m := newModel(time.Millisecond, time.Second, true)
	m.view, m.mode, m.entries = &approval.View{}, filling, []approval.Entry{{Field: "a"}}
	k, _ := typed.take()
	m.press(k)
	if !typed.none() || m.mode != reading || len(m.entries) > 0 || m.lockedBy != "too much was typed at once, and none of it counts; "+untilSilence {
		t.Errorf("mode %d, %q", m.mode, m.lockedBy)
	}
}

// Each draw measured all of a long text once for each of its characters.
func TestADrawOfALongLineLooksAtWhatIsSeen(t *testing.T) {
	e := newEditor("Text: ", strings.Repeat("日本x", 10_000), nil)
	if n := testing.AllocsPerRun(1, func() { e.line(80) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
	for e.at > 0 {
		line, cursor := e.line(40)
		if before, _, _ := strings.Cut(line, "…"); cursor >= 40 || !strings.HasPrefix(before, "Text: ") {
			t.Fatalf("%q, the cursor at %d", line, cursor)
		}
		e.key(left)
	}
	if line, cursor := e.line(20); line != "Text: 日本x日本x日…" || cursor != 6 {
		t.Errorf("%q, the cursor at %d", line, cursor)
	}
}
