package approval

import "testing"

// An answer that allowed and named who was to decide instead ran the call: it says two
// things, so it is no yes. Nobody named is nobody: forms send what was left empty.
func TestAnAnswerThatAllowsAndPassesOnIsNoYes(t *testing.T) {
	for to, both := range map[string]bool{`"carol"`: true, `"eve"`: true, `["carol"]`: true, `7`: true, `""`: false, `null`: false} {
		for _, offered := range []bool{true, false} {
			d, q := Dialog{}, writeFile("alice")
			if offered {
				d.DelegateTo = []string{"carol"}
				q = passable(q, "carol")
			}
			r, problem := d.Read([]byte(`{"action":"accept","content":{"decision":"allow","delegateTo":` + to + `}}`))
			if r.Allow == both || (problem != "") != both {
				t.Errorf("the dialog with delegateTo %s, offered %v: a yes %v, %q", to, offered, r.Allow, problem)
			}
			for _, choice := range []string{`"action":"approve"`, `"approve":true`, `"action":"approve","approve":true`} {
				s := newStage(t, Options{})
				s.open(q)
				if s.says("alice", `{"action":"accept","content":{`+choice+`,"delegateTo":`+to+`}}`); both {
					s.wantEnd(Denied, InvalidAnswer)
				} else if choice != `"action":"approve"` || offered { // who is not asked for an action gives none
					s.wantEnd(Allowed, "")
				}
			}
		}
	}
}

// A no stays a no, whoever else is named.
func TestANoThatNamesSomebodyIsANo(t *testing.T) {
	d := Dialog{DelegateTo: []string{"carol"}}
	if r, problem := d.Read([]byte(`{"action":"accept","content":{"decision":"deny","delegateTo":"carol"}}`)); r.Allow || r.To != "" || problem != "" {
		t.Errorf("%+v %q", r, problem)
	}
	s := newStage(t, Options{})
	s.open(passable(writeFile("alice"), "carol"))
	s.says("alice", `{"action":"accept","content":{"action":"deny","delegateTo":"carol"}}`)
	s.wantEnd(Denied, Declined)
}
