//go:build !linux

package private

// SyncAside is f.Sync.
func SyncAside(f File) error { return f.Sync() }
