package engine

import (
	"os"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	os.Exit(m.Run())
}
