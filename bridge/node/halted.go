package node

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A haltFile is there while a bridge is halted in a topic, and says how: a run that finds it is halted
// from its beginning. So is one whose record ends halted, whatever became of the file: who
// takes that away has not resumed the bridge.
type haltFile struct {
	path    string
	earlier string // where versions kept it that did not ask for the topic: for all who have the id

	mu sync.Mutex // of who changes it, so that what is true last stays
}

// localPerson is who halts a bridge and lets it go on, as policies name them.
var localPerson = approval.Who{Door: approval.Local}.String()

// maxHaltFile is more than any has, in bytes.
const maxHaltFile = 64 << 10

// openHalted tells the Engine whether an earlier run was halted. A bridge of our id in another
// topic has a file of its own, so that who resumes that one has not resumed us.
func (p *plan) openHalted(id string) *haltFile {
	dir := p.o.State.File("halted")
	f := &haltFile{path: filepath.Join(dir, p.inTopic(id)+".json"), earlier: filepath.Join(dir, id+".json")}
	if p.engine.Halted = readHalted(f.path); p.engine.Halted != nil {
		return f
	}
	if p.engine.Halted = readHalted(f.earlier); p.engine.Halted != nil {
		if err := f.keep(func() *engine.Halted { return p.engine.Halted }); err != nil {
			p.o.Log.Warn("the bridge is halted, but may not be after a restart", "error", err)
		}
	}
	return f
}

// inTopic names what is of a bridge in one topic: one of its id may run in another.
func (p *plan) inTopic(id string) string {
	topic := sha256.Sum256([]byte(p.engine.Topic))
	return fmt.Sprintf("%s~%x", id, topic[:4])
}

// readHalted is how an earlier run was halted, nil if it was not. What cannot be read is a halt too.
func readHalted(path string) *engine.Halted {
	raw, err := private.Read(path, maxHaltFile, private.Care{Check: private.Closed})
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
		return errors.Join(private.Delete(nil, f.path), private.Delete(nil, f.earlier))
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
