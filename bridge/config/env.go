package config

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Env is the variable of a flag.
func Env(flag string) string {
	switch flag {
	case "gateway":
		return "MCPX_GATEWAY_URL"
	case "id":
		return "MCPX_PARTICIPANT_ID"
	}
	return "MCPX_" + upperSnake(flag)
}

func upperSnake(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// Strays are variables that look like ours but are none, and which is meant: spelling mistakes,
// and flags whose variable has another name. Neither is made safe to show.
func Strays(environ []string, known map[string]*pflag.Flag) iter.Seq2[string, string] {
	likely := map[string]string{"AUTH_TOKEN": "AUTH_TOKEN"} // what is likely to be written -> what is meant
	for name := range known {
		ours := strings.TrimPrefix(Env(name), "MCPX_")
		likely[ours], likely[upperSnake(name)] = ours, ours
	}
	return func(yield func(key, meant string) bool) {
		for _, kv := range environ {
			key, _, _ := strings.Cut(kv, "=")
			name, ours := strings.CutPrefix(key, "MCPX_")
			if !ours || likely[name] == name {
				continue
			}
			if meant := likely[policy.Nearest(name, slices.Sorted(maps.Keys(likely)))]; meant != "" && !yield(key, "MCPX_"+meant) {
				return
			}
		}
	}
}
