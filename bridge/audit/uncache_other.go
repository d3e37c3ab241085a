//go:build !linux

package audit

import "os"

// uncache does nothing: there is no such hint everywhere.
func uncache(*os.File, int64) {}
