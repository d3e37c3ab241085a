package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
)

// passkeys are what people signed: the keys that were enrolled, and of questions that take them
// what was asked and who has signed what.
type passkeys struct {
	keys  map[string]*passkey.Credential // by id; nil: it was removed
	open  map[string]*confirmable        // by the id of the question
	about map[string]string              // the question that is open, by the call that it is about
	used  map[[sha256.Size]byte]bool     // what was signed, by its digest

	Signed     int // what was verified
	Unenrolled int // by keys that were enrolled before the first record
}

// A confirmable is a question whose yes takes a passkey.
type confirmable struct {
	signable
	reloaded bool // since it was asked: another policy may hide other arguments
	signed   []yes
}

// A yes is what a passkey has signed.
type yes struct {
	signable
	recorded string // the digest of the arguments, as it was signed; "" if that says nothing
}

// signable are the members of records that a signature is about.
type signable struct {
	Call     jsontext.Value `json:"call"`
	Question string         `json:"question"`
	Confirm  string         `json:"confirm"`
	From     string         `json:"from"`
	Method   string         `json:"method"`
	Tool     string         `json:"tool"`
	Need     int            `json:"need"`
	Verdict  string         `json:"verdict"`
	By       []string       `json:"by"`
	Digest   string         `json:"digest"`
	Ran      string         `json:"ran"`
	Modified []string       `json:"modified"`
	Args     jsontext.Value `json:"args"`
	Proof    *passkey.Proof `json:"passkey"`
}

// signedStatement is what a bridge has a passkey sign.
type signedStatement struct {
	Question string `json:"question"`
	From     string `json:"from"`
	Method   string `json:"method"`
	Tool     string `json:"tool"`
	Args     string `json:"recorded_args"`
	Digest   string `json:"digest"`
}

func newPasskeys() passkeys {
	return passkeys{keys: map[string]*passkey.Credential{}, open: map[string]*confirmable{}, about: map[string]string{}, used: map[[sha256.Size]byte]bool{}}
}

// add says what is wrong with a record as to passkeys; "" if nothing is. partial: keys may have
// been enrolled, and questions put, before the records that are read.
func (p *passkeys) add(event string, text []byte, partial bool) string {
	switch event {
	case "reloaded":
		for _, of := range p.open {
			of.reloaded = true
		}
		return ""
	case "asked", "tightened", "reload_waiting":
		if !bytes.Contains(text, []byte(`"confirm":`)) {
			return ""
		}
	case "passkey_enrolled", "passkey_removed", "confirmed":
	case "decided", "reload_decided":
		if len(p.open) == 0 {
			return ""
		}
	default:
		return ""
	}
	var r signable
	if err := json.Unmarshal(text, &r, lenient); err != nil {
		return "what it says of a passkey cannot be read: " + err.Error()
	}
	switch event {
	case "passkey_enrolled", "passkey_removed":
		return p.listed(event, &r)
	case "confirmed":
		return p.confirmed(&r, partial)
	case "decided", "reload_decided":
		return p.decided(&r)
	}
	if r.Confirm != "" { // and no argument is called that
		p.put(&r)
	}
	return ""
}

// put opens a question.
func (p *passkeys) put(r *signable) {
	r.Args, r.Call = bytes.Clone(r.Args), bytes.Clone(r.Call)
	p.open[r.Question] = &confirmable{signable: *r}
	if r.Call != nil {
		p.about[string(r.Call)] = r.Question
	}
}

func (p *passkeys) listed(event string, r *signable) string {
	if r.Proof == nil {
		return "it does not say which passkey"
	}
	if event == "passkey_removed" {
		p.keys[string(r.Proof.Credential)] = nil
		return ""
	}
	p.keys[string(r.Proof.Credential)] = &passkey.Credential{ID: r.Proof.Credential, PublicKey: r.Proof.PublicKey}
	return ""
}

// confirmed verifies a signature, and that it is about what the record says.
func (p *passkeys) confirmed(r *signable, partial bool) string {
	of := p.open[r.Question]
	switch {
	case r.Proof == nil || len(r.By) != 1:
		return "a yes is said to be signed, and there is no signature"
	case of == nil && !partial:
		return "a yes was signed to a question that was not put"
	}
	if why := p.verified(r, partial); why != "" {
		return "the passkey of " + r.By[0] + " did not sign this: " + why
	}
	var said signedStatement
	if err := json.Unmarshal([]byte(r.Proof.Statement), &said); err != nil {
		return "what was signed cannot be read: " + err.Error()
	}
	signed := sha256.Sum256([]byte(r.Proof.Statement))
	one := yes{*r, said.Args}
	switch {
	case said.Question != r.Question, said.From != r.From, said.Method != r.Method, said.Tool != r.Tool, short(said.Digest) != r.Digest:
		return "what was signed is not what the record says"
	case said.Args != "" && r.Args != nil && said.Args != digestOf(r.Args):
		return "what was signed are not the arguments on record"
	case p.used[signed]:
		return "what was signed was used before"
	}
	p.used[signed] = true
	switch {
	case of == nil:
		return ""
	case of.Method != "" && (of.From != r.From || of.Method != r.Method || of.Tool != r.Tool):
		return "what was signed is not what was asked"
	case of.Digest == r.Digest && !of.reloaded && one.differs(of.Args):
		return "what was signed are not the arguments that were asked about"
	}
	one.Args = bytes.Clone(r.Args)
	of.signed = append(of.signed, one)
	return ""
}

// differs reports whether arguments on record are others than those that were signed. Long ones
// are not there.
func (y *yes) differs(args jsontext.Value) bool {
	switch {
	case args == nil:
		return false
	case y.Args != nil:
		return !bytes.Equal(y.Args, args)
	}
	return y.recorded != "" && y.recorded != digestOf(args)
}

// verified verifies the signature of a record.
func (p *passkeys) verified(r *signable, partial bool) string {
	key, known := p.keys[string(r.Proof.Credential)]
	switch {
	case key == nil && (known || !partial):
		return "it was not enrolled on record"
	case key == nil:
		p.Unenrolled++
		key = &passkey.Credential{ID: r.Proof.Credential, PublicKey: r.Proof.PublicKey}
		p.keys[string(r.Proof.Credential)] = key
	}
	switch {
	case !bytes.Equal(key.PublicKey, r.Proof.PublicKey):
		return "it is another one than was enrolled"
	case r.By[0] != "local":
		return "passkeys sign for local alone"
	}
	if err := key.Verify(&r.Proof.Assertion, []byte(r.Proof.Statement), ""); err != nil {
		return err.Error()
	}
	p.Signed++
	return ""
}

// decided says what is missing of a yes that takes passkeys.
func (p *passkeys) decided(r *signable) string {
	of := p.open[r.Question]
	switch asked := p.about[string(r.Call)]; {
	case of == nil && asked != "" && r.Verdict == "allow":
		return fmt.Sprintf("it was allowed without question %s, whose yes takes a passkey", asked)
	case of == nil:
		return ""
	case !bytes.Equal(of.Call, r.Call):
		return "it was decided for another call than was asked about"
	}
	delete(p.open, r.Question)
	delete(p.about, string(r.Call))
	if r.Verdict != "allow" {
		return ""
	}
	signed, ran := false, cmp.Or(r.Ran, r.Digest)
	for _, s := range of.signed {
		if s.Digest != ran {
			continue
		}
		signed = true
		if len(r.Modified) > 0 && !of.reloaded && s.differs(r.Args) {
			return "what was signed are not the arguments that ran"
		}
	}
	switch {
	case !signed:
		return "it was allowed without the passkey that it takes"
	case of.Need > 1:
		return fmt.Sprintf("it was allowed by passkeys, which sign for local alone, and %d had to agree", of.Need)
	case len(r.Modified) == 0 && ran != of.Digest:
		return "it was allowed as another question than was put"
	}
	for _, who := range r.By {
		if who != "local" {
			return fmt.Sprintf("%q is said to have allowed it, whose passkey signed nothing", who)
		}
	}
	return ""
}

func digestOf(args []byte) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:])
}

// short is the form in which records name a digest.
func short(digest string) string { return digest[:min(len(digest), 8)] }
