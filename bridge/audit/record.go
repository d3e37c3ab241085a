package audit

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Record is one record of a log, as people and programs look back at it. A member that
// is not there, or is of another kind than it should be, is empty here: a log that
// somebody has changed can be looked at, too. Text is good until the next record is read,
// the rest for ever.
type Record struct {
	Line   `json:"-"` // the record as it is written
	Broken bool       `json:"-"` // it is no JSON object, or a member below is of another kind than it should be

	Seq       uint64         `json:"seq"`
	At        time.Time      `json:"ts"`
	Event     string         `json:"event"` // by the name that it has today
	Call      string         `json:"-"`     // without the quotes of a string
	Env       string         `json:"env"`
	From      string         `json:"from"`
	Method    string         `json:"method"`
	Tool      string         `json:"tool"`
	Via       string         `json:"via"`
	Proposal  string         `json:"proposal"`
	Verdict   string         `json:"verdict"`
	Outcome   string         `json:"outcome"`
	Reason    string         `json:"reason"`
	Rule      string         `json:"rule"`
	By        []string       `json:"by"` // who decided
	Of        []string       `json:"of"` // who is asked
	Args      jsontext.Value `json:"args"`
	ArgsBytes int            `json:"args_bytes"` // how long the arguments were, if they are not on record
	Beside    jsontext.Value `json:"beside"`
	Why       string         `json:"why"`
}

// Records yields the records of the log at path with all its files, oldest first, also
// while it turns over, but for those from before since. Of a line whose time cannot be
// read nobody knows that: it is yielded. The first error ends it: [fs.ErrNotExist] if
// there is no log, [ErrRestless] if it turns over all the time, and the cause of ctx with
// the next record after ctx has ended.
func Records(ctx context.Context, path string, since time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		all(path, openFile, func(line Line, err error) bool {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(Record{}, err)
				return false
			}
			if !since.IsZero() {
				if h, err := readHeader(line.Text); err == nil && h.at.Before(since) {
					return true
				}
			}
			return yield(ReadRecord(line), nil)
		})
	}
}

// lenient reads what writers of other logs let pass: the same name twice, of which the
// last counts, and text that is not UTF-8.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// ReadRecord reads what it can of a line.
func ReadRecord(l Line) Record {
	r := Record{Line: l}
	into := struct {
		*Record
		Call jsontext.Value `json:"call"`
	}{Record: &r}
	if json.Unmarshal(l.Text, &into, lenient) != nil {
		r = Record{Line: l, Broken: true}
		for name, value := range l.Members() {
			one := append(append(appendText([]byte{'{'}, name), ':'), value...)
			json.Unmarshal(append(one, '}'), &into, lenient)
		}
	}
	if json.Unmarshal(into.Call, &r.Call, lenient) != nil {
		r.Call = string(into.Call)
	}
	r.Event = EventName(r.Event)
	return r
}

// Members are all members of the record in the order in which they are written, as far
// as it is a JSON object.
func (l Line) Members() iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(l.Text), lenient)
		if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
			return
		}
		for d.PeekKind() == '"' {
			token, err := d.ReadToken()
			if err != nil {
				return
			}
			name := token.String()
			value, err := d.ReadValue()
			if err != nil || !yield(name, value) {
				return
			}
		}
	}
}
