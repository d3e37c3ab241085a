package loopback_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

func TestThisMachineHasOneNameAndItsNumbers(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "localhost.evil": false, "a.localhost": false, "127.0.0.1.nip.io": false, "10.0.0.1": false, "0.0.0.0": false, "::": false,
		"[::1]": false, "127.1": false, "2130706433": false, "0x7f.0.0.1": false, "::1%lo": false, "127.0.0.1:80": false, " localhost": false,
	} {
		if loopback.Is(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
