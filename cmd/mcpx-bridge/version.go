package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Long:    "Say which version this is, and what it was built with.",
		Example: "  mcpx-bridge version --json\n  mcpx-bridge --version",
		RunE:    func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *program) printVersion() error {
	b := built()
	if p.s.JSON {
		return p.print(jsonLine(b))
	}
	text := "mcpx-bridge " + b.Version
	if b.Commit != "" {
		text += " (" + b.Commit + ")"
	}
	return p.print(fmt.Appendf(nil, "%s, %s, %s\n", text, b.Go, b.Platform))
}

// A build says what this program was made of.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func built() build {
	b := build{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value[:min(12, len(s.Value))]
		}
	}
	return b
}

func version() string { return built().Version }
