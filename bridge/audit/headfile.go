package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A Note is what the file PATH.head says of the log beside it.
//
// Who opens the log cuts off what is torn behind Head and says in its first record how much that
// was. It may be killed before that, so it notes first what it cuts. With 30 torn bytes:
//
//	the first    notes CutBefore 0, Cutting 30, cuts, and is killed in its record, of which 12 bytes are there
//	the second   finds 12 torn, so the 30 are gone; it notes CutBefore 30, Cutting 12, and its record says 42
//
// Had the first been killed before it cut, the second had found the same 30, and said 30.
type Note struct {
	Head      Head   // the newest record that is known to have been synced; zero: none
	Log       string // the id of the log; "" in notes of earlier builds
	CutBefore int64  // bytes that are cut off behind Head, which no record names yet
	Cutting   int64  // bytes that are being cut off there, and may be there still
	Bridge    string // who wrote to it last, as Options.Bridge has it
	There     bool   // the file is there and can be read
}

// A headFile is the file PATH.head. It says which record of which log was the newest that
// had been synced: without it a log whose end was cut off would look whole, and so would
// another log in its place (FINDINGS L1). A log is written only by who holds the lock on it.
//
// It has two slots of slotWidth bytes. One is on the disk while the other is written to: a
// power cut may leave half of the latter, which its sum shows, and then the former is
// still true. The file is written in place and not replaced: that would take a sync of the
// directory for each note.
type headFile struct {
	path string
	log  *slog.Logger
	disk private.Disk
	lazy bool // mode Never: it is not synced

	file  private.File
	info  fs.FileInfo
	slot  int       // where the next note goes
	kept  time.Time // when the other slot was synced
	fresh bool      // the note in slot is not synced
	note  Note      // the newest
}

const (
	slotWidth    = 256
	mostTorn     = 1 << 50     // bytes: no log is as long
	headFileSync = time.Second // while records are written, it is synced as often
)

type slotText struct {
	Seq    uint64 `json:"seq"`
	Hash   string `json:"hash"`
	Log    string `json:"log"`
	Torn   int64  `json:"torn"`
	Tail   int64  `json:"tail"`
	Bridge string `json:"bridge"`
	Sum    string `json:"sum"` // of what is before it; notes of earlier builds have none
}

// open takes the file and what it says. If there was none, it is empty until the
// first note.
func (m *headFile) open() (Note, error) {
	f, err := m.disk.Open(m.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return Note{}, err
	}
	info, err := ours(f)
	if err == nil {
		err = lock(f)
	}
	var slot int
	var note Note
	if err == nil {
		note, slot, err = readHeadFile(f)
	}
	if err == nil && note.There && !m.lazy {
		err = f.Sync() // who wrote it may have been killed since
	}
	if err != nil {
		f.Close()
		return Note{}, err
	}
	m.file, m.info, m.slot, m.kept, m.fresh = f, info, 1-slot, time.Now(), false
	return note, nil
}

// readHeadFile takes the newer of the two slots that can be read, and says which it is.
func readHeadFile(r io.Reader) (Note, int, error) {
	text, err := io.ReadAll(io.LimitReader(r, 2*slotWidth))
	if err != nil {
		return Note{}, 1, err
	}
	best, which := Note{}, 1
	for slot := range 2 {
		part := text[min(slot*slotWidth, len(text)):min((slot+1)*slotWidth, len(text))]
		if n := readSlot(part); n.There && (!best.There || n.newer(best)) {
			best, which = n, slot
		}
	}
	return best, which, nil
}

// newer: of two notes of one head, the later counts what the former does, and more.
func (n Note) newer(than Note) bool {
	return cmp.Or(cmp.Compare(n.Head.Seq, than.Head.Seq), cmp.Compare(n.CutBefore+n.Cutting, than.CutBefore+than.Cutting)) > 0
}

// alreadyCut is how many bytes are gone, where so many are torn now. Of the same length, those are
// the ones that were to be cut off when whoever noted that was killed.
func (n Note) alreadyCut(torn int64) int64 {
	if torn == n.Cutting {
		return n.CutBefore
	}
	return n.CutBefore + n.Cutting
}

func readSlot(text []byte) Note {
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	var m slotText
	n := Note{There: true}
	if json.Unmarshal(text, &m) != nil || len(m.Hash) != prevWidth || min(m.Torn, m.Tail) < 0 || max(m.Torn, m.Tail) > mostTorn {
		return Note{}
	}
	if _, err := hex.Decode(n.Head.Hash[:], []byte(m.Hash)); err != nil {
		return Note{}
	}
	if before, _, summed := bytes.Cut(text, []byte(`,"sum":`)); (summed || m.Log != "") && m.Sum != sumOf(before) {
		return Note{}
	}
	n.Head.Seq, n.Log, n.CutBefore, n.Cutting, n.Bridge = m.Seq, m.Log, m.Torn, m.Tail, m.Bridge
	return n
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (n Note) text() []byte {
	text := fmt.Appendf(make([]byte, 0, slotWidth), `{"seq":%d,"hash":"%x"`, n.Head.Seq, n.Head.Hash)
	if n.Log != "" {
		text = fmt.Appendf(text, `,"log":"%s"`, n.Log)
	}
	if n.CutBefore > 0 {
		text = fmt.Appendf(text, `,"torn":%d`, n.CutBefore)
	}
	if n.Cutting > 0 {
		text = fmt.Appendf(text, `,"tail":%d`, n.Cutting)
	}
	if n.Bridge != "" && len(n.Bridge) <= 64 {
		text = appendText(append(text, `,"bridge":`...), n.Bridge)
	}
	if len(text) > slotWidth-32 { // an id whose characters had to be escaped
		return Note{Head: n.Head, Log: n.Log, CutBefore: n.CutBefore, Cutting: n.Cutting}.text()
	}
	text = fmt.Appendf(text, `,"sum":"%s"}`, sumOf(text))
	return append(append(text, bytes.Repeat([]byte{' '}, slotWidth-1-len(text))...), '\n')
}

// begin makes the file say of what log it is, before that has its first record:
// from then on one without the other is not as it should be.
func (m *headFile) begin(n Note) error {
	m.note = n
	if m.file == nil {
		return fs.ErrClosed
	}
	text := n.text()
	if _, err := m.file.WriteAt(append(bytes.Clone(text), text...), 0); err != nil {
		return err
	}
	if m.lazy {
		return nil
	}
	if err := m.file.Sync(); err != nil {
		return err
	}
	return m.disk.SyncDir(filepath.Dir(m.path))
}

// write notes h. That it fails is no reason to stop: the log is well.
func (m *headFile) write(h Head) {
	m.note.Head = h
	if err := m.put(); err != nil {
		m.complain(err)
	}
}

func (m *headFile) complain(err error) {
	m.log.Warn("the note beside the audit log, of its newest record, could not be written", "error", err)
}

func (m *headFile) put() error {
	if info, err := os.Lstat(m.path); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, m.info) {
		m.close()
		if _, err := m.open(); err != nil {
			return err
		}
		return m.begin(m.note)
	}
	if m.file == nil {
		return fs.ErrClosed
	}
	_, err := m.file.WriteAt(m.note.text(), int64(m.slot*slotWidth))
	m.fresh = m.fresh || err == nil
	return err
}

// settle puts the newest note on the disk, if that has not been done for a while,
// or now at once; then the other slot is written to.
func (m *headFile) settle(now bool) {
	if m.file == nil || m.lazy || !m.fresh || !now && time.Since(m.kept) < headFileSync {
		return
	}
	m.kept = time.Now()
	if err := m.file.Sync(); err != nil {
		m.complain(err)
		return
	}
	m.slot, m.fresh = 1-m.slot, false
}

func (m *headFile) close() {
	if m.file != nil {
		m.file.Close()
		m.file = nil
	}
}

// ReadHeadFile is what the file beside the log at path says; the zero Note if there is
// none, or one that cannot be read.
func ReadHeadFile(path string) (Note, error) {
	f, err := private.OpenRegular(path + ".head")
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, nil
	}
	if err != nil {
		return Note{}, err
	}
	defer f.Close()
	note, _, err := readHeadFile(f)
	return note, err
}
