package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// definition is what of a tool's definition people and programs go by.
type definition struct {
	Name         string         `json:"name"`
	Title        jsontext.Value `json:"title"`
	Description  jsontext.Value `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
	Annotations  jsontext.Value `json:"annotations"`
}

// fingerprint changes with any byte of the definition.
func (d *definition) fingerprint() string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(d.Name), d.Title, d.Description, d.InputSchema, d.OutputSchema, d.Annotations} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// about is the first sentence or line of the description, "" if that is none.
func (d *definition) about() string {
	if d.Description.Kind() != '"' {
		return ""
	}
	said, _ := jsonrpc.Unquote(d.Description)
	return strings.Clone(text.Summary(said))
}

// Lenient: what a server lists may hold keys twice and halves of characters.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
