package approval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A grantFile is what is kept of grants that outlast the bridge.
type grantFile struct {
	Version int            `json:"version"`
	Grants  []lastingGrant `json:"grants"`
}

// A lastingGrant is a [Grant] in a file, in the words of "grants list --json" and with
// what the yes is bound to. What is not here, a grant that lasts does not have.
type lastingGrant struct {
	ID          string         `json:"id"`
	Caller      string         `json:"from"`
	Via         string         `json:"via"`
	Tool        string         `json:"tool"`
	Args        jsontext.Value `json:"args"`
	By          []string       `json:"by"`
	Made        time.Time      `json:"made"`
	Until       time.Time      `json:"until"`
	Rules       []string       `json:"rules,omitempty"`
	Topic       string         `json:"topic"`
	Gateway     string         `json:"gateway,omitempty"`
	Server      string         `json:"server,omitempty"`
	Dir         string         `json:"dir"`
	Command     string         `json:"command"`
	Fingerprint string         `json:"fingerprint"`
}

// WriteGrants is the file of grants that are to last, for [ReadGrants]. What people
// could not see in it is escaped.
func WriteGrants(kept []Grant) ([]byte, error) {
	file := grantFile{Version: 1}
	for _, g := range kept {
		l := lastingGrant{ID: g.ID, Caller: g.Caller, Via: g.Via, Tool: g.Tool, Args: jsontext.Value(g.Args), Made: second(g.Made), Until: second(g.Until), Rules: g.Rules,
			Topic: g.Topic, Gateway: g.Gateway, Server: g.Server, Dir: g.Dir, Command: g.Command, Fingerprint: g.Fingerprint}
		for _, w := range g.By {
			l.By = append(l.By, w.String())
		}
		file.Grants = append(file.Grants, l)
	}
	out, err := json.Marshal(file, jsontext.WithIndent("  "))
	return append(text.EscapeJSON(out), '\n'), err
}

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// ReadGrants reads such a file back, for [Options.Grants]. It takes nothing but what
// WriteGrants could have written: an error says what it found instead, and where.
func ReadGrants(name string, text []byte) (kept []Grant, err error) {
	var file grantFile
	taken := map[string]bool{}
	one := func(d *jsontext.Decoder, l *lastingGrant) error {
		type fields lastingGrant
		at, pointer := d.InputOffset(), d.StackPointer()
		if err := json.UnmarshalDecode(d, (*fields)(l)); err != nil {
			return err
		}
		g := l.grant()
		if taken[g.ID] || !g.lasts() || g.Made.IsZero() || g.Until.IsZero() {
			return &json.SemanticError{ByteOffset: at, JSONPointer: pointer, Err: errors.New("it was changed: it says less than a grant is bound to, or more")}
		}
		taken[g.ID] = true
		kept = append(kept, g)
		return nil
	}
	err = json.Unmarshal(text, &file, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(noNull), json.UnmarshalFromFunc(one))))
	if err == nil && (file.Version != 1 || file.Grants == nil) {
		err = errors.New("it has no version 1 and grants")
	}
	if err != nil {
		return nil, placed(name, text, err)
	}
	return kept, nil
}

// noNull refuses null, which would stand for a field that is not there.
func noNull(d *jsontext.Decoder, _ any) error {
	if d.PeekKind() == 'n' {
		return &json.SemanticError{ByteOffset: d.InputOffset(), JSONPointer: d.StackPointer(), JSONKind: 'n'}
	}
	return errors.ErrUnsupported
}

// placed says where in a file something is wrong, and what.
func placed(name string, text []byte, err error) error {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return at(name, text, syntactic.ByteOffset, syntactic.JSONPointer, syntactic.Err.Error())
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		offset := semantic.ByteOffset
		for offset < int64(len(text)) && strings.IndexByte(" \t\r\n,:", text[offset]) >= 0 {
			offset++ // it stands at the value that is meant, or before
		}
		said := semantic.JSONKind.String() + " does not belong there"
		if semantic.Err != nil {
			said = semantic.Err.Error()
		}
		return at(name, text, offset, semantic.JSONPointer, said)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func at(name string, text []byte, offset int64, pointer jsontext.Pointer, said string) error {
	before := text[:min(offset, int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	if pointer != "" {
		said = string(pointer) + ": " + said
	}
	return fmt.Errorf("%s:%d:%d: %s", name, line, column, said)
}

// grant is what it says, as far as it does.
func (l *lastingGrant) grant() Grant {
	g := Grant{ID: l.ID, Keep: "always", Caller: l.Caller, Via: l.Via, Method: "tools/call", Tool: l.Tool, Made: l.Made, Until: l.Until, Rules: l.Rules,
		Topic: l.Topic, Gateway: l.Gateway, Server: l.Server, Dir: l.Dir, Command: l.Command, Fingerprint: l.Fingerprint}
	if jsonrpc.Scan(l.Args, jsonrpc.Judged, nil, nil) == nil {
		g.Args = Canonical(l.Args)
	}
	for _, who := range l.By {
		g.By = append(g.By, named(who))
	}
	return g
}

// maxLasting is how many values the arguments of a grant that lasts may have, so that people
// can look them over. An object or array counts for two, the outermost one for one.
const maxLasting = 64

// Lengths are looked at apart: a pattern with a count is that many patterns.
var (
	lastingTool   = text.Pattern(`^[A-Za-z0-9_.:/-]+$`)
	lastingCaller = text.Pattern(`^[A-Za-z0-9_.-]+$`)
	lastingNumber = text.Pattern(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$`)
)

// lasts reports whether the grant may outlast the bridge: it says all that a yes is
// bound to, in a form that people can read, and nothing that the file has no place for.
func (g *Grant) lasts() bool {
	said := []string{g.ID, g.Topic, g.Dir, g.Command, g.Fingerprint}
	for _, w := range g.By {
		said = append(said, w.String())
	}
	return len(g.Beside) == 0 && g.Proposer == "" && !g.Unverified && g.Method == "tools/call" && len(g.By) > 0 && !slices.Contains(said, "") &&
		utf8.ValidString(strings.Join(slices.Concat(said, g.Rules), "")+g.Gateway+g.Server) && (g.Via == "request" || g.Via == "proposal") &&
		len(g.Tool) <= 128 && lastingTool().MatchString(g.Tool) && !strings.HasPrefix(g.Tool, "re:") && len(g.Caller) <= 64 && lastingCaller().MatchString(g.Caller) &&
		readableArgs(g.Args)
}

// readableArgs reports whether arguments are one object of at most maxLasting values, none of
// them long, and no member named "" or "*", which elsewhere mean any.
func readableArgs(args []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(args))
	if d.PeekKind() != '{' {
		return false
	}
	for values := -1; values <= maxLasting; {
		token, err := d.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		in, nth := d.StackIndex(d.StackDepth())
		switch kind := token.Kind(); {
		case kind == '}' || kind == ']':
		case kind == '{' || kind == '[':
			values += 2
		case in == '{' && nth%2 == 1: // a name
			if token.String() == "" || token.String() == "*" {
				return false
			}
		case kind == '"' && len(token.String()) > compactBytes, kind == '0' && !lastingNumber().MatchString(token.String()):
			return false
		default:
			values++
		}
	}
	return false
}
