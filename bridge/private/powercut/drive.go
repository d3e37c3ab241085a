// Package powercut is a disk that loses power. It keeps apart what is on the disk
// and what the operating system only means to write there, bytes and names, and at
// a cut drops of the latter what a disk may drop (FINDINGS T1, RELIABILITY section
// 3, "power loss").
//
// A [Drive] is the model, in memory. A [Disk] is a real directory whose changes are
// written into a journal, from which [Disk.At] says what a cut after any of them
// could have left. Nothing of it ships.
package powercut

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Choose picks one of n possibilities, from 0 on. What is chosen decides what a
// cut leaves: the same choices, the same remains.
type Choose func(n int) int

// A Drive has files and directories by their paths, which are written with
// slashes; "" is the root. The model, where POSIX leaves room:
//
//   - What is written into a file and not synced may be lost, there whole, there up
//     to some byte, or there in blocks of [Block] bytes, in any choice of these: one
//     that is missing within the file reads as what was there before, or as zeros.
//     So may a truncation, whatever becomes of writes after it.
//   - A name that was made, changed or removed in a directory that was not synced may
//     be as before, whatever becomes of names after it. A rename is one change.
//   - Syncing a file does not keep its name, and syncing a directory does not
//     keep what is in its files.
type Drive struct {
	dirs map[string]*folder
}

// Block is how many bytes of a file are written or lost together.
const Block = 512

type folder struct {
	kept    map[string]*node // what a cut leaves at least
	now     map[string]*node
	pending []naming
}

// A naming is a change to the names of a directory.
type naming struct {
	gone string
	name string
	node *node
}

// A node is what a name stands for: a file, or a directory of the path dir.
type node struct {
	dir     string
	isDir   bool
	kept    []byte
	now     []byte
	pending []change
}

// A change is a write, or with data nil a truncation to off.
type change struct {
	off  int
	data []byte
}

// New is an empty Drive.
func New() *Drive { return &Drive{dirs: map[string]*folder{"": newFolder()}} }

func newFolder() *folder { return &folder{kept: map[string]*node{}, now: map[string]*node{}} }

func split(name string) (dir, base string) {
	dir, base = path.Split(name)
	return strings.TrimSuffix(dir, "/"), base
}

func (d *Drive) folderOf(name string) (*folder, string) {
	dir, base := split(name)
	f := d.dirs[dir]
	if f == nil {
		panic(fmt.Sprintf("powercut: there is no directory %q", dir))
	}
	return f, base
}

func (d *Drive) node(name string) *node {
	f, base := d.folderOf(name)
	return f.now[base]
}

func (f *folder) change(n naming) {
	f.pending = append(f.pending, n)
	n.apply(f.now)
}

func (n naming) apply(names map[string]*node) {
	if n.gone != "" {
		delete(names, n.gone)
	}
	if n.name != "" {
		names[n.name] = n.node
	}
}

// Create makes an empty file, unless there is one.
func (d *Drive) Create(name string) {
	if f, base := d.folderOf(name); f.now[base] == nil {
		f.change(naming{name: base, node: &node{}})
	}
}

// Mkdir makes a directory.
func (d *Drive) Mkdir(name string) {
	f, base := d.folderOf(name)
	f.change(naming{name: base, node: &node{isDir: true, dir: name}})
	d.dirs[name] = newFolder()
}

// Rename gives a file another name in its directory, in place of what has it.
func (d *Drive) Rename(from, to string) {
	f, base := d.folderOf(from)
	_, other := split(to)
	f.change(naming{gone: base, name: other, node: f.now[base]})
}

// Link gives a file a second name.
func (d *Drive) Link(from, to string) {
	f, base := d.folderOf(to)
	f.change(naming{name: base, node: d.node(from)})
}

// Remove takes a name away.
func (d *Drive) Remove(name string) {
	f, base := d.folderOf(name)
	f.change(naming{gone: base})
}

// Write writes into a file at an offset; below 0: at its end.
func (d *Drive) Write(name string, off int, data []byte) {
	n := d.node(name)
	if off < 0 {
		off = len(n.now)
	}
	n.change(change{off, slices.Clone(data)})
}

// Truncate makes a file size bytes long.
func (d *Drive) Truncate(name string, size int) { d.node(name).change(change{off: size}) }

func (n *node) change(c change) {
	n.pending = append(n.pending, c)
	n.now = c.apply(n.now)
}

func (c change) apply(text []byte) []byte {
	end := c.off + len(c.data)
	for len(text) < end {
		text = append(text, 0)
	}
	if c.data == nil {
		return text[:c.off]
	}
	copy(text[c.off:], c.data)
	return text
}

// Read is what a file has now.
func (d *Drive) Read(name string) (text []byte, there bool) {
	n := d.node(name)
	if n == nil || n.isDir {
		return nil, false
	}
	return n.now, true
}

// Names are those in a directory now, in order.
func (d *Drive) Names(dir string) []string { return slices.Sorted(maps.Keys(d.dirs[dir].now)) }

// Sync puts on the disk what was written into a file.
func (d *Drive) Sync(name string) {
	n := d.node(name)
	for _, c := range n.pending {
		n.kept = c.apply(n.kept)
	}
	n.pending = nil
}

// SyncDir puts on the disk the names in a directory.
func (d *Drive) SyncDir(dir string) {
	f := d.dirs[dir]
	for _, n := range f.pending {
		n.apply(f.kept)
	}
	f.pending = nil
}

// Cut takes the power away: of what is not on the disk, some is lost. The drive is
// then what is found when the power is back.
func (d *Drive) Cut(choose Choose) {
	for _, dir := range slices.Sorted(maps.Keys(d.dirs)) {
		f := d.dirs[dir]
		for _, n := range f.pending {
			if choose(2) == 1 {
				n.apply(f.kept)
			}
		}
		f.pending, f.now = nil, maps.Clone(f.kept)
	}
	there := New()
	d.rescue("", there, choose, map[*node]bool{})
	d.dirs = there.dirs
}

// rescue takes over what can still be reached by its name.
func (d *Drive) rescue(dir string, there *Drive, choose Choose, seen map[*node]bool) {
	f := d.dirs[dir]
	there.dirs[dir] = f
	for _, name := range slices.Sorted(maps.Keys(f.now)) {
		n := f.now[name]
		if n.isDir {
			d.rescue(n.dir, there, choose, seen)
		} else if !seen[n] {
			seen[n] = true
			n.cut(choose)
		}
	}
}

func (n *node) cut(choose Choose) {
	for _, c := range n.pending {
		n.kept = c.remains(n.kept, choose)
	}
	n.pending, n.now = nil, slices.Clone(n.kept)
}

// remains is what a cut leaves of a change.
func (c change) remains(text []byte, choose Choose) []byte {
	if c.data == nil {
		if choose(2) == 1 {
			return c.apply(text)
		}
		return text
	}
	switch choose(4) {
	case 0:
		return text
	case 1:
		return c.apply(text)
	case 2:
		return change{off: c.off, data: c.data[:choose(len(c.data)+1)]}.apply(text)
	}
	return c.inBlocks(text, choose)
}

// inBlocks: the file has grown, but not every block of it was written.
func (c change) inBlocks(text []byte, choose Choose) []byte {
	for len(text) < c.off+len(c.data) {
		text = append(text, 0)
	}
	for from := c.off; from < c.off+len(c.data); {
		to := min((from/Block+1)*Block, c.off+len(c.data))
		if choose(2) == 1 {
			copy(text[from:to], c.data[from-c.off:to-c.off])
		}
		from = to
	}
	return text
}
