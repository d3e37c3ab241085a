package policy

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON schema of a policy file, for editors. It is a little
// wider than [Load]: it knows no CEL, no groups and no sense of direction.
func Schema() []byte { return schema }
