package commandline

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A launcher is a program that runs another one, which is what names the server.
type launcher struct {
	verbs    []string // its sub-commands that run something
	module   string   // the flag that is followed by a module's name
	script   string   // the flag that is followed by a command line
	values   []string // its flags that take a value of their own
	packages bool     // what it runs is a package (or an image), not a file
	fetches  bool     // it may download what a file needs
}

var launchers = map[string]launcher{
	"npx":    {packages: true, values: []string{"-p", "--package", "--registry"}},
	"bunx":   {packages: true},
	"pnpx":   {packages: true},
	"npm":    {packages: true, verbs: []string{"exec", "x"}},
	"pnpm":   {packages: true, verbs: []string{"dlx", "exec"}},
	"yarn":   {packages: true, verbs: []string{"dlx", "exec"}},
	"uvx":    {packages: true, values: []string{"--from", "--with", "--python", "-p", "--index-url"}},
	"pipx":   {packages: true, verbs: []string{"run"}, values: []string{"--spec"}},
	"uv":     {fetches: true, verbs: []string{"run", "tool"}, module: "-m", values: []string{"--directory", "--project", "--with", "--from", "--python", "-p"}},
	"docker": {packages: true, verbs: []string{"run", "container"}, values: dockerValues},
	"podman": {packages: true, verbs: []string{"run", "container"}, values: dockerValues},
	"node":   {values: []string{"-r", "--require", "--import", "--loader", "--env-file"}},
	"bun":    {verbs: []string{"run", "x"}},
	"deno":   {fetches: true, verbs: []string{"run"}, values: []string{"--config", "-c"}},
	"tsx":    {},
	"python": {module: "-m", values: []string{"-W", "-X"}},
	"ruby":   {values: []string{"-I", "-r"}},
	"php":    {values: []string{"-d", "-c"}},
	"java":   {module: "-jar", values: []string{"-cp", "-classpath", "--class-path"}},
	"dotnet": {verbs: []string{"run"}, values: []string{"--project"}},
	"go":     {verbs: []string{"run"}},
	"sh":     {script: "-c"},
	"bash":   {script: "-c"},
	"zsh":    {script: "-c"},
}

var dockerValues = strings.Fields("-v --volume -e --env --env-file --name --mount -p --publish --network --net -w --workdir -u --user --entrypoint --platform -m --memory --cpus -l --label --add-host")

// ID finds a participant id in the command that starts a server:
// "npx -y @modelcontextprotocol/server-filesystem /tmp" is "filesystem".
func ID(argv []string) string { return TidyID(TrimRole(Program(argv))) }

// Program is the name of the program, package or image in a command, without
// its folder and version, and without anything else that the command holds.
func Program(argv []string) string {
	words, packaged := argv, false
	for range 3 { // a launcher may run a launcher: uv run python server.py
		l, ok := launchers[programName(words[0])]
		if !ok {
			break
		}
		what, rest := l.target(words[1:])
		if what == "" {
			break
		}
		words, packaged = append([]string{what}, rest...), l.packages
	}
	return bareName(words[0], packaged)
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
	if strings.HasPrefix(name, "python") {
		return "python"
	}
	return name
}

// target finds what a launcher is told to run, and that one's arguments.
func (l launcher) target(args []string) (what string, rest []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case l.module != "" && a == l.module && i+1 < len(args):
			return args[i+1], args[i+2:]
		case l.script != "" && a == l.script && i+1 < len(args):
			words := scripted(args[i+1])
			return words[0], words[1:]
		case slices.Contains(l.values, a), secretFlag().MatchString(a):
			i++
		case strings.HasPrefix(a, "-"), slices.Contains(l.verbs, a):
		default:
			return a, args[i+1:]
		}
	}
	return "", nil
}

// scripted are the words of the command that a line of shell runs, behind what it
// sets first: the value of a variable names nothing, and may be a secret.
func scripted(line string) []string {
	words := strings.Fields(line)
	for len(words) > 0 && (says(words[0], "exec env command nohup") || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	return append(words, "")
}

// bareName cuts a path, package or image down to its own name.
func bareName(arg string, packaged bool) string {
	arg = strings.TrimRight(strings.ReplaceAll(arg, `\`, "/"), "/")
	if packaged {
		name := path.Base(arg)
		name, _, _ = strings.Cut(name, "@") // a version
		name, _, _ = strings.Cut(name, ":") // a tag
		name, _, _ = strings.Cut(name, "[") // extras
		name, _, _ = strings.Cut(name, "==")
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
