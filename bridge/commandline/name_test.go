package commandline

import (
	"strings"
	"testing"
)

func TestDeriveID(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /tmp":              "filesystem",
		"npx @modelcontextprotocol/server-everything@2025.9.1":             "everything",
		"npx --package @scope/tools weather-mcp-server":                    "weather",
		"npx.cmd -y server-memory":                                         "memory",
		"bunx mcp-remote":                                                  "remote",
		"pnpm dlx @a/mcp-server-b":                                         "b",
		"npm exec -- @a/server-b":                                          "b",
		"uvx mcp-server-git":                                               "git",
		"uvx --from git+https://example.com/x.git mcp-server-time":         "time",
		"uvx mcp-server-fetch==1.2":                                        "fetch",
		"pipx run mcp-server-git --repository .":                           "git",
		"uv run server.py":                                                 "server",
		"uv run --directory /srv/x python -m weather_mcp":                  "weather",
		"deno run -A npm:tavily-mcp@0.1.3":                                 "npm-tavily-mcp-0.1.3",
		"python3.13t srv.py":                                               "srv",
		"python3-dbg -m weather":                                           "weather",
		"python server.py":                                                 "server",
		"python3.12 -m mcp_server_git --repository .":                      "git",
		"/usr/bin/python3 -u /srv/weather/main.py":                         "weather",
		"node /srv/weather/dist/index.js":                                  "weather",
		"node build/index.js":                                              "build",
		"node --env-file .env weather.mjs":                                 "weather",
		"/path/my-mcp-server.exe":                                          "my",
		`C:\Tools\My-Server.exe --x`:                                       "My",
		"./echo-server":                                                    "echo",
		"server":                                                           "server",
		"mcp-server":                                                       "mcp-server",
		"docker run -i --rm -v /a:/b ghcr.io/github/github-mcp-server:1.0": "github",
		"docker run -i mcp/postgres":                                       "postgres",
		"java -jar /opt/jira-mcp.jar":                                      "jira",
		"go run ./cmd/echo":                                                "echo",
		"go run ./examples/echo-server":                                    "echo",
		"systemd-mcp":                                                      "mcp-systemd",
		"über":                                                             "ber",
		"...":                                                              "server",
		"npx":                                                              "npx",
		"cat":                                                              "cat",
		"/opt/" + strings.Repeat("x", 80):                                  strings.Repeat("x", 64),
	} {
		got := ID(strings.Fields(command))
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if got := ID([]string{"sh", "-c", "npx -y server-git; true"}); got != "git" {
		t.Errorf("a script: %q", got)
	}
	if got := ID([]string{"sh", "-c", "echo $0; $(id)"}); got != "echo" {
		t.Errorf("a script: %q", got)
	}
}

func TestWhatMayDownloadAServer(t *testing.T) {
	for program, want := range map[string]string{
		"npx": "npx", `C:\node\npx.cmd`: "npx", "/usr/bin/npm": "npm", "uv": "uv", "docker": "docker", "deno": "deno",
		"node": "", "python3": "", "./server": "", "sh": "", "npx-server": "",
	} {
		if got := Fetcher([]string{program, "-y", "x"}); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}
