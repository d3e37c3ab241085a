package main

import (
	"errors"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A panel of the plot is one line of a report's tables, with a bar for each contender.
type panel struct {
	title         string
	cell, measure string
	of            []string // contenders, from top to bottom
}

var panels = []panel{
	{"One call of 1 KiB: median round trip (shorter is better)", "1 KiB, 1 in flight", "median", []string{direct, wrapper, hosting, logged, ours, bare}},
	{"Calls of 1 KiB, 64 in flight: calls per second (longer is better)", "1 KiB, 64 in flight", "calls/s", []string{wrapper, hosting, logged, ours, bare}},
	{"One call of 96 KiB: median round trip (shorter is better)", "96 KiB, 1 in flight", "median", []string{direct, wrapper, hosting, ours, bare}},
}

// plotNames say what each contender is, in the few words that stand beside its bar.
var plotNames = map[string]string{
	direct:  "direct: the server, over pipes",
	wrapper: "wrapper: a WebSocket, unread",
	hosting: "hosting: one mcpx-bridge",
	logged:  "logged: wrapper with a record",
	ours:    "ours: mcpx-bridge and gateway",
	bare:    "bare: both, without any check",
}

// Lengths of the plot, in its own units.
const (
	plotWidth, plotNameWidth, plotBarWidth = 720, 220, 400
	plotRow, plotBar, plotHead, plotGap    = 22, 14, 30, 14
)

const plotStyle = `text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 } .note { font-size: 12px; fill: #59636e }
.paper { fill: #ffffff } .ours { fill: #0969da } .other { fill: #9aa4ae }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9198a1 } .paper { fill: #0d1117 } .ours { fill: #4493f8 } .other { fill: #59636e }
}`

// draw puts the plot of a report into a file.
func draw(file, report string) error {
	drawn, err := plot(report)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(drawn), 0o644)
}

// plot draws the panels of a report as an SVG that can be read on light and dark paper.
func plot(report string) (string, error) {
	var b strings.Builder
	y := plotGap
	for _, p := range panels {
		shown, values, err := p.read(report)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "<text class=\"title\" x=\"16\" y=\"%d\">%s</text>\n", y+14, html.EscapeString(p.title))
		y += plotHead
		for i, name := range p.of {
			class := "other"
			if name == ours || name == hosting {
				class = "ours"
			}
			length := plotBarWidth * values[i] / slices.Max(values)
			fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\">%s</text>", y+12, html.EscapeString(plotNames[name]))
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", class, plotNameWidth, y, length, plotBar)
			fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", plotNameWidth+length+8, y+12, html.EscapeString(shown[i]))
			y += plotRow
		}
		y += plotGap
	}
	machine, _, _ := strings.Cut(strings.TrimSpace(report), ";")
	fmt.Fprintf(&b, "<text class=\"note\" x=\"16\" y=\"%d\">Measured by make bench-md on %s. Blue: mcpx-bridge. Grey: nothing is checked.</text>\n", y+8, html.EscapeString(machine))
	y += plotHead
	const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>How long a call takes, and how many there are in a second</title>
<style>
%[3]s
</style>
<rect class="paper" width="%[1]d" height="%[2]d"/>
`
	return fmt.Sprintf(head, plotWidth, y, plotStyle) + b.String() + "</svg>\n", nil
}

var columnGap = regexp.MustCompile(` {2,}`)

// read finds what a report says of each contender of a panel: as it stands there, and as
// a number. A contender that is in several tables counts as in the first.
func (p panel) read(report string) (shown []string, values []float64, err error) {
	found := map[string]string{}
	var head []string
	for line := range strings.Lines(report) {
		columns := columnGap.Split(strings.TrimSpace(line), -1)
		switch {
		case columns[0] == p.cell:
			head = columns
		case !strings.HasPrefix(line, "  "):
			head = nil
		case columns[0] == p.measure:
			for i := 1; i < min(len(head), len(columns)); i++ {
				if _, ok := found[head[i]]; !ok {
					found[head[i]] = columns[i]
				}
			}
		}
	}
	for _, name := range p.of {
		number, unit, _ := strings.Cut(found[name], " ")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || v <= 0 {
			return nil, nil, errors.New("the report does not say " + p.measure + " of " + name + " at " + p.cell)
		}
		if unit == "ms" {
			v *= 1e3
		}
		shown, values = append(shown, found[name]), append(values, v)
	}
	return shown, values, nil
}
