package client

import (
	"log/slog"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// WarnOfSecret warns where what somebody gives as a reason, by a flag, looks as if a secret were in
// it: others read it, as who says, and bridges put it on record.
func WarnOfSecret(log *slog.Logger, flag, said, who string) {
	if policy.LooksSecret(said) {
		log.Warn(flag + " looks as if a secret were in it, and " + who)
	}
}
