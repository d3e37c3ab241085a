package socket_test

import (
	"errors"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

func TestWithoutABridgeNoQuestionIsFound(t *testing.T) {
	_, err := socket.Find(t.Context(), nil, "3f2a")
	if known, ok := errors.AsType[*fault.Error](err); !ok || known.Exit != fault.Failed || err.Error() != "no bridge is running on this machine" {
		t.Error(err)
	}
}
