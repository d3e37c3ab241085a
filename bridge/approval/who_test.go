package approval

import "testing"

// An answer of a participant called local was on record as the person's at the bridge.
func TestAParticipantWithTheNameOfADoorIsToldFromIt(t *testing.T) {
	said := map[string]Who{}
	for _, w := range []Who{{Door: Local}, {Door: Host}, Participant("local"), Participant("host"), Participant("bob")} {
		if other, twice := said[w.String()]; twice {
			t.Errorf("%+v and %+v are both %q", w, other, w)
		}
		said[w.String()] = w
		var back Who
		if text, err := w.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != w {
			t.Errorf("%+v was written as %s and read as %+v (%v)", w, text, back, err)
		}
	}
}
