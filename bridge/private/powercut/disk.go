package powercut

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A Disk is a private.Disk over a real directory, of whose changes it keeps a
// journal. Nothing is synced in earnest, so it is fast. It may be used from any
// goroutine.
type Disk struct {
	root string

	mu      sync.Mutex
	journal []step
	nodes   map[string]int // which file a name stands for now: files keep their number under other names
	last    int
	found   *Drive // what was there at first
}

// A step is one change.
type step struct {
	what string // it is, for people and for tests that look for one
	do   func(*Drive)
}

// On is a Disk over root, which must be empty or hold what [Disk.At] has put there.
func On(root string) *Disk {
	d := &Disk{root: root, nodes: map[string]int{}}
	d.found = New()
	d.take("")
	return d
}

// take notes what is there already; it is on the disk.
func (d *Disk) take(dir string) {
	entries, err := os.ReadDir(filepath.Join(d.root, dir))
	if err != nil {
		panic(err)
	}
	f := d.found.dirs[dir]
	for _, e := range entries {
		name := strings.TrimPrefix(dir+"/"+e.Name(), "/")
		n := &node{isDir: e.IsDir(), dir: name}
		f.now[e.Name()], f.kept[e.Name()] = n, n
		if e.IsDir() {
			d.found.dirs[name] = newFolder()
			d.take(name)
			continue
		}
		text, err := os.ReadFile(filepath.Join(d.root, name))
		if err != nil {
			panic(err)
		}
		n.kept, n.now = text, slices.Clone(text)
	}
}

// Steps is how many changes there have been.
func (d *Disk) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.journal)
}

// Trace says what the changes were, in words: "write NAME", "sync NAME" and so on, with
// names below the root.
func (d *Disk) Trace() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.journal {
		all = append(all, s.what)
	}
	return all
}

// At puts into the empty directory root what is there if the power is cut after a
// number of changes. Those of without, counted from 0, did not happen: so a test
// finds out what a forgotten sync costs.
func (d *Disk) At(steps int, choose Choose, root string, without ...int) error {
	d.mu.Lock()
	journal := d.journal[:steps]
	d.mu.Unlock()
	drive := d.found.clone()
	for i, s := range journal {
		if !slices.Contains(without, i) {
			s.do(drive)
		}
	}
	drive.Cut(choose)
	return drive.lay("", root)
}

// clone is a drive of its own with what is on d, all of which is on the disk.
func (d *Drive) clone() *Drive {
	c := &Drive{dirs: map[string]*folder{}}
	nodes := map[*node]*node{}
	for dir, f := range d.dirs {
		g := newFolder()
		for name, n := range f.now {
			if nodes[n] == nil {
				nodes[n] = &node{isDir: n.isDir, dir: n.dir, kept: slices.Clone(n.kept), now: slices.Clone(n.kept)}
			}
			g.now[name], g.kept[name] = nodes[n], nodes[n]
		}
		c.dirs[dir] = g
	}
	return c
}

func (d *Drive) lay(dir, root string) error {
	for name, n := range d.dirs[dir].now {
		to := filepath.Join(root, name)
		if !n.isDir {
			if err := os.WriteFile(to, n.now, 0o600); err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if err := d.lay(n.dir, to); err != nil {
			return err
		}
	}
	return nil
}

// below is a path in the journal: from the root on, with slashes.
func (d *Disk) below(name string) string {
	rel, err := filepath.Rel(d.root, name)
	if err != nil || strings.HasPrefix(rel, "..") {
		panic("powercut: " + name + " is not below " + d.root)
	}
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// do does something real, and then has it on the journal, or neither.
func (d *Disk) do(what string, real func() error, change func(*Drive)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := real(); err != nil {
		return err
	}
	d.journal = append(d.journal, step{what, change})
	return nil
}

// Open opens a file, as private.Open does.
func (d *Disk) Open(path string, flag int) (private.File, error) {
	name := d.below(path)
	var f private.File
	err := d.do("open "+name, func() (err error) { f, err = private.OS{}.Open(path, flag); return err }, func(v *Drive) {
		if flag&os.O_CREATE != 0 {
			v.Create(name)
		}
		if flag&os.O_TRUNC != 0 {
			v.Truncate(name, 0)
		}
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[name] == 0 {
		d.last++
		d.nodes[name] = d.last
	}
	return &file{File: f, d: d, node: d.nodes[name], opened: name, appends: flag&os.O_APPEND != 0}, nil
}

// Mkdir makes a directory.
func (d *Disk) Mkdir(dir string) error {
	return d.do("mkdir "+d.below(dir), func() error { return private.OS{}.Mkdir(dir) }, func(v *Drive) { v.Mkdir(d.below(dir)) })
}

// Rename gives a file another name.
func (d *Disk) Rename(from, to string) error {
	a, b := d.below(from), d.below(to)
	return d.do("rename "+a+" "+b, func() error {
		err := private.OS{}.Rename(from, to)
		if err == nil {
			d.nodes[b] = d.nodes[a]
			delete(d.nodes, a)
		}
		return err
	}, func(v *Drive) { v.Rename(a, b) })
}

// Link gives a file a second name. Its files are not opened by both.
func (d *Disk) Link(from, to string) error {
	return d.do("link "+d.below(from)+" "+d.below(to), func() error { return private.OS{}.Link(from, to) }, func(v *Drive) { v.Link(d.below(from), d.below(to)) })
}

// Remove takes a name away.
func (d *Disk) Remove(path string) error {
	return d.do("remove "+d.below(path), func() error {
		err := private.OS{}.Remove(path)
		if err == nil {
			delete(d.nodes, d.below(path))
		}
		return err
	}, func(v *Drive) { v.Remove(d.below(path)) })
}

// SyncDir puts names on the disk.
func (d *Disk) SyncDir(dir string) error {
	name := d.below(dir)
	return d.do("sync "+name+"/", func() error { return nil }, func(v *Drive) { v.SyncDir(name) })
}

// A file is one that is open. What it changes goes to the file that it was when it
// was opened, whatever that is called meanwhile.
type file struct {
	private.File
	d       *Disk
	node    int
	opened  string
	appends bool
	at      int // where Write goes on, without appends
}

// name is what the file is called now; "" if nothing is. The caller holds d.mu.
func (f *file) name() string {
	for name, n := range f.d.nodes {
		if n == f.node {
			return name
		}
	}
	return ""
}

// change does something to the file.
func (f *file) change(what string, real func() (int, error), change func(v *Drive, name string, n int)) (n int, err error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n, err = real()
	if name := f.name(); name != "" && (n > 0 || err == nil) {
		f.d.journal = append(f.d.journal, step{what + " " + name, func(v *Drive) { change(v, name, n) }})
	}
	return n, err
}

func (f *file) Write(p []byte) (int, error) {
	own, at := slices.Clone(p), -1
	if !f.appends {
		at = f.at
	}
	n, err := f.change("write", func() (int, error) { return f.File.Write(p) }, func(v *Drive, name string, n int) { v.Write(name, at, own[:n]) })
	f.at += n
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	own := slices.Clone(p)
	return f.change("write", func() (int, error) { return f.File.WriteAt(p, off) }, func(v *Drive, name string, n int) { v.Write(name, int(off), own[:n]) })
}

func (f *file) Truncate(size int64) error {
	_, err := f.change("truncate", func() (int, error) { return 0, f.File.Truncate(size) }, func(v *Drive, name string, _ int) { v.Truncate(name, int(size)) })
	return err
}

// Sync keeps what was written by now: nobody can write while it is on the journal.
func (f *file) Sync() error {
	_, err := f.change("sync", func() (int, error) { return 0, nil }, func(v *Drive, name string, _ int) { v.Sync(name) })
	return err
}
