//go:build unix

package audit

import "github.com/mcpx-protocol/mcpx-bridge/bridge/private"

func truncate(f private.File, _ string, size int64) error { return f.Truncate(size) }
