package commandline

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A launcher is a program that runs another one, which is what names the server.
type launcher struct {
	verbs    []string // its sub-commands that run something
	module   string   // the flag that is followed by a module's name
	script   []string // its flags behind which it runs a line of shell
	nameless []string // its flags behind which nothing names what runs: code, or arguments
	values   []string // its flags that take a value of their own
	packages bool     // what it runs is a package (or an image), not a file
	fetches  bool     // it may download what a file needs
}

var launchers = map[string]launcher{
	"npx":    {packages: true, script: lineFlags, values: []string{"-p", "--package", "--registry"}},
	"bunx":   {packages: true},
	"pnpx":   {packages: true},
	"npm":    {packages: true, verbs: []string{"exec", "x"}, script: lineFlags},
	"pnpm":   {packages: true, verbs: []string{"dlx", "exec"}},
	"yarn":   {packages: true, verbs: []string{"dlx", "exec"}},
	"uvx":    {packages: true, values: uvValues},
	"pipx":   {packages: true, verbs: []string{"run"}, values: []string{"--spec"}},
	"uv":     {fetches: true, verbs: []string{"run", "tool"}, module: "-m", values: uvValues},
	"docker": {packages: true, verbs: []string{"run", "container"}, values: dockerValues},
	"podman": {packages: true, verbs: []string{"run", "container"}, values: dockerValues},
	"node":   {nameless: evalFlags, values: []string{"-r", "--require", "--import", "--loader", "--env-file"}},
	"bun":    {verbs: []string{"run", "x"}, nameless: evalFlags},
	"deno":   {fetches: true, verbs: []string{"run"}, values: []string{"--config", "-c"}},
	"tsx":    {nameless: evalFlags},
	"python": {module: "-m", nameless: []string{"-c"}, values: []string{"-W", "-X"}},
	"ruby":   {nameless: []string{"-e"}, values: []string{"-I", "-r"}},
	"php":    {nameless: []string{"-r", "-R", "-B", "-E"}, values: []string{"-d", "-c"}},
	"java":   {module: "-jar", values: []string{"-cp", "-classpath", "--class-path"}},
	"dotnet": {nameless: []string{"run", "--"}},
	"go":     {verbs: []string{"run"}},
	"sh":     {script: lineFlags},
	"bash":   {script: lineFlags},
	"zsh":    {script: lineFlags},
}

var (
	lineFlags    = []string{"-c", "--call"}
	evalFlags    = []string{"-e", "-p", "--eval", "--print"}
	uvValues     = strings.Fields("--from --with --python -p --index --index-url --default-index --extra-index-url --directory --project")
	dockerValues = strings.Fields("-v --volume -e --env --env-file --name --mount -p --publish --network --net -w --workdir -u --user --entrypoint --platform -m --memory --cpus -l --label --add-host " +
		"--log-driver --log-opt --cap-add --cap-drop --security-opt")
)

// ID finds a participant id in the command that starts a server:
// "npx -y @modelcontextprotocol/server-filesystem /tmp" is "filesystem".
func ID(argv []string) string { return TidyID(TrimRole(Program(argv))) }

// Program is the name of the program, package or image in a command, without
// its folder and version, and without anything else that the command holds.
func Program(argv []string) string {
	words, name := argv, bareName(argv[0], false)
	for range 3 { // a launcher may run a launcher: uv run python server.py
		l, ok := launchers[programName(words[0])]
		if !ok {
			break
		}
		what, rest := l.target(words[1:])
		if !l.names(what) {
			break
		}
		words, name = append([]string{what}, rest...), bareName(what, l.packages)
	}
	return name
}

// Fetcher is the program in a command that may download a server before it starts it, "" where
// there is none.
func Fetcher(argv []string) string {
	name := programName(argv[0])
	if l := launchers[name]; l.packages || l.fetches {
		return name
	}
	return ""
}

// programName is the name of a program without folder, extension and version.
func programName(arg string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(arg, `\`, "/")))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	if anyPython().MatchString(name) {
		return "python"
	}
	return name
}

var anyPython = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pythonw?[0-9.]*(?:t|d|td|-dbg|-intel64)?$`) })

// target finds what a launcher is told to run, and that one's arguments; "" where nothing names it.
func (l launcher) target(args []string) (what string, rest []string) {
	line := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case l.module != "" && a == l.module && i+1 < len(args):
			return args[i+1], args[i+2:]
		case l.module == "-m" && strings.HasPrefix(a, l.module):
			return a[len(l.module):], args[i+1:]
		case set(a, l.nameless):
			return "", nil
		case set(a, l.script):
			line = true
		case slices.Contains(l.values, a), secretFlag().MatchString(a):
			i++
		case strings.HasPrefix(a, "-"), slices.Contains(l.verbs, a):
		case line:
			words := scripted(a)
			return words[0], words[1:]
		default:
			return a, args[i+1:]
		}
	}
	return "", nil
}

// set reports whether an argument sets one of some flags: alone, with its value, or among other
// letters, as -lc does.
func set(arg string, flags []string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool {
		if strings.HasPrefix(flag, "--") || !strings.HasPrefix(flag, "-") {
			return arg == flag || strings.HasPrefix(arg, flag+"=")
		}
		return strings.HasPrefix(arg, flag) || letters().MatchString(arg) && strings.Contains(arg, flag[1:])
	})
}

// names reports whether a word can be the name of what a launcher runs. The value of a flag that
// is not known here looks like one, and may be a secret.
func (l launcher) names(word string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(bareName(word, l.packages), "npm:"), "jsr:") // which look like a user's password
	before, after, assigns := strings.Cut(word, "=")
	version := strings.HasPrefix(after, "=") || strings.TrimRight(before, "<>~!") != before
	_, host, url := strings.Cut(word, "://")
	switch {
	case strings.Trim(name, ".") == "", withoutSecrets(name) != name:
		return false
	case assigns && !version, url && !strings.Contains(strings.TrimRight(host, "/"), "/"):
		return false
	}
	return !l.packages || !strings.ContainsAny(word, " \t\r\n")
}

var (
	letters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-[A-Za-z]+$`) })

	// shellWord is the next word in a line of shell, as far as it is sure to be all there: quotes
	// may be around parts of it, and it may have variables in it.
	shellWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^\\s*((?:[^\\s'\"\\\\`$(){}<>;&|#]|'[^']*'|\\$\\w+|\\$\\{\\w+(?::?[-+=?][^\\s'\"\\\\`$(){}]*)?\\}|\"(?:[^\"\\\\`$]|\\$\\w+|\\$\\{\\w+\\})*\")+)")
	})
	afterCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:&&|;)`) })

	unquoted = strings.NewReplacer("'", "", `"`, "")
)

// scripted are the words of the command that a line of shell runs, behind what it
// sets first: the value of a variable names nothing, and may be a secret. They end where the
// shell may read something else than what stands there.
func scripted(line string) (words []string) {
	for {
		found := shellWord().FindStringSubmatch(line)
		prepares := len(words) > 0 && says(words[0], "cd source . export set")
		switch next := afterCommand().FindString(line); {
		case found == nil && prepares && next != "":
			words, line = nil, line[len(next):]
			continue
		case found == nil && prepares:
			return []string{""}
		case found == nil:
			return append(words, "")
		}
		line = line[len(found[0]):]
		word := unquoted.Replace(found[1])
		if len(words) == 0 && (says(word, "exec env command nohup") || strings.Contains(word, "=")) {
			continue
		}
		words = append(words, word)
	}
}

// bareName cuts a path, package or image down to its own name.
func bareName(arg string, packaged bool) string {
	arg = strings.TrimRight(strings.ReplaceAll(arg, `\`, "/"), "/")
	if packaged {
		name := path.Base(arg)
		name, _, _ = strings.Cut(name, "@")              // a version
		name, _, _ = strings.Cut(name, ":")              // a tag
		name, _, _ = strings.Cut(name, "[")              // extras
		if i := strings.IndexAny(name, "=<>~!"); i > 0 { // a range of versions
			name = name[:i]
		}
		return strings.TrimSuffix(name, ".git")
	}
	parts := strings.Split(arg, "/")
	name := stripExt(parts[len(parts)-1])
	for i := len(parts) - 2; i >= 0 && says(name, "index main __main__ cli dist build src bin lib out cmd"); i-- {
		if parts[i] != "" && parts[i] != "." && parts[i] != ".." {
			name = parts[i]
		}
	}
	return name
}

func stripExt(name string) string {
	ext := path.Ext(name)
	if says(ext, ".exe .cmd .bat .ps1 .sh .py .pyz .js .mjs .cjs .ts .mts .rb .php .jar .dll .go .csproj") {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// says reports whether word is one of the words of list.
func says(word, list string) bool { return slices.Contains(strings.Fields(list), word) }

// TrimRole takes away what only says that this is an MCP server.
func TrimRole(name string) string {
	for _, p := range []string{"mcp-server-", "mcp_server_", "server-", "server_", "mcp-", "mcp_"} {
		if n := len(p); len(name) > n && strings.EqualFold(name[:n], p) && !strings.EqualFold(name[n:], "server") {
			return name[n:]
		}
	}
	for _, s := range []string{"-mcp-server", "_mcp_server", "-server", "_server", "-mcp", "_mcp"} {
		if n := len(name) - len(s); n > 0 && strings.EqualFold(name[n:], s) && !strings.EqualFold(name[:n], "mcp") {
			return name[:n]
		}
	}
	return name
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// TidyID makes a participant id out of a name.
func TidyID(name string) string {
	id := strings.Trim(notInID.ReplaceAllString(name, "-"), "-.")
	if id == "" {
		return "server"
	}
	if strings.HasPrefix(strings.ToLower(id), "system") {
		id = "mcp-" + id
	}
	return id[:min(len(id), 64)]
}
