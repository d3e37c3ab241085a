package audit

import (
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// truncate goes by the name: a handle for appending may not shorten.
func truncate(_ private.File, path string, size int64) error { return os.Truncate(path, size) }
