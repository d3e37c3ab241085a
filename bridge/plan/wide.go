package plan

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Around is the calls that are like one, for who agrees to more than that: of the same tool,
// with arguments of the same names, whatever they are; with a folder, the pointer to one of
// the arguments, only those in which that is in the folder in which it is there. There is
// none, nil, where that is in no folder that [policy.Folder] takes, or the names are more
// or longer than people look over. The arguments have been scanned strictly.
func Around(tool string, args []byte, folder jsontext.Pointer) *Plan {
	i := Item{Tool: tool, Uses: 1}
	inFolder := folder == ""
	if len(args) > 0 {
		for member := range rawjson.Parts(args, rawjson.Space(args, 0)) {
			a := Arg{At: jsontext.Pointer("").AppendToken(member.Name), Any: true}
			if a.At == folder {
				path, _ := jsonrpc.Unquote(member.Of(args))
				a.Any, a.Under = false, policy.FolderOf(path)
				inFolder = a.Under != ""
			}
			if len(i.Args) == MaxArgs || member.Name == "" || len(a.At) > maxName {
				return nil
			}
			i.Args = append(i.Args, a)
		}
	}
	if !inFolder {
		return nil
	}
	return &Plan{Items: []Item{i}}
}

// JSON says what the arguments of an item may be, as a plan has it, less what redact hides of
// those of a call; nil hides nothing.
func (i *Item) JSON(redact func(args []byte) []byte) []byte {
	args := []byte("{}")
	for _, a := range i.Args {
		may := []byte(`{"any":true}`)
		switch {
		case a.hides(redact):
			may = []byte(`"[redacted]"`)
		case a.Under != "":
			may = append(jsonrpc.AppendQuote([]byte(`{"under":`), a.Under), '}')
		}
		args, _ = rawjson.Put(args, jsontext.Pointer("").AppendToken(string(a.At)), may)
	}
	return args
}
