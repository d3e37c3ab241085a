package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// settings are the values of all flags of all commands. A command binds the
// ones it has; the rest keep their zero.
type settings struct {
	// all commands
	Config    string
	JSON      bool
	Wide      bool
	LogLevel  string
	LogFormat string

	// the room and our seat in it
	Gateway      string
	Topic        string
	ID           string
	Dialect      string
	TokenFile    string
	TokenCommand string
	TokenInQuery bool
	Insecure     bool
	PinID        bool
	Pace         string
	Debug        []string
	Timeout      time.Duration
	Bounded      bool // --timeout counts while people decide, too

	// the server
	Server       string
	Cwd          string
	Env          []string
	EnvClean     bool
	EnvPass      []string
	StartTimeout time.Duration
	Stdio        bool
	GateHost     bool
	MaxCalls     int
	MaxPending   int
	Answers      string
	Notify       string
	Inbox        string // HOST:PORT, off, or "" for the default
	Provides     []string
	Allow, Deny  []string

	// what may run, and the record of it
	Policy          string
	Audit           string
	AuditSync       string
	AuditKeepSize   string  // as in 1GB; "": all of it
	AuditKeepDays   float64 // 0: for ever
	Approver        []string
	Within          time.Duration
	TrustUnverified bool
	ProposalStatus  bool
	ProposalStyle   string
	LenientParams   bool
	ToolsRequest    bool

	// the gateway
	Listen      string
	TLSCert     string
	TLSKey      string
	BehindProxy bool
	Host        []string
	OpenTokens  bool

	// token
	Role string
	Can  []string
	TTL  time.Duration
	Out  string

	// proposals
	Offer offerSettings

	// audit
	Records show.Filter
	Witness []string
	Partial bool

	// tools
	Format string

	// doctor
	Attach string

	// serve
	Patience         time.Duration
	MaxName          int
	NoCard           bool
	Limit            int
	Include, Exclude []string

	// answers
	Digest     string
	Reason     string
	Set        []string
	Remember   string
	DelegateTo string

	// inbox
	Port uint16

	// client
	Scope  string
	DryRun bool
	Force  bool

	// halt
	Cancel bool

	// policy explain
	From   string
	Via    string
	Method string
	At     string
	Hint   []string
	Beside string
}

// commonFlags are those of every command.
func (s *settings) commonFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Config, "config", "", "read settings from a YAML `FILE`; its keys are the names of flags")
	f.BoolVar(&s.JSON, "json", false, "print JSON on stdout, one object per line")
	f.StringVar(&s.LogLevel, "log-level", "info", "how much to say on stderr, `LEVEL`: debug, info, warn or error")
	f.StringVar(&s.LogFormat, "log-format", "text", "the `FORMAT` of what is said on stderr: text or json")
}

// roomFlags say which topic to join, where, and as whom.
func (s *settings) roomFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Gateway, "gateway", "", "the gateway's `URL`, ws or wss (default: this machine's)")
	f.StringVar(&s.Topic, "topic", "lobby", "the `TOPIC` to join")
	f.StringVar(&s.ID, "id", "", "your participant `ID` (default: made up)")
	f.StringVar(&s.Dialect, "dialect", "auto", "the `PROTOCOL` to speak: mcp-x/v0, mcpx/v0.1, meup/v0.2, mew/v0.3, mew/v0.4, or auto")
	f.StringVar(&s.TokenFile, "token-file", "", "read the token from a `FILE` that only you can read")
	f.StringVar(&s.TokenCommand, "token-command", "", "read the token from what this `COMMAND` prints")
	f.BoolVar(&s.TokenInQuery, "token-in-query", false, "send the token in the URL too, for gateways that read it nowhere else")
	f.BoolVar(&s.Insecure, "insecure", false, "allow clear text (ws) to a gateway on another machine")
	f.BoolVar(&s.PinID, "pin-id", false, "give up when the gateway gives another id than --id")
	f.StringVar(&s.Pace, "pace", "", "send no more than `N/min` messages, for gateways that count them")
	f.StringSliceVar(&s.Debug, "debug", nil, "show raw traffic of this `KIND` on stderr: wire, stdio, or both with a comma")
}

// callFlags are for commands that ask others for something.
func (s *settings) callFlags(f *pflag.FlagSet) {
	timeFlag(f, &s.Timeout, "timeout", time.Minute, "how long to wait for an answer, as a `TIME` like 90s")
}

// checkTimeout is for whoever waits for --timeout. None at all would send a call
// whose answer nobody hears.
func (s *settings) checkTimeout() error {
	if s.Timeout <= 0 {
		return misused("--timeout 60s", "--timeout must be more than 0")
	}
	return nil
}

// serverFlags say how to start the server, and what it may be asked.
func (s *settings) serverFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Server, "server", "", "the server's `COMMAND` in one string, instead of -- CMD ARG")
	f.StringVar(&s.Cwd, "cwd", "", "start the server in this `DIR`")
	f.StringArrayVar(&s.Env, "env", nil, "give the server this variable, `KEY=VALUE`; repeatable")
	f.BoolVar(&s.EnvClean, "env-clean", false, "start the server without the environment of this command")
	f.StringArrayVar(&s.EnvPass, "env-pass", nil, "with --env-clean, pass on this variable of the environment, `KEY`; repeatable")
	s.startFlag(f)
}

// startFlag is for all who wait for a server.
func (s *settings) startFlag(f *pflag.FlagSet) {
	timeFlag(f, &s.StartTimeout, "start-timeout", 30*time.Second, "the `TIME` the server has to start")
}

// policyFlags say what may run, who is asked, and where that is put on record.
func (s *settings) policyFlags(f *pflag.FlagSet) {
	s.ruleFlags(f)
	f.Lookup("policy").Usage += "; a saved change counts at once, or after your yes if it may let more through"
	f.StringVar(&s.Audit, "audit", "", "keep the record in this `FILE`, or off; left out, it is in the state directory")
	f.StringVar(&s.AuditSync, "audit-sync", "decisions", "what waits for the disk, `WHAT`: decisions, always or never")
	f.StringArrayVar(&s.Provides, "provides", nil, "say that the server is for `WORD`, which proposers may require; repeatable")
	f.StringVar(&s.AuditKeepSize, "audit-keep-size", "", "remove the oldest files of the record when it is larger than this `SIZE`, as 1GB (default: keep all)")
	f.Float64Var(&s.AuditKeepDays, "audit-keep-days", 0, "remove the files of the record that are older than this many `DAYS` (default: keep all)")
	f.BoolVar(&s.ProposalStatus, "proposal-status", false, "tell proposers the state of their proposals (mcpx.status.proposal), if they understand that")
	f.StringVar(&s.ProposalStyle, "proposal-style", "auto", "how to spell rejects in mcpx/v0.1, as a `STYLE`: auto (as the proposal), v2, seed000, seed001, chat or off")
	f.BoolVar(&s.LenientParams, "lenient-params", false, "read proposals that say tool where MCP says name")
	f.BoolVar(&s.ToolsRequest, "tools-request", false, "take tools/request for a proposal: mcp-x/v0 has no other word for one")
	f.BoolVar(&s.TrustUnverified, "trust-unverified-from", false, "let participants decide even if the gateway does not verify who speaks (mew)")
}

// ruleFlags say what may run, and who is asked.
func (s *settings) ruleFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.Allow, "allow", nil, "let others call the tools this `GLOB` matches, unasked; repeatable")
	f.StringArrayVar(&s.Deny, "deny", nil, "refuse what this `GLOB` matches, whatever --allow says; repeatable")
	f.StringArrayVar(&s.Approver, "approver", nil, "without --policy: ask this participant `ID` too; repeatable")
	timeFlag(f, &s.Within, "within", 0, "without --policy: ask for this `TIME` (default 5m)")
	s.policyFileFlag(f)
}

// choiceFlags say which tools are to be seen, as serve and tools have it.
func (s *settings) choiceFlags(f *pflag.FlagSet, verb string) {
	f.StringArrayVar(&s.Include, "include", nil, verb+" only what this `PATTERN` matches; repeatable")
	f.StringArrayVar(&s.Exclude, "exclude", nil, "never "+verb+" what this `PATTERN` matches; repeatable")
}

// policyFileFlag is for all who read rules.
func (s *settings) policyFileFlag(f *pflag.FlagSet) {
	f.StringVar(&s.Policy, "policy", "", "read the rules from this `FILE`")
}

// listenFlags say where a gateway of ours listens.
func (s *settings) listenFlags(f *pflag.FlagSet, what string) {
	f.StringVar(&s.Listen, "listen", localgateway.DefaultListen, what)
}

// A timeValue is a length of time that a flag sets, in days too.
type timeValue time.Duration

func (d *timeValue) Set(said string) error {
	given, err := text.Duration(said)
	*d = timeValue(given)
	return err
}

func (d *timeValue) Type() string { return "duration" }

func (d *timeValue) String() string {
	if *d == 0 {
		return "0" // which help takes for no default
	}
	return text.Span(time.Duration(*d))
}

func timeFlag(f *pflag.FlagSet, at *time.Duration, name string, value time.Duration, usage string) {
	*at = value
	f.Var((*timeValue)(at), name, usage)
}

// offerSettings are the flags of propose and withdraw.
type offerSettings struct {
	Preferred []string
	Requires  []string
	Exclusive bool
	Fallback  time.Duration
	TTL       time.Duration
	Style     string
	Reason    string // of withdraw
	Why       string // of propose, call and policy explain
	Plan      string // of propose: the file
}

func (s *settings) checkChoice() error {
	return cmp.Or(checkPatterns("include", s.Include), checkPatterns("exclude", s.Exclude))
}

// checkPatterns refuses a pattern that can fit nothing, which showed nothing, or
// excluded nothing, without a word (FINDINGS P18).
func checkPatterns(flag string, all []string) error {
	for _, pattern := range all {
		if word := strings.Trim(pattern, "/"); !strings.ContainsAny(pattern, "/*") || len(word) < len(pattern) {
			return misused(fmt.Sprintf("--%s '%s/*' is for all of that participant, --%s '*/%s' for a tool of that name", flag, word, flag, word),
				"--%s: %q fits nothing: a pattern is for PEER/NAME", flag, pattern)
		}
	}
	return nil
}
