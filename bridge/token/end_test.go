package token_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

// Who joins with a token is told when it ends and what becomes of them; who has a command that
// fetches the next has nothing to do.
func TestWhatBecomesOfWhomATokenEnds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	bearer := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, now.Add(8*time.Hour).Unix())) + ".x"
	const then, make = "a participant that joined with it loses the seat then", "; token --ttl 90d makes one that lasts, --token-command fetches the next"
	for _, c := range []struct {
		bearer, file string
		command      bool
		until, then  string
	}{
		{bearer: "no token of ours"},
		{bearer: bearer, until: "good until 20:00", then: then + make},
		{bearer: bearer, file: "my.token", until: "good until 20:00", then: then + ", unless my.token has another by that time" + make},
		{bearer: bearer, command: true, until: "good until 20:00"},
	} {
		if until, then := token.Ends(c.bearer, c.file, c.command, now); until != c.until || then != c.then {
			t.Errorf("%+v: %q, %q", c, until, then)
		}
	}
}
