package prompt_test

import (
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// The picture that README shows is what a person sees. UPDATE=1 draws it anew.
func TestThePictureOfAQuestionIsWhatIsSeen(t *testing.T) {
	h, dir := hallIn(t, "notes")
	q := inboxtest.Write(`{"id":7,"why":"the plants are watered"}`)
	q.Caller, q.Tool, q.Terms.Rules = "bob", "delete_note", []string{"delete"}
	q.About, q.Hints = "Forget a note for good", policy.Hints{ReadOnly: new(false), Destructive: new(true)}
	id := h.Ask(q)
	s := sit(t, dir, prompt.Options{Resident: true}, 80, 24)
	s.Sees("a allow", `/why = "the plants are watered"`)
	screen := s.Terminal.String()
	for changing, always := range map[string]string{regexp.QuoteMeta(s.short(h, id)): "9c01d2ee", `\d:\d\d left`: "4:58 left",
		`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( [A-Z]+)?`: "2026-05-04 12:05:00"} {
		screen = regexp.MustCompile(changing).ReplaceAllString(screen, always)
	}
	drawn, file := picture(screen, 80), filepath.Join("..", "..", "docs", "question.svg")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(file); err != nil || string(there) != drawn {
		t.Errorf("docs/question.svg is not what is seen (%v); UPDATE=1 go test draws it anew:\n%s", err, screen)
	}
	if err := wellFormed(drawn); err != nil {
		t.Errorf("it is no XML: %v", err)
	}
}

// picture draws lines of a terminal that is so wide.
func picture(screen string, columns int) string {
	const char, line, edge = 8.4, 19, 16
	var b strings.Builder
	y := edge + 4
	for text := range strings.Lines(strings.Trim(screen, "\n") + "\n") {
		y += line
		class := ""
		if strings.Contains(text, "requests permission") || strings.Contains(text, " wants ") {
			class = ` class="head"`
		}
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&b, "<text%s x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", class, edge, y, html.EscapeString(text))
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>What a person is asked at the terminal of mcpx-bridge run</title>
<style>
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d6d6d6; white-space: pre }
.head { font-weight: bold; fill: #ffffff }
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#1c1e22"/>
`, int(float64(columns)*char)+2*edge, y+edge+4) + b.String() + "</svg>\n"
}

func wellFormed(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
