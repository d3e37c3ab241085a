package topic

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	goleak.VerifyTestMain(m)
}
