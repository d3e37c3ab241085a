package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

func (p *program) gatewayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway [FLAGS]",
		Short: "Run the gateway by itself",
		Long: `Run the gateway by itself.

A gateway keeps the topics. It speaks mcp-x/v0 at /v0/ws, mcpx/v0.1 at /ws and
mew/v0.4 at /, all on one port, and lets their speakers meet in one topic.
"run" hosts one when there is none; this command is for one that stays. Where
this machine's runs already, it says so and ends, unless --listen names a place.

Tokens come from "mcpx-bridge token". With --open-tokens anybody who reaches
the gateway can make one, for any name: for trying things out.

It listens on this machine only, unless it has a certificate, or --behind-proxy
says that a proxy in front of it does the encryption. Name the host that others
call it by with --host.`,
		Example: `  mcpx-bridge gateway
  mcpx-bridge gateway --listen :443 --tls-cert cert.pem --tls-key key.pem --host gateway.example
  mcpx-bridge gateway --listen 0.0.0.0:8787 --behind-proxy --host gateway.example`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runGateway(cmd.Context()) },
	}
	f := cmd.Flags()
	p.s.listenFlags(f, "where to listen, `HOST:PORT`; port 0 takes any")
	f.StringVar(&p.s.TLSCert, "tls-cert", "", "serve wss with the certificate in this `FILE` (PEM)")
	f.StringVar(&p.s.TLSKey, "tls-key", "", "the key of that certificate, in this `FILE` (PEM)")
	f.BoolVar(&p.s.BehindProxy, "behind-proxy", false, "a proxy in front of the gateway does the encryption")
	f.StringArrayVar(&p.s.Host, "host", nil, "a `NAME` that others call this gateway by; repeatable")
	f.BoolVar(&p.s.OpenTokens, "open-tokens", false, "let anybody make a token (for trying things out)")
	return cmd
}

// runGateway serves until told to stop.
func (p *program) runGateway(ctx context.Context) error {
	tlsConfig, err := localgateway.Encryption(p.s.Listen, p.s.TLSCert, p.s.TLSKey, p.s.BehindProxy)
	if err != nil {
		return err
	}
	l, err := p.localGateway()
	if err != nil {
		return err
	}
	o := gateway.Options{OpenTokens: p.s.OpenTokens, Hosts: p.s.Host, Log: p.log}
	if at := localgateway.HostAt(p.s.Listen); at != "" {
		o.Hosts = append(o.Hosts, at)
	}
	if p.s.BehindProxy {
		o.MaxFromAddress = -1 // all come from the proxy
	}
	h, err := l.HostByHand(ctx, o, tlsConfig)
	if err != nil {
		return err
	}
	p.announceGateway(h)
	startIsOver()
	defer h.Stop()
	select {
	case <-h.Done():
		return fail(exitFailed, "start it again; --log-level debug says more", "the gateway stopped: %w", h.Err())
	case <-ctx.Done():
		return nil
	}
}

func (p *program) announceGateway(h *localgateway.Hosting) {
	ready := struct {
		Event string `json:"event"`
		URL   string `json:"url"`
		PID   int    `json:"pid"`
	}{"ready", h.URL(), os.Getpid()}
	if p.s.JSON {
		p.print(jsonLine(ready))
		return
	}
	p.log.Info("the gateway is at " + h.URL())
	if !h.Local() {
		p.log.Info("name it to other commands with --gateway " + h.URL())
	}
	if p.s.OpenTokens {
		p.log.Warn("anybody who reaches this gateway can make a token for any name (--open-tokens)")
	}
}
