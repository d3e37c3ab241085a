package config_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// command is the flags of some command, after its command line was read.
func command(t *testing.T, line ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.String("config", "", "read settings from this `FILE`")
	f.String("topic", "lobby", "the `TOPIC`")
	f.String("id", "", "the participant `ID`")
	f.StringArray("allow", nil, "a `GLOB`")
	f.Int("limit", 0, "at most `N`")
	if err := f.Parse(line); err != nil {
		t.Fatal(err)
	}
	return f
}

func known(f *pflag.FlagSet) map[string]*pflag.Flag {
	all := map[string]*pflag.Flag{"other": {Name: "other", Value: f.Lookup("topic").Value}} // some other command's
	f.VisitAll(func(f *pflag.Flag) { all[f.Name] = f })
	return all
}

func inFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is nearer to the person counts: the command line, the environment, the file. A list is
// taken whole from the first that has it.
func TestWhereASettingComesFrom(t *testing.T) {
	file := inFile(t, "topic: of-file\nid: of-file\nallow: [a, b]\nlimit: 3\nother: x\n")
	f := command(t, "--topic", "of-line", "--config", file)
	env := map[string]string{"MCPX_TOPIC": "of-env", "MCPX_PARTICIPANT_ID": "of-env", "MCPX_ALLOW": "c, d"}
	given, err := config.Settle(f, known(f), func(key string) string { return env[key] })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"topic": "of-line", "id": "of-env", "allow": "c d", "limit": "3"} {
		if got := strings.Join(config.Values(f.Lookup(name)), " "); got != want {
			t.Errorf("--%s is %q, want %q", name, got, want)
		}
	}
	var names []string
	for _, g := range given {
		names = append(names, g.Name)
	}
	if got := strings.Join(names, " "); got != "config topic" {
		t.Errorf("the command line set %s", got)
	}
}

// A setting that says nothing, and a key that nobody has, take no check away without a word.
// What it was is not repeated: it may be a secret.
func TestASettingThatCannotBeMeant(t *testing.T) {
	for _, c := range []struct {
		line []string
		env  string // of --limit
		file string
		want string
		hint string
	}{
		{line: []string{"--topic", "--id"}, want: "--topic needs a value, and the next word is --id"},
		{line: []string{"--topic="}, want: "--topic is empty"},
		{line: []string{"--limit=0"}, want: "--limit must be more than 0"},
		{env: "s3cret", want: "MCPX_LIMIT in the environment: it takes a whole number", hint: "--limit N: at most N"},
		{file: "limit: s3cret\n", want: ":1:1: limit: it takes a whole number"},
		{file: "topic: ''\n", want: ":1:1: topic is empty"},
		{file: "topic: [a]\n", want: ":1:1: topic takes no list"},
		{file: "topik: a\n", want: `:1:1: unknown key "topik"`, hint: "did you mean topic?"},
		{file: "token: s3cret\n", want: `:1:1: unknown key "token"`, hint: "process lists are public"},
		{file: "config: x.yaml\n", want: `:1:1: unknown key "config"`},
	} {
		if c.file != "" {
			c.line = append(c.line, "--config", inFile(t, c.file))
		}
		f := command(t, c.line...)
		_, err := config.Settle(f, known(f), func(key string) string {
			if key == config.Env("limit") {
				return c.env
			}
			return ""
		})
		wrong, ok := errors.AsType[*fault.Error](err)
		if !ok || wrong.Exit != fault.Misused || !strings.HasSuffix(wrong.Error(), c.want) || !strings.HasPrefix(strings.Join(wrong.Hint, "; "), c.hint) {
			t.Errorf("%+v: %v, hints %q", c, err, wrong)
		} else if all := wrong.Error() + strings.Join(wrong.Hint, " "); strings.Contains(all, "s3cret") {
			t.Errorf("a value is repeated: %s", all)
		}
	}
}

func TestVariablesThatWereMeantToBeOurs(t *testing.T) {
	f := command(t)
	meant := maps.Collect(config.Strays([]string{"MCPX_TOPIK=x", "MCPX_ID=x", "MCPX_TOPIC=x", "MCPX_ZZZZZZZZ=x", "TOPIK=x", "MCPX_AUTH_TOKEN=x"}, known(f)))
	if len(meant) != 2 || meant["MCPX_TOPIK"] != "MCPX_TOPIC" || meant["MCPX_ID"] != "MCPX_PARTICIPANT_ID" {
		t.Errorf("%v", meant)
	}
}
