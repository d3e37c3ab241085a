package prompt

// A look is how a line is set off from others.
type look uint8

const (
	usual look = iota
	strong
	alarm
	faint
	bar
)

// A row is one line of the screen. Its text is fit to be shown.
type row struct {
	text string
	look look
}

func rows(l look, lines ...string) []row {
	all := make([]row, len(lines))
	for i, text := range lines {
		all[i] = row{text, l}
	}
	return all
}
