package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

func TestWhoIsHereIsBoundedAndSafeToShow(t *testing.T) {
	ids := []string{"bob", "al\u202Eice\u200B", strings.Repeat("c", 1<<20)}
	for i := range 60 {
		ids = append(ids, fmt.Sprintf("x%02d", i))
	}
	h := inbox.PresentOf(ids)
	if h.All != 63 || len(h.Names) != 50 {
		t.Fatalf("%d of %d", len(h.Names), h.All)
	}
	if got := strings.Join(h.Names[:4], " "); got != `al\u{202e}ice\u{200b} bob `+strings.Repeat("c", 100)+"… x00" {
		t.Errorf("%q", got)
	}
}
