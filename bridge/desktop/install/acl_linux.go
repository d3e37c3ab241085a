package install

import (
	"errors"
	"fmt"
	"os"

	sys "golang.org/x/sys/unix"
)

const (
	accessList = "system.posix_acl_access"
	maxList    = 64 << 10 // what Linux keeps under such a name
)

// keepList gives f the access list of another file, and none where that has none: a
// directory may give one to what is new in it.
func keepList(f *os.File, of string) error {
	list := make([]byte, maxList)
	n, err := sys.Getxattr(of, accessList, list)
	switch {
	case err == nil:
		err = sys.Fsetxattr(int(f.Fd()), accessList, list[:n], 0)
	case errors.Is(err, sys.ENODATA):
		err = sys.Fremovexattr(int(f.Fd()), accessList)
	}
	if err != nil && !errors.Is(err, sys.ENODATA) && !errors.Is(err, sys.ENOTSUP) {
		return fmt.Errorf("the file's access list cannot be kept: %w", err)
	}
	return nil
}
