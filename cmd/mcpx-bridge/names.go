package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxToolName is the longest name that every consumer of exported tools takes
// (WIRE 9.1).
const maxToolName = 64

// minimum lengths that shortening leaves to a lossy name's parts, as far as it
// can (WIRE 9.2).
const (
	keepTool = 12
	keepPeer = 8
)

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolName is the name under which a peer's tool is exported: peer__tool where
// that can be read in one way only, else a shortened form with a digest. It
// depends on nothing but its arguments, so it stays the same across joins and
// restarts. most is the longest name wanted, at least 32 (WIRE 9.2).
func toolName(peer, tool string, most int) string {
	name := peer + "__" + tool
	if readable(peer, tool) && len(name) <= most {
		return name
	}
	return lossyName(peer, tool, most, 8)
}

// readable reports whether the first "__" of peer__tool is certain to be the
// one between the two.
func readable(peer, tool string) bool {
	return peer != "" && tool != "" && !notInName.MatchString(peer+tool) &&
		!strings.Contains(peer, "__") && !strings.HasSuffix(peer, "_")
}

var underscores = regexp.MustCompile(`__+`)

func lossyName(peer, tool string, most, digits int) string {
	sum := sha256.Sum256([]byte(peer + "\x00" + tool))
	p := strings.TrimRight(underscores.ReplaceAllString(notInName.ReplaceAllString(peer, "_"), "_"), "_")
	t := notInName.ReplaceAllString(tool, "_")
	excess := func() int { return max(0, len(p)+2+len(t)+1+digits-most) }
	t = t[:max(min(len(t), keepTool), len(t)-excess())]
	p = p[:max(min(len(p), keepPeer), len(p)-excess())]
	t = t[:max(0, len(t)-excess())]
	return p + "__" + t + "_" + hex.EncodeToString(sum[:])[:digits]
}

// A peerTool is one participant's tool.
type peerTool struct{ Peer, Tool string }

// toolNames gives every tool its exported name. Two lossy names that fall
// together get a longer digest.
func toolNames(tools []peerTool, most int) map[peerTool]string {
	names, taken := map[peerTool]string{}, map[string]int{}
	for _, t := range tools {
		names[t] = toolName(t.Peer, t.Tool, most)
		taken[names[t]]++
	}
	for t, name := range names {
		if taken[name] > 1 && name != t.Peer+"__"+t.Tool {
			names[t] = lossyName(t.Peer, t.Tool, most, 16)
		}
	}
	return names
}
