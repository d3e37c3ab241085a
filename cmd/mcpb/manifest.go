package main

import (
	"fmt"
	"regexp"
)

// platforms are what manifests call systems.
var platforms = map[string]string{"darwin": "darwin", "linux": "linux", "windows": "win32"}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// A manifest tells a client what is in a bundle, how it is started, and what to
// ask its user for. Form 0.3.
type manifest struct {
	ManifestVersion string             `json:"manifest_version"`
	Name            string             `json:"name"`
	DisplayName     string             `json:"display_name"`
	Version         string             `json:"version"`
	Description     string             `json:"description"`
	LongDescription string             `json:"long_description"`
	Author          author             `json:"author"`
	Repository      repository         `json:"repository"`
	License         string             `json:"license"`
	Server          server             `json:"server"`
	ToolsGenerated  bool               `json:"tools_generated"`
	UserConfig      map[string]setting `json:"user_config"`
	Compatibility   compatibility      `json:"compatibility"`
}

type author struct {
	Name string `json:"name"`
}

type repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type server struct {
	Type       string  `json:"type"`
	EntryPoint string  `json:"entry_point"`
	Config     command `json:"mcp_config"`
}

type command struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// A setting is asked for when the bundle is installed. All have a default, since
// clients hand on what has neither value nor default as it is written.
type setting struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Default     string `json:"default"`
	Required    bool   `json:"required"`
	Sensitive   bool   `json:"sensitive,omitempty"`
}

type compatibility struct {
	Platforms []string `json:"platforms"`
}

func describe(goos, version string) (manifest, error) {
	platform := platforms[goos]
	if platform == "" {
		return manifest{}, fmt.Errorf("-os %q: it is darwin, linux or windows", goos)
	}
	if !semver.MatchString(version) {
		return manifest{}, fmt.Errorf("-version %q: it looks like 1.2.3", version)
	}
	program := "server/mcpx-bridge"
	if goos == "windows" {
		program += ".exe"
	}
	return manifest{
		ManifestVersion: "0.3",
		Name:            "mcpx-bridge",
		DisplayName:     "MCPx bridge",
		Version:         version,
		Description:     "The tools of everybody in an MCPx topic",
		LongDescription: "Shows what people and agents in an MCPx topic offer as tools of one server. What you call is judged by the policy of the tool's owner, and may wait until a person agrees.",
		Author:          author{"The mcpx-bridge authors"},
		Repository:      repository{"git", "https://github.com/mcpx-protocol/mcpx-bridge"},
		License:         "Apache-2.0",
		Server:          server{"binary", program, command{"${__dirname}/" + program, []string{"serve"}, variables}},
		ToolsGenerated:  true, // they are those of who is in the topic
		UserConfig:      asked,
		Compatibility:   compatibility{[]string{platform}},
	}, nil
}

// variables are how serve is told what the user was asked for: a token on a
// command line could be read by others.
var variables = map[string]string{
	"MCPX_GATEWAY_URL":    "${user_config.gateway}",
	"MCPX_TOPIC":          "${user_config.topic}",
	"MCPX_PARTICIPANT_ID": "${user_config.id}",
	"MCPX_AUTH_TOKEN":     "${user_config.token}",
}

var asked = map[string]setting{
	"gateway": {Type: "string", Title: "Gateway", Description: "Its address, wss://…; left empty, it is this machine's own."},
	"topic":   {Type: "string", Title: "Topic", Description: "The topic to join.", Default: "lobby"},
	"id":      {Type: "string", Title: "Participant id", Description: "What you are called there; left empty, it is made up, or taken from the token."},
	"token":   {Type: "string", Title: "Token", Description: "For the gateway, unless it is this machine's own.", Sensitive: true},
}
