package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// Lenient: what a server lists may hold keys twice and halves of characters.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
