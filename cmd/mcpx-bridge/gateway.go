package main

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

func (p *program) gatewayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway [FLAGS]",
		Short: "Run the gateway by itself",
		Long: `Run the gateway by itself.

A gateway keeps the topics. It speaks mcp-x/v0 at /v0/ws, mcpx/v0.1 at /ws and
mew/v0.4 at /, all on one port, and lets their speakers meet in one topic.
"run" hosts one when there is none; this command is for one that stays.

Tokens come from "mcpx-bridge token". With --open-tokens anybody who reaches
the gateway can make one, for any name: for trying things out.

It listens on this machine only, unless it has a certificate, or --behind-proxy
says that a proxy in front of it does the encryption. Name the host that others
call it by with --host.`,
		Example: `  mcpx-bridge gateway
  mcpx-bridge gateway --listen :443 --tls-cert cert.pem --tls-key key.pem --host gateway.example
  mcpx-bridge gateway --listen 0.0.0.0:8787 --behind-proxy --host gateway.example`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runGateway(cmd.Context()) },
	}
	f := cmd.Flags()
	p.s.listenFlags(f, "where to listen, `HOST:PORT`; port 0 takes any")
	f.StringVar(&p.s.TLSCert, "tls-cert", "", "serve wss with the certificate in this `FILE` (PEM)")
	f.StringVar(&p.s.TLSKey, "tls-key", "", "and the key in this `FILE` (PEM)")
	f.BoolVar(&p.s.BehindProxy, "behind-proxy", false, "a proxy in front of us does the encryption")
	f.StringArrayVar(&p.s.Host, "host", nil, "a `NAME` that others call this gateway by; repeatable")
	f.BoolVar(&p.s.OpenTokens, "open-tokens", false, "let anybody make a token (for trying things out)")
	return cmd
}

// runGateway serves until told to stop.
func (p *program) runGateway(ctx context.Context) error {
	tlsConfig, err := p.checkGateway()
	if err != nil {
		return err
	}
	l, err := p.localGateway()
	if err != nil {
		return err
	}
	o := gateway.Options{OpenTokens: p.s.OpenTokens, Hosts: p.hosts(), Log: p.log}
	if p.s.BehindProxy {
		o.MaxFromAddress = -1 // all come from the proxy
	}
	h, err := l.serveByHand(ctx, o, tlsConfig)
	if err != nil {
		return err
	}
	p.announceGateway(h)
	startIsOver()
	select {
	case err = <-h.done:
		h.done <- err
		err = fail(exitFailed, "start it again; --log-level debug says more", "the gateway stopped: %w", err)
	case <-ctx.Done():
		err = nil
	}
	h.stop()
	return err
}

func (p *program) announceGateway(h *hosting) {
	ready := struct {
		Event string `json:"event"`
		URL   string `json:"url"`
		PID   int    `json:"pid"`
	}{"ready", h.url, os.Getpid()}
	if p.s.JSON {
		p.print(jsonLine(ready))
		return
	}
	p.log.Info("the gateway is at " + h.url)
	if h.lock == nil {
		p.log.Info("name it to other commands with --gateway " + h.url)
	}
	if p.s.OpenTokens {
		p.log.Warn("anybody who reaches this gateway can make a token for any name (--open-tokens)")
	}
}

// checkGateway refuses to listen where others can reach us in clear text.
func (p *program) checkGateway() (*tls.Config, error) {
	if _, _, err := net.SplitHostPort(p.s.Listen); err != nil {
		return nil, badListen(err)
	}
	if (p.s.TLSCert == "") != (p.s.TLSKey == "") {
		return nil, misused("give both", "--tls-cert and --tls-key belong together")
	}
	if p.s.TLSCert == "" {
		if offLoopback(p.s.Listen) && !p.s.BehindProxy {
			return nil, misused("give --tls-cert and --tls-key, or --behind-proxy if a proxy does the encryption",
				"--listen %s can be reached from other machines, in clear text", p.s.Listen)
		}
		return nil, nil
	}
	cert, err := keyPair(p.s.TLSCert, p.s.TLSKey)
	if err != nil {
		return nil, misused("both are PEM files, and the key is the one of the certificate", "--tls-cert, --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// maxPEM is the most bytes that a certificate or a key may have.
const maxPEM = 1 << 20

func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := private.Read(certFile, maxPEM, private.Care{})
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := private.Read(keyFile, maxPEM, private.Care{})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// hosts are the names this gateway answers to: those given, and the address
// it listens at.
func (p *program) hosts() []string {
	hosts := p.s.Host
	if host, _, err := net.SplitHostPort(p.s.Listen); err == nil && offLoopback(p.s.Listen) && host != "" {
		hosts = append(hosts, strings.Trim(host, "[]"))
	}
	return hosts
}

// serveByHand serves a gateway that was started by hand. Unless another process
// hosts this machine's gateway, or ours speaks TLS, it becomes that.
func (l *local) serveByHand(ctx context.Context, o gateway.Options, config *tls.Config) (*hosting, error) {
	if config == nil && l.isLocal() {
		h, err := l.hostSoon(ctx, o)
		if h != nil || err != nil {
			return h, err
		}
		at, _ := l.find(ctx)
		l.log.Info("another process hosts this machine's gateway already, so this one is beside it", "other", at)
	}
	var err error
	if o.Secret, err = l.state.secret(); err != nil {
		return nil, err
	}
	listener, err := l.openPort("")
	if err != nil {
		return nil, err
	}
	scheme := "ws"
	if config != nil {
		scheme, listener = "wss", tls.NewListener(listener, config)
	}
	return serveGateway(listener, scheme, o)
}

// isLocal reports whether this machine's programs could join in clear text
// where we are to listen.
func (l *local) isLocal() bool {
	host, _, _ := net.SplitHostPort(l.listen)
	ip := net.ParseIP(host)
	return !offLoopback(l.listen) || host == "" || ip != nil && ip.IsUnspecified()
}

// hostSoon is tryHost, which fails for a moment when somebody just looks
// whether anybody hosts.
func (l *local) hostSoon(ctx context.Context, o gateway.Options) (*hosting, error) {
	for {
		h, err := l.tryHost(o)
		if h != nil || err != nil {
			return h, err
		}
		if hosted, err := l.state.hosted(); hosted || err != nil || !pause(ctx, 20*time.Millisecond) {
			return nil, err
		}
	}
}

func badListen(err error) error {
	return misused("write it as HOST:PORT, for example 127.0.0.1:7420", "--listen: %w", err)
}
