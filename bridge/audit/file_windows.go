package audit

import "os"

// truncate goes by the name: a handle for appending may not shorten.
func truncate(_ *os.File, path string, size int64) error { return os.Truncate(path, size) }

func syncDir(string) error { return nil }
