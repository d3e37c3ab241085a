package prompt

// A part is what is seen of changes that have more lines than there is room for beside the
// question.
type part struct {
	columns int // that the lines are broken to; 0: all was seen at once
	top     int // the first line that is seen
	height  int
	ended   bool // all lines were seen, one part after the other
}

// turn takes a key that turns to another part.
func (p *part) turn(r rune) bool {
	switch {
	case p.columns == 0:
		return false
	case r == ' ' || r == pageDown:
		p.top += max(p.height-1, 1)
	case r == down:
		p.top++
	case r == pageUp:
		p.top -= max(p.height-1, 1)
	case r == up:
		p.top--
	default:
		return false
	}
	return true // of keeps it within bounds
}

// of is the part of lines that is seen. Lines that are broken anew begin anew.
func (p *part) of(lines []string, columns, room int) []string {
	if p.columns != columns {
		p.columns, p.top = columns, 0
	}
	p.height = min(len(lines), room)
	p.top = min(max(p.top, 0), len(lines)-p.height)
	p.ended = p.ended || p.top+p.height == len(lines)
	return lines[p.top : p.top+p.height]
}
