package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token --id ID [--topic TOPIC] [--role ROLE | --can KIND…] [--ttl TIME] [--out FILE]",
		Short: "Make a token for this machine's gateway",
		Long: `Make a token for this machine's gateway, and print it, or write it to --out: a
file that only you can read, as --token-file wants it.

Anybody who has the token can join the topic as ID until it runs out. A command that
joined with it loses its seat then, or takes the next token if --token-file or
--token-command has one by that time. --out replaces the token in FILE, and says
which that was. Without a role its bearer may send what
is usual in the dialect: everything among participants, but nothing that has power
over them. Roles are
` + roleHelp + `
or say with --can which kinds of frames may be sent.`,
		Example: `  mcpx-bridge token --topic team --id alice --out alice.token
  mcpx-bridge token --id intern --role agent --ttl 90d --out intern.token
  mcpx-bridge token --id reader --can mcp/request:tools/list --can chat`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.mintToken() },
	}
	f := cmd.Flags()
	f.StringVar(&p.s.ID, "id", "", "the participant `ID` it is for")
	f.StringVar(&p.s.Topic, "topic", "lobby", "the `TOPIC` it is good for; * is every topic")
	f.StringVar(&p.s.Role, "role", "", "what its bearer may send, as a `ROLE`: full, agent, approver, bridge, observer or admin")
	f.StringArrayVar(&p.s.Can, "can", nil, "a `KIND` of frame its bearer may send, * as a wildcard; repeatable")
	timeFlag(f, &p.s.TTL, "ttl", defaultTTL, "how long it is good, as a `TIME` like 8h or 90d")
	f.StringVar(&p.s.Out, "out", "", "write it to this `FILE`, for you alone, and not to stdout")
	return cmd
}

func (p *program) mintToken() error {
	if p.s.ID == "" {
		return misused("mcpx-bridge token --topic team --id alice", "token needs --id, the participant it is for")
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
		return misused("--ttl 24h", "--ttl must be more than 0")
	}
	if err := token.CheckKeep(p.s.Out); err != nil {
		return err
	}
	caps, err := token.Capabilities(p.s.ID, p.s.Role, p.s.Can)
	if err != nil {
		return err
	}
	l, err := p.localGateway()
	if err != nil {
		return err
	}
	now := time.Now()
	until := now.Add(p.s.TTL)
	minted, err := l.Mint(gateway.Claims{ID: p.s.ID, Topic: p.s.Topic, Capabilities: caps, Expires: until})
	if err != nil {
		return err
	}
	replaces := token.Replaces(p.s.Out, now)
	if p.s.Out != "" {
		if err := token.Keep(p.s.Out, minted); err != nil {
			return err
		}
	}
	p.log.Info(token.InWords(p.s.Out, p.s.ID, p.s.Topic, p.s.Role, p.s.Can, until, now) + "; --ttl says how long")
	if replaces != "" {
		p.log.Info(replaces)
	}
	if p.s.Out != "" {
		return nil
	}
	if p.s.JSON {
		return p.print(jsonLine(struct {
			Token string `json:"token"`
		}{minted}))
	}
	return p.print(fmt.Appendln(nil, minted))
}

// defaultTTL is how long a token is good unless it is said.
const defaultTTL = 24 * time.Hour

// roleHelp is what people read of the roles that package token knows.
const roleHelp = `  full      everything among participants
  agent     propose and withdraw, look tools up, answer, chat; request nothing
  approver  answer questions, reject proposals, chat
  bridge    what run needs: answer, ask approvers, reject, fulfil proposals
            made to it; request nothing of others
  observer  chat
  admin     everything, pausing and stopping others included`
