//go:build unix

package audit

import "os"

func truncate(f *os.File, _ string, size int64) error { return f.Truncate(size) }

// syncDir makes the names in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
