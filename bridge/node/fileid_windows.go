package node

import "io/fs"

// fileID tells nothing here: size and time of a file have to do.
func fileID(fs.FileInfo) any { return nil }
