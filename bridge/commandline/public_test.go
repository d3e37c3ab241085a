package commandline

import (
	"strings"
	"testing"
)

func TestACommandLineInPublic(t *testing.T) {
	for argv, want := range map[string]string{
		"npx -y server-filesystem /tmp":                            "npx -y server-filesystem /tmp",
		"srv --api-key=HUSH --port 1":                              "srv --api-key=[hidden] --port 1",
		"srv --token HUSH /data":                                   "srv --token [hidden] /data",
		"srv --token --verbose":                                    "srv --token --verbose",
		"docker run -e GITHUB_TOKEN=HUSH image":                    "docker run -e GITHUB_TOKEN=[hidden] image",
		"srv postgres://bob:HUSH@db/x":                             "srv postgres://bob:[hidden]@db/x",
		"mcp-remote --header Authorization:~Bearer~HUSH":           "mcp-remote --header Authorization:~[hidden]",
		"sh -c DB_PASSWORD=HUSH~exec~srv":                          "sh -c DB_PASSWORD=[hidden]",
		"srv --secret=HUSH|HUSH":                                   "srv --secret=[hidden]",
		"srv --pass HUSH --pwd HUSH":                               "srv --pass [hidden] --pwd [hidden]",
		"srv --key HUSH --access-key=HUSH":                         "srv --key [hidden] --access-key=[hidden]",
		"srv AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdef":            "srv [hidden] [hidden]",
		"srv glpat-0123456789 xoxb-0123456789 sk-0123456789":       "srv [hidden] [hidden] [hidden]",
		"srv eyJhbGciOiJIUzI1.eyJzdWIiOiIx. github_pat_0123456789": "srv [hidden] [hidden]",
		"srv -token HUSH -token=HUSH":                              "srv -token [hidden] -token=[hidden]",
		"srv --pat HUSH --path /srv --keyboard us":                 "srv --pat [hidden] --path /srv --keyboard us",
		"srv bob:HUSH@tcp(db:3306)/x":                              "srv bob:[hidden]@tcp(db:3306)/x",
		"srv --db=bob:HUSH@db/x a@b.example":                       "srv --db=bob:[hidden]@db/x a@b.example",
		"uvx --from git+https://HUSH@host/x.git srv":               "uvx --from git+https://[hidden]@host/x.git srv",
		"srv https://HUSH:@host/ redis://:HUSH@host":               "srv https://[hidden]@host/ redis://:[hidden]@host",
		"srv --url=https://HUSH@host --at|https://HUSH@host":       "srv --url=https://[hidden]@host --at|https://[hidden]@host",
		"srv https://HUSH:x-oauth-basic@host/x.git":                "srv https://[hidden]@host/x.git",
		"srv https://bob:HU@SH@host/x https://HU@SH@host":          "srv https://bob:[hidden]@host/x https://[hidden]@host",
		"srv https://bob@b.example:HUSH@host/":                     "srv https://[hidden]@host/",
		"srv https://HUSH@host?to=a@b https://HUSH@host:80?to=a@b": "srv https://[hidden]@b https://[hidden]@b",
		"srv https://host/@scope/x https://host?to=a@b.example":    "srv https://host/@scope/x https://host?to=a@b.example",
		"srv https://host#a@b https://host:80/a@b":                 "srv https://host#a@b https://host:80/a@b",
	} {
		var words []string
		for word := range strings.FieldsSeq(argv) {
			words = append(words, strings.NewReplacer("~", " ", "|", "\n").Replace(word))
		}
		got := Public(words)
		if got != strings.NewReplacer("~", " ", "|", "\n").Replace(want) {
			t.Errorf("%s is %s, want %s", argv, got, want)
		}
	}
}

// What is a secret in a command line cannot always be told, so the topic sees the
// name of the program or package alone (FINDINGS M4).
func TestTheTopicSeesTheNameOfTheProgramAlone(t *testing.T) {
	for argv, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /home/bob": "server-filesystem",
		"/opt/tools/srv hunter2":                                   "srv",
		"sh -c DB_PIN=HUSH~exec~/opt/srv~--x":                      "srv",
		"npx --token HUSH pkg@1.2":                                 "pkg",
		"uvx --from git+https://HUSH@host/x.git":                   "uvx",
		"npx -y git+https://HUSH@host/x.git":                       "x",
		"docker run -i --rm -e PIN=HUSH mcp/pg":                    "pg",

		// what a shell reads as one word, or as nothing that it starts
		"sh -c AUTH='Bearer~HUSH'~npx~mcp-remote":         "mcp-remote",
		"sh -c PIN=\"$X~HUSH\"~PORT=${P}~srv":             "srv",
		"sh -c PIN=a\\~HUSH~srv":                          "sh",
		"sh -c PIN=\"'\"'x~HUSH'~srv":                     "srv",
		"sh -c PIN=$(cat~HUSH)~srv":                       "sh",
		"sh -c PIN=\"`cat~HUSH`\"~srv":                    "sh",
		"sh -c PIN=x~<<<HUSH~srv":                         "sh",
		"sh -c PIN=x~#HUSH":                               "sh",
		"sh -c npx~--token~'x~HUSH'~pkg":                  "pkg",
		"bash -lc PIN=HUSH~srv":                           "srv",
		"bash -ecx srv~HUSH":                              "srv",
		"bash -c -e PIN=HUSH~srv":                         "srv",
		"sh -c bash~-lc~'PIN=HUSH~srv'":                   "srv",
		"npx -c PIN=HUSH~srv":                             "srv",
		"npm exec --call PIN=HUSH~srv":                    "srv",
		"python -c f('HUSH')~#":                           "python",
		"python3 -Ic open('/HUSH') HUSH":                  "python3",
		"python -cf('/HUSH') HUSH":                        "python",
		"python -mweather HUSH":                           "weather",
		"node -e f('HUSH')~#":                             "node",
		"node --eval=f(1) HUSH":                           "node",
		"bun -e f('HUSH')":                                "bun",
		"tsx -e f('HUSH')":                                "tsx",
		"ruby -ne f('HUSH')":                              "ruby",
		"php -r f('HUSH');":                               "php",
		"dotnet run --project /src/Weather -- HUSH":       "dotnet",
		"dotnet run HUSH":                                 "dotnet",
		"dotnet run --project=/src/Weather HUSH":          "dotnet",
		"dotnet /srv/runner.dll HUSH":                     "runner",
		"/opt/python-mcp-server HUSH":                     "python-mcp-server",
		"php -R f('HUSH')":                                "php",
		"bash -lc source~~/.x~&&~export~A=HUSH;srv":       "srv",
		"bash -lc export~A='HUSH~;~HUSH';~srv":            "srv",
		"bash -lc cd~$(f~HUSH)~&&~srv":                    "bash",
		"bash -lc export~A=HUSH":                          "bash",
		"sh -c P=${P:-HUSH}~srv":                          "srv",
		"dotnet run -- HUSH":                              "dotnet",
		"uvx --index https://HUSH@host pkg":               "pkg",
		"uvx --elsewhere https://HUSH@host pkg":           "uvx",
		"uvx --elsewhere https://HUSH@host/ pkg":          "uvx",
		"uv run --elsewhere bob:HUSH@host srv.py":         "uv",
		"docker run --log-opt splunk-token=HUSH image":    "image",
		"docker run --elsewhere splunk-token=HUSH image":  "docker",
		"docker run --elsewhere curl~HUSH image":          "docker",
		"docker run --elsewhere glpat-HUSH-HUSH image":    "docker",
		"uvx mcp-server-fetch>=1.2":                       "mcp-server-fetch",
		"node /Application~Support/weather/dist/index.js": "weather",
	} {
		var words []string
		for word := range strings.FieldsSeq(argv) {
			words = append(words, strings.ReplaceAll(word, "~", " "))
		}
		if got := Public([]string{Program(words)}); got != want {
			t.Errorf("%s is %s, want %s", argv, got, want)
		}
		if id := ID(words); strings.Contains(id, "HUSH") {
			t.Errorf("%s makes the id %s", argv, id)
		}
	}
}

// How long each part of what is known as a secret by its shape has to be.
func TestSecretsByTheirShapeAtTheirBounds(t *testing.T) {
	for prefix, least := range map[string]int{"AKIA": 12, "ghp_": 8, "ghs_": 8, "gho_": 8, "github_pat_": 8, "sk-": 8, "xoxb-": 8, "xoxp-": 8, "glpat-": 8} {
		for n, hidden := range map[int]bool{least - 1: false, least: true, least + 1: true} {
			word := prefix + strings.Repeat("0", n)
			if got := withoutSecrets(word); (got == unsaid) != hidden {
				t.Errorf("%s is shown as %s", word, got)
			}
		}
	}
	for word, want := range map[string]string{"x://a:b@c": "x://a:[hidden]@c", "x://:b@c": "x://:[hidden]@c", "a:b@c": "a:[hidden]@c", "x://a@c": "x://[hidden]@c", "x://a:@c": "x://[hidden]@c", "x://@c": "x://[hidden]@c", "x://c": "x://c", "a=b": "a=b", "key=b": "key=[hidden]", "KEY: b": "KEY: [hidden]", "-key=b": "-key=[hidden]", "--key=b": "--key=[hidden]", "monkey=b": "monkey=b"} {
		if got := withoutSecrets(word); got != want {
			t.Errorf("%s is shown as %s, want %s", word, got, want)
		}
	}
}
