package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tailscale/hujson"
)

// startEntry is "entry NAME FILE SERVER" in scripts: it starts a server as the
// client does whose configuration FILE is.
func startEntry(ts *testscript.TestScript, neg bool, args []string) {
	text := []byte(ts.ReadFile(args[1]))
	var file map[string]any
	switch filepath.Ext(args[1]) {
	case ".json":
		plain, err := hujson.Standardize(text)
		ts.Check(err)
		ts.Check(json.Unmarshal(plain, &file))
	case ".toml":
		ts.Check(toml.Unmarshal(text, &file))
	default:
		ts.Check(yaml.Unmarshal(text, &file))
	}
	for _, table := range []string{"mcpServers", "servers", "context_servers", "mcp_servers", "extensions"} {
		servers, _ := file[table].(map[string]any)
		entry, ok := servers[args[2]].(map[string]any)
		if !ok {
			continue
		}
		command, ok := entry["command"].(string)
		if !ok {
			command, _ = entry["cmd"].(string)
		}
		argv := []string{args[0], command}
		for _, a := range entry["args"].([]any) {
			argv = append(argv, a.(string))
		}
		start(ts, neg, argv)
		return
	}
	ts.Fatalf("%s has no server %s", args[1], args[2])
}
