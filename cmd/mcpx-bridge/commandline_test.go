package main

import (
	"strings"
	"testing"
)

func TestACommandLineInPublic(t *testing.T) {
	for argv, want := range map[string]string{
		"npx -y server-filesystem /tmp":                  "npx -y server-filesystem /tmp",
		"srv --api-key=HUSH --port 1":                    "srv --api-key=[hidden] --port 1",
		"srv --token HUSH /data":                         "srv --token [hidden] /data",
		"srv --token --verbose":                          "srv --token --verbose",
		"docker run -e GITHUB_TOKEN=HUSH image":          "docker run -e GITHUB_TOKEN=[hidden] image",
		"srv postgres://bob:HUSH@db/x":                   "srv postgres://bob:[hidden]@db/x",
		"mcp-remote --header Authorization:~Bearer~HUSH": "mcp-remote --header Authorization:~[hidden]",
		"sh -c DB_PASSWORD=HUSH~exec~srv":                "sh -c DB_PASSWORD=[hidden]",
		"srv --secret=HUSH|HUSH":                         "srv --secret=[hidden]",
	} {
		var words []string
		for word := range strings.FieldsSeq(argv) {
			words = append(words, strings.NewReplacer("~", " ", "|", "\n").Replace(word))
		}
		got := inPublic(words)
		if got != strings.ReplaceAll(want, "~", " ") {
			t.Errorf("%s is %s, want %s", argv, got, want)
		}
	}
}
