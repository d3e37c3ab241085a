package setup

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Names are the clients that are known.
func Names() []string {
	var names []string
	for _, c := range install.Clients() {
		names = append(names, c.Name)
	}
	return names
}

// Machine says where a person's files are on this machine, as far as the environment says it.
func Machine(getenv func(string) string) (install.Machine, error) {
	key := "HOME"
	if runtime.GOOS == "windows" {
		key = "USERPROFILE"
	}
	m := install.Machine{GOOS: runtime.GOOS, Home: getenv(key), AppData: getenv("APPDATA"), ConfigHome: getenv("XDG_CONFIG_HOME"),
		ClaudeConfig: getenv("CLAUDE_CONFIG_DIR"), CodexHome: getenv("CODEX_HOME")}
	for name, dir := range map[string]string{key: m.Home, "APPDATA": m.AppData, "XDG_CONFIG_HOME": m.ConfigHome, "CLAUDE_CONFIG_DIR": m.ClaudeConfig, "CODEX_HOME": m.CodexHome} {
		if dir != "" && !filepath.IsAbs(dir) {
			return m, fault.New(fault.Misused, "write the whole path, from the root on, or unset it", "%s is %q, it must be an absolute path", name, dir)
		}
	}
	if m.Home == "" {
		return m, fault.New(fault.Misused, "set "+key, "%s is not set, so the files of clients cannot be found", key)
	}
	var err error
	if m.Dir, err = os.Getwd(); err == nil {
		m.RealDir, err = filepath.EvalSymlinks(m.Dir)
	}
	return m, err
}

// Person is the name of this person on this machine, "" if it has none: a service or a container
// may be without the variable that has it.
func Person(getenv func(string) string) string {
	if name := cmp.Or(getenv("USER"), getenv("LOGNAME"), getenv("USERNAME")); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username[strings.LastIndexByte(u.Username, '\\')+1:] // behind the domain, where there is one
}

// PlaceOf is where a client has its servers in a scope, "" for its usual one.
func PlaceOf(m install.Machine, name, scope string) (install.Place, error) {
	all := install.Clients()
	i := slices.IndexFunc(all, func(c install.Client) bool { return c.Name == name })
	if i < 0 {
		hint := cmp.Or(policy.Meant(name, Names()), "it is one of "+strings.Join(Names(), ", "))
		return install.Place{}, fault.New(fault.Misused, hint, "there is no client %q", name)
	}
	at, ok := all[i].Place(m, install.Scope(scope))
	if !ok {
		var has []string
		for _, s := range all[i].Scope {
			has = append(has, string(s))
		}
		return at, fault.New(fault.Misused, "it has "+strings.Join(has, ", "), "--scope: %s has no scope %q", name, scope)
	}
	return at, nil
}

// OwnPath is the path that a client finds this program by, also after the next update: the
// one in PATH, if that is it. lookPath is exec.LookPath.
func OwnPath(lookPath func(string) (string, error)) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "", fault.New(fault.Failed, "build it where it can stay: go build -o bin/ ./cmd/mcpx-bridge", "%s will be gone when this command ends", exe)
	}
	found, err := lookPath("mcpx-bridge")
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err == nil && sameFile(found, exe) {
		return found, nil
	}
	return exe, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
