package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A setting's value comes from the command line, else from the environment,
// else from the configuration file, else it is the flag's default. A list is
// taken whole from the first of them that has it.

// settle fills in what the command line left open.
func (p *program) settle(cmd *cobra.Command) error {
	open := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed:
			p.given = append(p.given, f)
		case help.IsSetting(f):
			open[f.Name] = f
		}
	})
	for _, name := range sortedKeys(open) {
		if taken, err := p.fromEnv(cmd.Flags(), open[name]); err != nil {
			return err
		} else if taken {
			delete(open, name)
		}
	}
	for _, f := range p.given {
		if next := tookNext(cmd.Flags(), f); next != "" {
			return misused(flagHint(f), "--%s needs a value, and the next word is %s", f.Name, next)
		}
		if why := saysNothing(f); why != "" {
			return misused(emptyHint, "--%s %s", f.Name, why).Also(flagHint(f))
		}
	}
	if p.s.Config == "" {
		return nil
	}
	return fromFile(p.s.Config, cmd.Flags(), open, knownFlags(cmd.Root()))
}

// tookNext is what a flag without its value took for one, as pflag has it: the -- before a
// server's command, or the next flag. It is "" where the value is none of these.
func tookNext(flags *pflag.FlagSet, f *pflag.Flag) string {
	for _, v := range valuesOf(f) {
		if name, dashes := strings.CutPrefix(v, "--"); dashes && (name == "" || flags.Lookup(name) != nil) {
			return v
		}
	}
	return ""
}

func valuesOf(f *pflag.Flag) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	return []string{f.Value.String()}
}

// saysNothing is what is wrong with a flag that was set to nothing. As if it were not
// there, a policy or the digest of what was looked at would be missing without a
// word. Where a number is 0 by default, that is how "not given" is spelled.
func saysNothing(f *pflag.Flag) string {
	values := valuesOf(f)
	switch {
	case len(values) == 0 || slices.Contains(values, ""):
		return "is empty"
	case (f.DefValue == "0" || f.DefValue == "0s") && values[0] == f.DefValue:
		return "must be more than 0"
	}
	return ""
}

// fromEnv sets a flag from its variable, if there is one.
func (p *program) fromEnv(flags *pflag.FlagSet, f *pflag.Flag) (bool, error) {
	key := flagEnv(f.Name)
	text := p.getenv(key)
	if text == "" {
		return false, nil
	}
	for _, value := range listed(f, text) {
		if err := flags.Set(f.Name, value); err != nil {
			return false, misused(flagHint(f), "%s in the environment: %s", key, reason(err))
		}
	}
	if why := saysNothing(f); why != "" {
		return false, misused(flagHint(f), "%s in the environment: it %s", key, why)
	}
	return true, nil
}

// listed splits the variable of a repeatable flag: at line ends, else at commas.
// The values of --env may have commas, so there only line ends count.
func listed(f *pflag.Flag, text string) []string {
	sep := ","
	switch {
	case f.Value.Type() != "stringArray":
		return []string{text}
	case f.Name == "env", strings.Contains(text, "\n"):
		sep = "\n"
	}
	var values []string
	for v := range strings.SplitSeq(text, sep) {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// strays names variables that look like ours but are none: spelling mistakes,
// and flags whose variable has another name.
func (p *program) strays(root *cobra.Command) {
	known := map[string]string{"AUTH_TOKEN": "AUTH_TOKEN"} // what is likely to be written -> what is meant
	for name := range knownFlags(root) {
		ours := strings.TrimPrefix(flagEnv(name), "MCPX_")
		known[ours], known[upperSnake(name)] = ours, ours
	}
	for _, kv := range p.environ() {
		key, _, _ := strings.Cut(kv, "=")
		name, ours := strings.CutPrefix(key, "MCPX_")
		if !ours || known[name] == name {
			continue
		}
		if meant := known[policy.Nearest(name, sortedKeys(known))]; meant != "" {
			p.log.Warn("the environment has "+visible(key)+", which is no setting of mcpx-bridge", "meant", "MCPX_"+meant)
		}
	}
}

// fromFile sets the open flags from a YAML file. Keys of flags that this
// command does not have are left for the commands that do; keys that no
// command has are errors.
func fromFile(file string, flags *pflag.FlagSet, open, known map[string]*pflag.Flag) error {
	entries, err := config.Read(file)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, ok := known[e.Key]
		if !ok || e.Key == "config" {
			return misused(unknownKeyHint(e.Key, known), "%s:%s: unknown key %q", file, e.At, e.Key)
		}
		if e.List && f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
			return misused("give it one value", "%s:%s: %s takes no list", file, e.At, e.Key)
		}
		if open[e.Key] == nil {
			continue
		}
		for _, value := range e.Values {
			if err := flags.Set(e.Key, value); err != nil {
				return misused(flagHint(f), "%s:%s: %s: %s", file, e.At, e.Key, reason(err))
			}
		}
		if why := saysNothing(open[e.Key]); why != "" && len(e.Values) > 0 {
			return misused(flagHint(f), "%s:%s: %s %s", file, e.At, e.Key, why)
		}
	}
	return nil
}

func unknownKeyHint(key string, known map[string]*pflag.Flag) string {
	if key == "token" {
		return tokenHint
	}
	if meant := policy.Nearest(strings.ReplaceAll(key, "_", "-"), sortedKeys(known)); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "keys are the names of flags, without the dashes"
}

// knownFlags are the names of all flags of all commands.
func knownFlags(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	note := func(f *pflag.Flag) {
		if help.IsSetting(f) {
			known[f.Name] = f
		}
	}
	root.PersistentFlags().VisitAll(note)
	for c := range below(root) {
		c.Flags().VisitAll(note)
	}
	return known
}
