package audit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A memo is the file PATH.head: which record of the log was the newest that
// had been synced. Without it a log whose end was cut off would look whole.
// Whoever holds it has the log to itself.
type memo struct {
	path string
	log  *slog.Logger
	file *os.File
	info fs.FileInfo
}

// memoWidth is the length of the file, so that it is overwritten whole.
const memoWidth = 128

type memoText struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// open takes the file and what it says; the zero Head if that is nothing.
func (m *memo) open() (Head, error) {
	f, err := private.Open(m.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return Head{}, err
	}
	info, err := ours(f)
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		f.Close()
		return Head{}, err
	}
	m.file, m.info = f, info
	return readMemo(f)
}

// readMemo takes what cannot be read for an empty file: a power cut may have
// emptied it, and the log itself is there to be looked at.
func readMemo(r io.Reader) (Head, error) {
	text, err := io.ReadAll(io.LimitReader(r, 2*memoWidth))
	if err != nil {
		return Head{}, err
	}
	var m memoText
	h := Head{}
	if json.Unmarshal(text, &m) != nil || len(m.Hash) != prevWidth {
		return h, nil
	}
	if _, err := hex.Decode(h.Hash[:], []byte(m.Hash)); err != nil {
		return Head{}, nil
	}
	h.Seq = m.Seq
	return h, nil
}

// write notes h. That it fails is no reason to stop: the log is well.
func (m *memo) write(h Head) {
	if err := m.put(h); err != nil {
		m.log.Warn("the newest record of the audit log could not be noted beside it", "error", err)
	}
}

func (m *memo) put(h Head) error {
	if info, err := os.Lstat(m.path); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, m.info) {
		m.close()
		if _, err := m.open(); err != nil {
			return err
		}
	}
	if m.file == nil {
		return fs.ErrClosed
	}
	text := fmt.Appendf(make([]byte, 0, memoWidth), `{"seq":%d,"hash":"%x"}`, h.Seq, h.Hash)
	text = append(text, bytes.Repeat([]byte{' '}, memoWidth-1-len(text))...)
	_, err := m.file.WriteAt(append(text, '\n'), 0)
	return err
}

func (m *memo) close() {
	if m.file != nil {
		m.file.Close()
		m.file = nil
	}
}

// Memo is the newest record of the log at path that is known to have been
// synced, as the file beside it says; the zero Head if there is none.
func Memo(path string) (Head, error) {
	f, err := os.Open(path + ".head")
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, err
	}
	defer f.Close()
	return readMemo(f)
}
