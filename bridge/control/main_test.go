package control_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

// TestMain plays a bridge when it is told to, so that one can be killed.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("TEST_LIVE_IN"); {
	case dir != "":
		h := controltest.New("fs")
		d, err := control.Open(control.Options{Dir: dir, ID: "fs", Bridge: h})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(d.Path())
		d.Serve(context.Background())
	case os.Getenv("TEST_KNOCK_AT") != "":
		_, err := control.Dial(context.Background(), os.Getenv("TEST_KNOCK_AT"))
		fmt.Println(err)
	default:
		watchdog.Start()
		goleak.VerifyTestMain(m)
	}
}
