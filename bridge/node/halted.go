package node

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A haltFile is there while a bridge is halted, and says how: a run that finds it is halted
// from its beginning. So is one whose record ends halted, whatever became of the file: who
// takes that away has not resumed the bridge.
type haltFile struct {
	path string

	mu sync.Mutex // of who changes it, so that what is true last stays
}

// localPerson is who halts a bridge and lets it go on, as policies name them.
var localPerson = approval.Who{Door: approval.Local}.String()

// maxHaltFile is more than any has, in bytes.
const maxHaltFile = 64 << 10

// openHalted tells the Engine whether an earlier run was halted.
func (p *plan) openHalted(id string) *haltFile {
	f := &haltFile{path: filepath.Join(p.o.State.File("halted"), id+".json")}
	p.engine.Halted = f.read()
	return f
}

// read is how an earlier run was halted, nil if it was not. What cannot be read is a halt too.
func (f *haltFile) read() *engine.Halted {
	raw, err := private.Read(f.path, maxHaltFile, private.Care{Check: private.Closed})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var h inbox.Halted
	if err == nil {
		err = json.Unmarshal(raw, &h)
	}
	if err != nil {
		return &engine.Halted{By: localPerson, Why: "the file that says why cannot be read: " + text.Cut(err.Error(), inbox.MaxReason)}
	}
	return &engine.Halted{By: h.By, Why: h.Reason, Since: h.Since}
}

// haltedOnRecord is for a run whose record ends halted.
func (p *plan) haltedOnRecord() {
	if p.engine.Halted == nil {
		p.engine.Halted = &engine.Halted{By: localPerson, Why: "the record says that it was halted, and not that it was resumed"}
	}
}

// keep writes down how the bridge is halted now, or that it is not.
func (f *haltFile) keep(now func() *engine.Halted) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := now()
	if h == nil {
		return private.Delete(nil, f.path)
	}
	raw, err := json.Marshal(shownHalt(h))
	if err != nil {
		return err
	}
	if err := private.MakeDir(nil, filepath.Dir(f.path)); err != nil {
		return err
	}
	return private.Replace(nil, f.path, append(raw, '\n'))
}

// shownHalt is how a bridge is halted as people see it; nil: it is not.
func shownHalt(h *engine.Halted) *inbox.Halted {
	if h == nil {
		return nil
	}
	return &inbox.Halted{By: h.By, Reason: h.Why, Since: h.Since.UTC()}
}
