package audit

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTheKeyOutlivesTheLogAndIsNowhereInIt(t *testing.T) {
	path := newPath(t)
	l, found := open(t, path, Options{})
	mustAppend(t, l, whole(1)...)
	mustClose(t, l)
	key := found.Key
	if key == (Key{}) {
		t.Fatal("there is no key")
	}
	if text := read(t, path); strings.Contains(string(text), string(key[:])) {
		t.Error("the key is in the log")
	}
	l, found = open(t, path, Options{})
	mustClose(t, l)
	if found.Key != key {
		t.Error("the key is another after a restart")
	}
	_, other := open(t, newPath(t), Options{})
	if other.Key == key {
		t.Error("two logs have one key")
	}
}

// Half a key is as good as none: a crash left it.
func TestAKeyThatIsNotWholeIsMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for _, size := range []int{0, 31, 33} {
		write(t, path+".key", make([]byte, size))
		l, found := open(t, path, Options{})
		mustClose(t, l)
		if on := read(t, path+".key"); string(on) != string(found.Key[:]) || found.Key == (Key{}) {
			t.Errorf("of %d bytes came the key %x, and %x stands there", size, found.Key, on)
		}
	}
}

func TestAKeyOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing here")
	}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	write(t, path+".key", make([]byte, 32))
	if err := os.Chmod(path+".key", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), ".key (mode 0644)") {
		t.Errorf("it was opened: %v", err)
	}
}
