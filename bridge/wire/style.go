package wire

import "slices"

// A Style is a way to spell what concerns a proposal (WIRE 4.3). The drafts of
// mcpx/v0.1 had several; the other dialects have V2 alone and take the seeds'
// for it.
type Style uint8

const (
	Auto    Style = iota // as V2; whoever answers a proposal sets the Style of its Offer
	V2                   // mcp/proposal, mcp/withdraw, mcp/reject
	Seed001              // mcp.proposal.METHOD, mcpx.withdraw.proposal, mcpx.reject.proposal, mcpx.status.proposal
	Seed000              // proposal, proposal-reject, proposal-response
	Seed002              // proposal, proposal/withdraw
	Words                // a chat in place of a reject
	Off                  // nothing at all
	styles               // how many there are
)

var styleNames = [styles]string{"auto", "v2", "seed001", "seed000", "seed002", "chat", "off"}

func (s Style) String() string {
	if s >= styles {
		return "auto"
	}
	return styleNames[s]
}

// StyleNames are the styles by the names that [ParseStyle] reads.
func StyleNames() []string { return styleNames[:] }

// ParseStyle reads the name of a style.
func ParseStyle(name string) (Style, bool) {
	i := slices.Index(styleNames[:], name)
	return Style(max(i, 0)), i >= 0
}
