package prompt

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// pageOf sets a question out in columns: all of it, however long. The arguments,
// which begin at the line that it returns, come before the circumstances: they
// are what is agreed to, and are seen while one confirms.
func pageOf(v *approval.View, columns int) (page []row, arguments int) {
	exact := func(l look, text string) { page = append(page, rows(l, wrap(text, columns)...)...) }
	add := func(l look, text string) { page = append(page, rows(l, wrapProse(text, columns)...)...) }
	add(strong, v.Headline)
	for _, b := range v.Banner {
		add(alarm, "! "+b)
	}
	arguments = len(page)
	addArguments(v, exact)
	addCircumstances(v, add)
	return page, arguments
}

// spread puts one text at the left of a line and one at its right.
func spread(l, r string, columns int) string {
	r = text.Fit(r, columns/2)
	l = text.Fit(l, max(columns-text.Width(r)-1, 1))
	return l + strings.Repeat(" ", max(columns-text.Width(l)-text.Width(r), 1)) + r
}
