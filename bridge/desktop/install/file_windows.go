package install

import (
	"io/fs"
	"os"
)

// keepOwner has nothing to do: who a file belongs to comes from its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
