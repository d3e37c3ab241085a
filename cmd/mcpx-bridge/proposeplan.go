package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// thePlan is what a plan is called where a proposal has a tool.
const thePlan = "the plan"

// planFor is the plan that the flags name, for whom args do.
func (p *program) planFor(args []string) (to string, params []byte, err error) {
	switch {
	case len(args) != 1:
		return "", nil, misused("mcpx-bridge propose PEER --plan FILE", "a plan is put to one participant, and names the tools itself")
	case len(p.s.Offer.Preferred) > 0 || p.s.ID == "" && !p.bearsToken():
		return "", nil, misused("give the --id that will make the calls, and no --preferred", "a plan is for the calls of one participant at one bridge")
	}
	params, err = p.readPlan(p.s.Offer.Plan)
	return args[0], params, err
}

func (p *program) readPlan(name string) (params []byte, err error) {
	from := io.Reader(p.stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, misused("", "--plan: %w", err)
		}
		defer file.Close()
		from = file
	}
	if params, err = io.ReadAll(io.LimitReader(from, plan.MaxBytes+1)); err != nil {
		return nil, fail(exitFailed, "", "--plan: %w", err)
	}
	if _, err := plan.Parse(params); err != nil {
		return nil, misused("docs/proposals.md has the form of a plan", "%s is no plan: %w", name, err)
	}
	return params, nil
}

// showPlan says that a plan counts, by what id and until when.
func (p *program) showPlan(r client.Result) error {
	if r.Answer.Err != nil || p.s.JSON {
		return p.showAnswer(r.From, thePlan, r.Answer)
	}
	var counts struct {
		Plan  string    `json:"plan"`
		Until time.Time `json:"until"`
	}
	if err := json.Unmarshal(r.Answer.Result, &counts); err != nil || counts.Plan == "" {
		return fail(exitFailed, "", "%s answered something else than a plan's id", text.Line(r.From))
	}
	p.log.Info(fmt.Sprintf("%s agreed to the plan: it counts until %s, or until %[1]s stops", text.Line(r.From), text.Stamp(counts.Until.Local())))
	return p.print([]byte(text.Line(counts.Plan) + "\n"))
}
