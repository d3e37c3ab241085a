package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey/passkeytest"
)

// A signer is the local person with a passkey.
type signer struct {
	*passkeytest.Authenticator
	c passkey.Credential
}

func newSigner(t *testing.T, name string) *signer {
	t.Helper()
	a := passkeytest.New(t)
	r := a.Register([]byte("c"))
	c, err := r.Verify([]byte("c"), passkeytest.Origin)
	if err != nil {
		t.Fatal(err)
	}
	c.Name = name
	return &signer{a, c}
}

func (s *signer) enrolled() string {
	r := s.Register([]byte("c"))
	return fmt.Sprintf(`{"event":"passkey_enrolled","by":["local"],"passkey":%s}`, r.Prove(&s.c))
}

func (s *signer) removed() string {
	return fmt.Sprintf(`{"event":"passkey_removed","by":["local"],"passkey":%s}`, s.c.Named())
}

// digest is that of what runs with these arguments.
func digest(args string) string {
	sum := sha256.Sum256([]byte("digest" + args))
	return hex.EncodeToString(sum[:])
}

func statementOf(question, args, nonce string) string {
	sum := sha256.Sum256([]byte(args))
	return fmt.Sprintf(`{"question":%q,"bridge":"fs","from":"ana","method":"tools/call","tool":"read_file","rules":["r"],"recorded_args":"%x","digest":%q,"nonce":%q}`, question, sum, digest(args), nonce)
}

// signs is a yes on record that s has signed.
func (s *signer) signs(question, args, nonce string) string {
	statement := statementOf(question, args, nonce)
	said := s.Sign([]byte(statement))
	return s.says(question, args, s.c.Prove(&said, []byte(statement)))
}

func (s *signer) says(question, args string, proof json.RawMessage) string {
	return fmt.Sprintf(`{"event":"confirmed","call":"1","from":"ana","method":"tools/call","tool":"read_file","question":%q,"by":["local"],"digest":%q,"passkey":%s,"args":%s}`,
		question, digest(args)[:8], proof, args)
}

func askedFor(question, args string, need int) string {
	return fmt.Sprintf(`{"event":"asked","call":"1","from":"ana","method":"tools/call","tool":"read_file","question":%q,"need":%d,"digest":%q,"confirm":"passkey","args":%s}`, question, need, digest(args)[:8], args)
}

func allowedBy(question, args, more string, by ...string) string {
	names, _ := json.Marshal(by)
	return fmt.Sprintf(`{"event":"decided","call":"1","from":"ana","tool":"read_file","verdict":"allow","question":%q,"by":%s,"digest":%q%s}`, question, names, digest(args)[:8], more)
}

// ofCall are records of another call than the first.
func ofCall(n int, recs []string) (all []string) {
	for _, r := range recs {
		all = append(all, strings.Replace(r, `"call":"1"`, fmt.Sprintf(`"call":"%d"`, n), 1))
	}
	return all
}

const (
	asks  = `{"path":"/a"}`
	other = `{"path":"/etc/shadow"}`
)

func TestWhatPasskeysSignedIsVerified(t *testing.T) {
	local, phone := newSigner(t, "blue key"), newSigner(t, "phone")
	text, head := sample(t, local.enrolled(), phone.enrolled(),
		askedFor("q0", asks, 1), phone.signs("q0", asks, "n1"), allowedBy("q0", asks, "", "local"),
		askedFor("q1", asks, 1), local.signs("q1", asks, "n2"), allowedBy("q1", asks, "", "local"),
		askedFor("q2", asks, 1), local.signs("q2", other, "n3"), allowedBy("q2", asks, fmt.Sprintf(`,"ran":%q,"modified":["/path"],"args":%s`, digest(other)[:8], other), "local"),
		askedFor("q3", asks, 1), strings.Replace(allowedBy("q3", asks, "", "local"), "allow", "deny", 1))
	r := check(t, text, knows(head))
	if !r.OK || r.Signed != 3 || r.Unenrolled != 0 {
		t.Errorf("%+v, %v", r, r.Fault)
	}
}

// Whoever rewrites a log can make its chain anew. What passkeys signed they cannot.
func TestWhatPasskeysDidNotSignIsFound(t *testing.T) {
	local, phone, thief := newSigner(t, "blue key"), newSigner(t, "phone"), newSigner(t, "blue key")
	first := local.signs("q0", asks, "n0")
	good := local.signs("q1", asks, "n1")
	forged, itsKey := *thief, *thief.Authenticator
	itsKey.ID, forged.c.ID, forged.Authenticator = local.ID, local.ID, &itsKey
	unverified := *local
	one := *local.Authenticator
	one.Flags, one.Counter = 0x01, 50
	unverified.Authenticator = &one
	elsewhere := *local
	two := *local.Authenticator
	two.Origin, two.Counter = "http://evil.example", 60
	elsewhere.Authenticator = &two
	again := local.signs("q1", asks, "n1")
	later := local.signs("q1", asks, "n9")
	allow := allowedBy("q1", asks, "", "local")
	uncounted := newSigner(t, "blue key")
	uncounted.Counts = false
	once := []string{askedFor("q1", asks, 1), uncounted.signs("q1", asks, "n1"), allow}
	forgedAsk := strings.Replace(askedFor("q1", asks, 1), asks, other, 1)
	bare := strings.Replace(good, `,"args":`+asks, "", 1)
	for name, test := range map[string]struct {
		recs []string
		said string
	}{
		"no signature":                                 {[]string{local.enrolled(), askedFor("q1", asks, 1), allow}, "allowed without the passkey that it takes"},
		"one of two":                                   {[]string{local.enrolled(), askedFor("q1", asks, 2), good, allow}, "and 2 had to agree"},
		"one twice":                                    {[]string{local.enrolled(), askedFor("q1", asks, 2), good, later, allow}, "and 2 had to agree"},
		"by another":                                   {[]string{local.enrolled(), askedFor("q1", asks, 1), good, allowedBy("q1", asks, "", "alice")}, `"alice" is said to have allowed it`},
		"two of one person":                            {[]string{local.enrolled(), phone.enrolled(), askedFor("q1", asks, 2), good, phone.signs("q1", asks, "n5"), allow}, "and 2 had to agree"},
		"in another's name":                            {[]string{local.enrolled(), askedFor("q1", asks, 1), strings.Replace(good, `"by":["local"]`, `"by":["alice"]`, 1), allow}, "sign for local alone"},
		"never enrolled":                               {[]string{askedFor("q1", asks, 1), good, allow}, "not enrolled on record"},
		"removed before":                               {[]string{local.enrolled(), local.removed(), askedFor("q1", asks, 1), good, allow}, "not enrolled on record"},
		"by a key of a thief":                          {[]string{local.enrolled(), askedFor("q1", asks, 1), thief.signs("q1", asks, "n1"), allow}, "not enrolled on record"},
		"by a thief in its name":                       {[]string{local.enrolled(), askedFor("q1", asks, 1), forged.signs("q1", asks, "n1"), allow}, "another one than was enrolled"},
		"for another question":                         {[]string{local.enrolled(), askedFor("q1", asks, 1), strings.Replace(first, `"question":"q0","by"`, `"question":"q1","by"`, 1), allow}, "not what the record says"},
		"for another caller":                           {[]string{local.enrolled(), strings.Replace(askedFor("q1", asks, 1), `"from":"ana"`, `"from":"eve"`, 1), good, allow}, "not what was asked"},
		"other arguments asked about":                  {[]string{local.enrolled(), strings.Replace(askedFor("q1", asks, 1), asks, other, 1), good, allow}, "not the arguments that were asked about"},
		"other arguments signed":                       {[]string{local.enrolled(), askedFor("q1", asks, 1), strings.Replace(good, `"args":`+asks, `"args":`+other, 1), allow}, "not the arguments on record"},
		"a statement put in later":                     {[]string{local.enrolled(), askedFor("q1", asks, 1), strings.Replace(good, `\"nonce\":\"n1\"`, `\"nonce\":\"n2\"`, 1), allow}, "for another challenge"},
		"the same once more":                           {[]string{local.enrolled(), askedFor("q1", asks, 1), good, again, allow}, "used before"},
		"a counter that went back":                     {[]string{local.enrolled(), askedFor("q1", asks, 1), later, good, allow}, "did not go on"},
		"nobody verified":                              {[]string{local.enrolled(), askedFor("q1", asks, 1), unverified.signs("q1", asks, "n1"), allow}, "did not verify who was there"},
		"on another page":                              {[]string{local.enrolled(), askedFor("q1", asks, 1), elsewhere.signs("q1", asks, "n1"), allow}, "on another page"},
		"to a question that nobody put":                {[]string{local.enrolled(), good, allow}, "to a question that was not put"},
		"without a proof":                              {[]string{local.enrolled(), askedFor("q1", asks, 1), strings.Replace(good, `"passkey":`, `"pass":`, 1), allow}, "there is no signature"},
		"other arguments ran":                          {[]string{local.enrolled(), askedFor("q1", asks, 1), good, allowedBy("q1", asks, `,"modified":["/path"],"args":`+other, "local")}, "not the arguments that ran"},
		"another call ran":                             {[]string{local.enrolled(), askedFor("q1", asks, 1), good, allowedBy("q1", asks, fmt.Sprintf(`,"ran":%q`, digest(other)[:8]), "local")}, "allowed without the passkey that it takes"},
		"the same for a second call":                   {append([]string{uncounted.enrolled()}, append(once, ofCall(2, once)...)...), "used before"},
		"other arguments asked about, and none signed": {[]string{local.enrolled(), forgedAsk, bare, allow}, "not the arguments that were asked about"},
		"another digest asked about, too":              {[]string{local.enrolled(), strings.Replace(forgedAsk, digest(asks)[:8], digest(other)[:8], 1), bare, allow}, "as another question than was put"},
		"other arguments ran, and none are signed":     {[]string{local.enrolled(), askedFor("q1", asks, 1), bare, allowedBy("q1", asks, `,"modified":["/path"],"args":`+other, "local")}, "not the arguments that ran"},
		"by a question that was not put":               {[]string{local.enrolled(), askedFor("q1", asks, 1), allowedBy("q2", asks, "", "local")}, "without question q1, whose yes takes a passkey"},
		"by no question":                               {[]string{local.enrolled(), askedFor("q1", asks, 1), allowedBy("", asks, "", "local")}, "without question q1, whose yes takes a passkey"},
		"for another call":                             {append([]string{local.enrolled(), askedFor("q1", asks, 1), good}, ofCall(2, []string{allow})...), "for another call than was asked about"},
		"the policy, by none":                          {[]string{`{"event":"reload_waiting","question":"q1","confirm":"passkey"}`, `{"event":"reload_decided","question":"q1","verdict":"allow","by":["local"]}`}, "allowed without the passkey that it takes"},
	} {
		text, head := sample(t, test.recs...)
		r := check(t, text, knows(head))
		if r.OK || !strings.Contains(r.Fault.Why, test.said) {
			t.Errorf("%s: %+v", name, r.Fault)
		}
	}
}

// Where another policy hides other arguments since the question was put, what was signed is what
// stands with the signature.
func TestAPolicyThatHidesMoreMeanwhileIsNoForgery(t *testing.T) {
	local := newSigner(t, "local")
	hidden := `{"path":"[redacted]"}`
	statement := strings.Replace(statementOf("q1", hidden, "n1"), digest(hidden), digest(asks), 1)
	said := local.Sign([]byte(statement))
	signed := strings.Replace(local.says("q1", hidden, local.c.Prove(&said, []byte(statement))), `"digest":"`+digest(hidden)[:8], `"digest":"`+digest(asks)[:8], 1)
	text, head := sample(t, local.enrolled(), askedFor("q1", asks, 1), `{"event":"reloaded"}`, signed, allowedBy("q1", asks, "", "local"))
	if r := check(t, text, knows(head)); !r.OK || r.Signed != 1 {
		t.Errorf("%+v", r.Fault)
	}
}

// A log whose beginning was removed may lack an enrolment; the signatures are good or bad all the same.
func TestPasskeysThatWereEnrolledBeforeTheFirstRecord(t *testing.T) {
	local := newSigner(t, "local")
	whole, _ := sample(t, slices.Concat([]string{local.enrolled()}, []string{askedFor("q1", asks, 1), local.signs("q1", asks, "n1"), allowedBy("q1", asks, "", "local")})...)
	at := strings.Index(string(whole), `{"seq":3,`)
	r := check(t, whole[at:], Checks{Partial: true})
	if !r.OK || r.Signed != 1 || r.Unenrolled != 1 {
		t.Errorf("%+v, %v", r, r.Fault)
	}
	bad := strings.Replace(string(whole[at:]), `\"tool\":\"read_file\"`, `\"tool\":\"send_file\"`, 1)
	if r := check(t, []byte(bad), Checks{Partial: true}); r.OK {
		t.Error("a forged one is taken")
	}
}

// An argument may be called confirm: that takes no passkey.
func TestAnArgumentThatIsCalledConfirmTakesNoPasskey(t *testing.T) {
	args := `{"path":"/a","confirm":true}`
	asked := strings.Replace(askedFor("q1", args, 1), `"confirm":"passkey",`, "", 1)
	text, head := sample(t, asked, allowedBy("q1", args, "", "local"))
	if r := check(t, text, knows(head)); !r.OK {
		t.Errorf("%+v", r.Fault)
	}
}

// What was removed on record signs no more, be the beginning of the record there or not, unless
// it is enrolled again.
func TestAPasskeyThatWasRemovedSignsNoMoreInAPartOfALog(t *testing.T) {
	local := newSigner(t, "local")
	again := local.enrolled()
	rest := []string{askedFor("q1", asks, 1), local.signs("q1", asks, "n1"), allowedBy("q1", asks, "", "local")}
	for more, ok := range map[string]bool{"": false, again: true} {
		whole, _ := sample(t, slices.Concat([]string{again, local.removed(), cmp.Or(more, `{"event":"reloaded"}`)}, rest)...)
		at := strings.Index(string(whole), `{"seq":3,`)
		if r := check(t, whole[at:], Checks{Partial: true}); r.OK != ok || !ok && !strings.Contains(r.Fault.Why, "not enrolled on record") {
			t.Errorf("enrolled again %v: %+v, %v", ok, r, r.Fault)
		}
	}
}

// A policy that is loaded while a question is open may want a passkey for it.
func TestAQuestionMayComeToTakeAPasskey(t *testing.T) {
	local := newSigner(t, "local")
	asked := strings.Replace(askedFor("q1", asks, 1), `"confirm":"passkey",`, "", 1)
	tightened := strings.Replace(askedFor("q1", asks, 1), "asked", "tightened", 1)
	yes, allow := local.signs("q1", asks, "n1"), allowedBy("q1", asks, "", "local")
	for name, test := range map[string]struct {
		recs []string
		said string
	}{
		"by a passkey":         {recs: []string{yes, allow}},
		"after another policy": {recs: []string{`{"event":"reloaded"}`, yes, allow}},
		"by none":              {[]string{allow}, "allowed without the passkey that it takes"},
		"for other arguments":  {[]string{strings.Replace(yes, `,"args":`+asks, `,"args":`+other, 1), allow}, "not the arguments on record"},
		"by another question":  {[]string{yes, allowedBy("q2", asks, "", "local")}, "without question q1"},
		"a no":                 {recs: []string{strings.Replace(allow, "allow", "deny", 1)}},
	} {
		text, head := sample(t, slices.Concat([]string{local.enrolled(), asked, `{"event":"reloaded"}`, tightened}, test.recs)...)
		r := check(t, text, knows(head))
		if r.OK != (test.said == "") || !r.OK && !strings.Contains(r.Fault.Why, test.said) {
			t.Errorf("%s: %+v", name, r.Fault)
		}
	}
}
