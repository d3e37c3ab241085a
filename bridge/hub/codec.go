package hub

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// codecVersion is of what Append writes. Another one is not read.
const codecVersion = 1

// A written is the first line of an entry as bytes. Byte slices are in base64, as what they hold
// must come back as it was.
type written struct {
	Version int            `json:"v"`
	Kind    string         `json:"kind"`
	Who     *writtenMember `json:"who,omitzero"`

	At      time.Time `json:"at,omitzero"`
	Dialect string    `json:"dialect,omitzero"`

	// What the topic knew of the request that a response answers.
	Method string   `json:"method,omitzero"`
	Key    string   `json:"key,omitzero"`
	Corr   []string `json:"corr,omitzero"`
	RPCID  []byte   `json:"rpc_id,omitzero"`
	Misled []string `json:"misled,omitzero"`
}

type writtenMember struct {
	ID      string `json:"id"`
	Caps    []byte `json:"caps,omitzero"`
	Dialect string `json:"dialect"`
	Epoch   int64  `json:"epoch"`
}

var kindWords = [...]string{Said: "said", Joined: "joined", Left: "left"}

// Append appends the entry as bytes, for a Log or a History that keeps or sends them: a line of
// JSON and, behind it, the frame as it is. What is for this hub alone is left out. A log calls it
// in Publish, before it hands on the entry.
func (e *Entry) Append(dst []byte) []byte {
	w := written{
		Version: codecVersion, Kind: kindWords[e.Kind], At: e.At, Dialect: e.Dialect.Protocol,
		RPCID: e.Recalled.RPCID, Misled: e.Recalled.Misled,
	}
	if e.Envelope.Kind == wire.Response {
		w.Method, w.Key, w.Corr = e.Envelope.Method, e.Envelope.Key, e.Envelope.Corr
	}
	if m := e.Who; m != nil {
		w.Who = &writtenMember{ID: m.ID, Caps: m.Caps.Raw(), Dialect: m.Dialect.Protocol, Epoch: m.Epoch}
	}
	line, err := json.Marshal(w, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // no value of these types is without a form
	}
	return append(append(append(dst, line...), '\n'), e.Frame...)
}

// ReadEntry reads what Append has written. The bytes belong to the entry from here on.
func ReadEntry(b []byte) (*Entry, error) {
	line, frame, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return nil, errors.New("an entry without its first line")
	}
	var w written
	if err := json.Unmarshal(line, &w, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the first line of an entry: %w", err)
	}
	if w.Version != codecVersion {
		return nil, fmt.Errorf("an entry of version %d", w.Version)
	}
	who, err := w.Who.member()
	if err != nil {
		return nil, err
	}
	switch {
	case w.Kind == kindWords[Said]:
		return w.said(who, frame)
	case who == nil || len(frame) > 0:
	case w.Kind == kindWords[Joined]:
		return &Entry{Kind: Joined, Who: who}, nil
	case w.Kind == kindWords[Left]:
		return &Entry{Kind: Left, Who: who}, nil
	}
	return nil, fmt.Errorf("an entry that says %+.20q and not of whom, or more than that", w.Kind)
}

func (w *writtenMember) member() (*Member, error) {
	if w == nil {
		return nil, nil
	}
	caps, err := wire.ParseCaps(w.Caps)
	if err != nil {
		return nil, err
	}
	d, known := wire.Lookup(w.Dialect)
	if !known || !wire.ValidID(w.ID) || w.Epoch < 1 {
		return nil, fmt.Errorf("an entry of %+.80q, who speaks %+.20q", w.ID, w.Dialect)
	}
	return &Member{ID: w.ID, Caps: caps, Dialect: d, Epoch: w.Epoch}, nil
}

// said reads the frame anew. Only a whole one was ever said: nothing is filled in.
func (w *written) said(who *Member, frame []byte) (*Entry, error) {
	d, _ := wire.Lookup(w.Dialect)
	e := &Entry{Who: who, At: w.At, Dialect: d, Frame: frame, Recalled: Recalled{RPCID: w.RPCID, Misled: w.Misled}}
	env := &e.Envelope
	whole, err := d.Accept(env, frame, "", func() (id, ts string) { return "", "" })
	switch {
	case err != nil:
		return nil, fmt.Errorf("the frame of an entry: %w", err)
	case len(whole) != len(frame), who != nil && who.ID != env.From:
		return nil, errors.New("the frame of an entry lacks something, or is somebody else's")
	case env.Kind == wire.Response:
		env.Method, env.Key, env.Corr = w.Method, w.Key, w.Corr
	}
	return e, nil
}
