package channel

import "strings"

// A button is what one presses to answer, as Telegram has it in JSON. Its data comes back with the press.
type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// buttons are what one may press, in the first message alone, which loses them when it is closed: a
// yes only where all there is to the question was shown.
func buttons(n *Notice) (row []button) {
	if !n.Buttons || n.Event != "asked" {
		return nil
	}
	if n.Allow {
		row = append(row, button{"Allow " + n.Question.Short, pressed(true, n)})
	}
	return append(row, button{"Deny", pressed(false, n)})
}

// pressed is what a button says: what was decided, about which question, under which digest. It
// has 64 bytes at most.
func pressed(allow bool, n *Notice) string {
	word := "deny"
	if allow {
		word = "allow"
	}
	return word + " " + n.Question.ID + " " + n.Question.Short
}

// readPress is the other way.
func readPress(said string) (a Answer, ok bool) {
	parts := strings.Split(said, " ")
	if len(parts) != 3 || parts[0] != "allow" && parts[0] != "deny" {
		return a, false
	}
	return Answer{Allow: parts[0] == "allow", Question: parts[1], Digest: parts[2]}, true
}
