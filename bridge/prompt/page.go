package prompt

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// pageOf sets a question out in columns: all of it, however long. The arguments come before
// the circumstances: they are what is agreed to, and are seen while one confirms.
func pageOf(v *approval.View, columns int) (page []row) {
	exact := func(l look, text string) { page = append(page, rows(l, wrap(text, columns)...)...) }
	add := func(l look, text string) { page = append(page, rows(l, wrapProse(text, columns)...)...) }
	addHead(v, add)
	if v.AboutPolicy {
		exact = add // there is nothing but words in it
	}
	addWhat(v, exact)
	addCircumstances(v, add)
	return page
}

// addHead adds who wants what, and what in it cannot be seen as it is.
func addHead(v *approval.View, add func(look, string)) {
	headline := v.Headline
	if v.AboutPolicy {
		headline = policyHeadline
	}
	add(strong, text.Cell(headline))
	for _, b := range v.Banner {
		add(alarm, "! "+b)
	}
}

// addWhat adds what exactly is agreed to.
func addWhat(v *approval.View, add func(look, string)) {
	if v.AboutPolicy && v.More == 0 && len(v.Arguments) > 0 {
		addPolicyFile(v, add)
		return
	}
	for _, f := range v.Plan {
		add(strong, circumstance(f.Name, f.Text))
	}
	addArguments(v, add)
}

// Text is the whole question in the order of the screen, as lines to be printed or pasted:
// none is wrapped, and the clock, which the screen has elsewhere, stands at the end.
func Text(v *approval.View) string {
	var b strings.Builder
	add := func(_ look, line string) { b.WriteString(line + "\n") }
	addHead(v, add)
	addWhat(v, add)
	addCircumstances(v, add)
	for _, f := range v.Facts {
		if f.Name == decideBy {
			add(usual, circumstance(f.Name, f.Text))
		}
	}
	return b.String()
}

// spread puts one text at the left of a line and one at its right.
func spread(l, r string, columns int) string {
	r = text.Fit(r, columns/2)
	l = text.Fit(l, max(columns-text.Width(r)-1, 1))
	return l + strings.Repeat(" ", max(columns-text.Width(l)-text.Width(r), 1)) + r
}
