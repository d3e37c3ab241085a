package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Settle sets the flags that the command line leaves open; given are those that it set. flags
// must have --config. A value comes from the command line, else from the flag's variable (see [Env]), else from the
// file that --config names, else it is the flag's default. A list is taken whole from the first
// of them that has it. known are the flags of all commands by name: keys of those that this
// command does not have are left for the commands that do; keys that no command has are errors.
// Errors are misuse, and never repeat a value.
func Settle(flags *pflag.FlagSet, known map[string]*pflag.Flag, getenv func(string) string) (given []*pflag.Flag, err error) {
	open := map[string]*pflag.Flag{}
	flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed:
			given = append(given, f)
		case help.IsSetting(f):
			open[f.Name] = f
		}
	})
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if taken, err := fromEnv(flags, open[name], getenv); err != nil {
			return nil, err
		} else if taken {
			delete(open, name)
		}
	}
	for _, f := range given {
		if next := tookNext(flags, f); next != "" {
			return nil, fault.Misuse(help.FlagHint(f), "--%s needs a value, and the next word is %s", f.Name, next)
		}
		if why := saysNothing(f); why != "" {
			return nil, fault.Misuse(help.EmptyHint, "--%s %s", f.Name, why).Also(help.FlagHint(f))
		}
	}
	if file := flags.Lookup("config").Value.String(); file != "" {
		err = fromFile(file, flags, open, known)
	}
	return given, err
}

// Only is getenv for the variables of the flags that are named; it has no others.
func Only(getenv func(key string) string, flags ...string) func(key string) string {
	return func(key string) string {
		if slices.ContainsFunc(flags, func(name string) bool { return Env(name) == key }) {
			return getenv(key)
		}
		return ""
	}
}

// tookNext is what a flag without its value took for one, as pflag has it: the -- before a
// server's command, or the next flag. It is "" where the value is none of these.
func tookNext(flags *pflag.FlagSet, f *pflag.Flag) string {
	for _, v := range Values(f) {
		if name, dashes := strings.CutPrefix(v, "--"); dashes && (name == "" || flags.Lookup(name) != nil) {
			return v
		}
	}
	return ""
}

// Values are what a flag is set to: one, or those of a repeatable one.
func Values(f *pflag.Flag) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	return []string{f.Value.String()}
}

// saysNothing is what is wrong with a flag that was set to nothing. As if it were not
// there, a policy or the digest of what was looked at would be missing without a
// word. Where a number is 0 by default, that is how "not given" is spelled.
func saysNothing(f *pflag.Flag) string {
	values := Values(f)
	switch {
	case len(values) == 0 || slices.Contains(values, ""):
		return "is empty"
	case (f.DefValue == "0" || f.DefValue == "0s") && values[0] == f.DefValue:
		return "must be more than 0"
	}
	return ""
}

// fromEnv sets a flag from its variable, if there is one.
func fromEnv(flags *pflag.FlagSet, f *pflag.Flag, getenv func(string) string) (bool, error) {
	key := Env(f.Name)
	text := getenv(key)
	if text == "" {
		return false, nil
	}
	for _, value := range listed(f, text) {
		if err := flags.Set(f.Name, value); err != nil {
			return false, fault.Misuse(help.FlagHint(f), "%s in the environment: %s", key, help.Reason(err))
		}
	}
	if why := saysNothing(f); why != "" {
		return false, fault.Misuse(help.FlagHint(f), "%s in the environment: it %s", key, why)
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

// fromFile sets the open flags from a YAML file.
func fromFile(file string, flags *pflag.FlagSet, open, known map[string]*pflag.Flag) error {
	entries, err := Read(file)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, ok := known[e.Key]
		if !ok || e.Key == "config" {
			return fault.Misuse(unknownKeyHint(e.Key, known), "%s:%s: unknown key %q", file, e.At, e.Key)
		}
		if e.List && f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
			return fault.Misuse("give it one value", "%s:%s: %s takes no list", file, e.At, e.Key)
		}
		if open[e.Key] == nil {
			continue
		}
		for _, value := range e.Values {
			if err := flags.Set(e.Key, value); err != nil {
				return fault.Misuse(help.FlagHint(f), "%s:%s: %s: %s", file, e.At, e.Key, help.Reason(err))
			}
		}
		if why := saysNothing(open[e.Key]); why != "" && len(e.Values) > 0 {
			return fault.Misuse(help.FlagHint(f), "%s:%s: %s %s", file, e.At, e.Key, why)
		}
	}
	return nil
}

func unknownKeyHint(key string, known map[string]*pflag.Flag) string {
	if key == "token" {
		return help.TokenHint
	}
	return cmp.Or(policy.Meant(strings.ReplaceAll(key, "_", "-"), slices.Sorted(maps.Keys(known))), "keys are the names of flags, without the dashes")
}
