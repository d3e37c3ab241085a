package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token --id ID [--topic TOPIC] [--role ROLE | --can KIND…] [--ttl TIME]",
		Short: "Make a token for this machine's gateway",
		Long: `Make a token for this machine's gateway, and print it.

Whoever has it can join the topic as ID until it runs out, so --token-file takes
no file that others can read: set umask 077 before you write one. Roles are
  full      everything (the default)
  server    answer requests, send notifications and chat
  proposer  propose, but request nothing
  observer  chat
or say with --can which kinds of frames may be sent.`,
		Example: `  mcpx-bridge token --topic team --id alice > alice.token
  mcpx-bridge token --id intern --role proposer --ttl 8h
  mcpx-bridge token --id reader --can mcp/request:tools/list --can chat`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.mintToken() },
	}
	f := cmd.Flags()
	f.StringVar(&p.s.ID, "id", "", "the participant `ID` it is for")
	f.StringVar(&p.s.Topic, "topic", "lobby", "the `TOPIC` it is good for; * is every topic")
	f.StringVar(&p.s.Role, "role", "", "what its bearer may send, as a `ROLE`: full, server, proposer or observer")
	f.StringArrayVar(&p.s.Can, "can", nil, "a `KIND` of frame its bearer may send, * as a wildcard; repeatable")
	f.DurationVar(&p.s.TTL, "ttl", defaultTTL, "how long it is good, as a `TIME` like 8h")
	return cmd
}

func (p *program) mintToken() error {
	if p.s.ID == "" {
		return misused("mcpx-bridge token --topic team --id alice", "token needs the --id of whom it is for")
	}
	if err := checkID("--id", p.s.ID); err != nil {
		return err
	}
	if p.s.Topic != "*" {
		if err := checkTopic(p.s.Topic); err != nil {
			return err
		}
	}
	if p.s.TTL <= 0 {
		return misused("--ttl 24h", "--ttl must be more than nothing")
	}
	caps, err := capsJSON(p.s.Role, p.s.Can)
	if err != nil {
		return err
	}
	l, err := p.localGateway()
	if err != nil {
		return err
	}
	token, err := l.mint(gateway.Claims{ID: p.s.ID, Topic: p.s.Topic, Capabilities: caps, Expires: time.Now().Add(p.s.TTL)})
	if err != nil {
		return err
	}
	if p.s.JSON {
		return p.print(jsonLine(struct {
			Token string `json:"token"`
		}{token}))
	}
	return p.print(fmt.Appendln(nil, token))
}

// capsJSON is the capabilities of a token: what --role or --can ask for, as the
// JSON list that claims and welcomes carry.
func capsJSON(role string, can []string) ([]byte, error) {
	switch {
	case role != "" && len(can) > 0:
		return nil, misused("keep one of them", "--role and --can exclude each other")
	case role != "":
		kinds, ok := roles[role]
		if !ok {
			return nil, misused("it is one of "+strings.Join(sortedKeys(roles), ", "), "--role: there is no role %q", role)
		}
		can = kinds
	case len(can) == 0:
		can = roles["full"]
	}
	for _, kind := range can {
		if kind == "" || visible(kind) != kind || strings.Contains(kind, " ") {
			return nil, misused("kinds look like mcp/request:tools/* or chat", "--can: %q is no kind", kind)
		}
		if strings.HasPrefix(kind, "system") {
			return nil, misused("only gateways speak as system", "--can: %q cannot be granted", kind)
		}
	}
	text, err := json.Marshal(can)
	if err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	return text, nil
}

// roles are ready sets of capabilities (WIRE 3.3).
var roles = map[string][]string{
	"full":     {"mcp/*", "chat"},
	"server":   {"mcp/response:*", "mcp/request:notifications/*", "mcp/reject", "chat"},
	"proposer": {"mcp/proposal:*", "mcp/withdraw", "mcp/response:*", "chat"},
	"observer": {"chat"},
}

// defaultTTL is how long a token is good unless it is said.
const defaultTTL = 24 * time.Hour
