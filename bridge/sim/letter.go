package sim

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A letterBody is the JSON-RPC message in a frame of the bridge.
type letterBody struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int `json:"code"`
		Data struct {
			Reason   string `json:"reason"`
			Executed string `json:"executed"`
			Decision string `json:"decision_id"`
		} `json:"data"`
	} `json:"error"`
}

// elicited is what stands in an elicitation/create.
type elicited struct {
	Message         string `json:"message"`
	RequestedSchema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"requestedSchema"`
	Metadata struct {
		Digest          string   `json:"digest"`
		OriginalRequest original `json:"originalRequest"`
	} `json:"metadata"`
}

type original struct {
	From           string          `json:"from"`
	Tool           string          `json:"tool"`
	Arguments      json.RawMessage `json:"arguments"`
	ArgumentsBytes int             `json:"argumentsBytes"`
	Beside         json.RawMessage `json:"beside"`
	EnvelopeID     string          `json:"envelopeId"`
}

func (e *elicited) fields() (all []string) {
	for name := range e.RequestedSchema.Properties {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// oneOrMany is a link as the dialects write it.
type oneOrMany []string

func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	var one string
	err := json.Unmarshal(text, &one)
	*o = oneOrMany{one}
	return err
}

// readLetter reads a frame of the bridge.
func readLetter(raw []byte) (*letter, error) {
	l := &letter{raw: raw}
	if err := json.Unmarshal(raw, l); err != nil {
		return nil, err
	}
	if l.Payload.Method == "elicitation/create" {
		return l, json.Unmarshal(l.Payload.Params, &l.params)
	}
	return l, nil
}

// outcome is what an answer of the server's says became of a call.
func (l *letter) outcome() string {
	var r struct{ IsError bool }
	switch {
	case l.Payload.Error != nil:
		return "error"
	case json.Unmarshal(l.Payload.Result, &r) == nil && r.IsError:
		return "tool_error"
	}
	return "ok"
}

// A letter is a frame of the bridge, as a participant reads it.
type letter struct {
	envelope[letterBody]

	params elicited
	raw    []byte
}

// An envelope is one as the checker reads it.
type envelope[P any] struct {
	Protocol string    `json:"protocol"`
	ID       string    `json:"id"`
	From     string    `json:"from"`
	To       []string  `json:"to"`
	Kind     string    `json:"kind"`
	Corr     oneOrMany `json:"correlation_id"`
	Payload  P         `json:"payload"`
}

func (l *letter) delegable() bool { return l.offers("delegateTo") }

func (l *letter) offers(field string) bool { return slices.Contains(l.params.fields(), field) }

// offersFor: an answer may be remembered so.
func (l *letter) offersFor(word string) bool {
	return bytes.Contains(l.params.RequestedSchema.Properties["remember"], []byte(`"`+word+`"`))
}

func (l *letter) original() *original { return &l.params.Metadata.OriginalRequest }
