package approval

import (
	"reflect"
	"testing"
	"time"
)

// AI-6: every field is part of the digest, and no field runs into the next.
func TestAI06DigestCoversEveryField(t *testing.T) {
	base := Binding{Bridge: "fs", Dialect: "mcp-x/v0", Topic: "t1", Caller: "bob", Proposer: "dave", Envelope: "e7", Method: "tools/call",
		Tool: "write_file", Fingerprint: "f1", Args: []byte(`{"a":1}`), Timeout: time.Second, PolicyHash: "p", Expiry: began}
	seen := map[Digest]string{base.Digest(): "nothing"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		changed := base
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch value := f.Interface().(type) {
		case string:
			f.SetString(value + "x")
		case []byte:
			f.SetBytes([]byte(`{"a":1 }`))
		case time.Duration:
			f.SetInt(int64(value) + 1)
		case [16]byte:
			f.Index(15).SetUint(1)
		case time.Time:
			f.Set(reflect.ValueOf(value.Add(1)))
		default:
			t.Fatalf("%T", value)
		}
		name := v.Type().Field(i).Name
		if other, ok := seen[changed.Digest()]; ok {
			t.Errorf("%s changes as little as %s", name, other)
		}
		seen[changed.Digest()] = name
	}
	a, b := base, base
	a.Bridge, a.Dialect = "fs", "x"
	b.Bridge, b.Dialect = "f", "sx"
	if a.Digest() == b.Digest() {
		t.Error("fields run into each other")
	}
}

func TestAI06OneDecisionOneDigest(t *testing.T) {
	s := newStage(t, Options{PerCaller: 100, PerMinute: 100})
	seen := map[Digest]bool{}
	for range 20 {
		s.open(writeFile("alice", "carol"))
		digest := s.shown("alice").Digest
		if seen[digest] || digest != s.shown("carol").Digest {
			t.Fatal("one digest for two questions, or two for one")
		}
		seen[digest] = true
		s.says("alice", approves)
		if e := s.wantEnd(Allowed, ""); e.Digest != digest || e.Ran != digest || string(e.Args) != `{"path":"/a","text":"x"}` {
			t.Errorf("%+v", e)
		}
	}
}

func TestDigestIs(t *testing.T) {
	d := (&Binding{}).Digest()
	for _, text := range []string{d.String(), d.Short(), "sha256:" + d.String(), "sha256:" + d.Short()} {
		if !d.Is(text) {
			t.Errorf("is not %s", text)
		}
	}
	for _, text := range []string{"", "sha256:", d.String()[:9], d.String()[1:], "SHA256:" + d.String(), d.Short() + " "} {
		if d.Is(text) {
			t.Errorf("is %q", text)
		}
	}
}
