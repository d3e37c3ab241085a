package main

import (
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// warnOfSecret: others read a reason, and bridges put it on record.
func (p *program) warnOfSecret(flag, said, who string) {
	if policy.LooksSecret(said) {
		p.log.Warn(flag + " looks as if a secret were in it, and " + who)
	}
}

func (s *offerSettings) whyFlag(f *pflag.FlagSet, usage string) {
	f.StringVar(&s.Why, "why", "", usage)
}
