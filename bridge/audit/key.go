package audit

import (
	"crypto/rand"
	"io"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A Key is what a caller of this package digests with where a record is to say
// that something is the same as before, and not what it was. With a digest
// alone, whoever is shown the log could try out what may have been hidden from
// it: an amount, a name, a bad password. It is no part of the log, and whoever
// hands that on keeps it back.
type Key [32]byte

// takeKey reads the key beside a log, or makes one, and has it on the disk, its
// name apart. Whoever calls it has the log to itself. A key that is lost, or half
// written, costs no more than that what is on record is not known again.
func takeKey(d private.Disk, path string) (Key, error) {
	f, err := d.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	info, err := ours(f)
	if err != nil {
		return Key{}, err
	}
	var key Key
	if _, err := io.ReadFull(f, key[:]); err == nil && info.Size() == int64(len(key)) {
		return key, nil
	}
	rand.Read(key[:])
	if err := f.Truncate(0); err != nil {
		return Key{}, err
	}
	if _, err := f.WriteAt(key[:], 0); err != nil {
		return Key{}, err
	}
	return key, f.Sync()
}
