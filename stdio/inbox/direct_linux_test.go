package inbox_test

import (
	"io"
	"net"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
)

// All else here would hold for ordinary reads too.
func TestASocketIsReadDirectly(t *testing.T) {
	for _, w := range ways(t) {
		if _, socket := w.in.(net.Conn); socket && inbox.New(w.in) == io.Reader(w.in) {
			t.Errorf("a %s is read as anything else is", w.name)
		}
	}
}
