package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zone files reads the same file in the same way
)

// hourClause is a time of the week: "mon-fri 08:00-18:00 Europe/Berlin". A time
// that passes midnight belongs to the day on which it begins.
type hourClause struct {
	text     string
	days     [7]bool // by time.Weekday
	from, to int     // minutes of the day; to may be 1440
	zone     *time.Location
}

var (
	hourForm = lazily(`^(?:([A-Za-z,-]+) +)?([0-2][0-9]):([0-5][0-9])-([0-2][0-9]):([0-5][0-9]) +([A-Za-z0-9/_+-]+)$`)
	dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

func newHours(s string) (h hourClause, err error) {
	m := hourForm().FindStringSubmatch(s)
	if m == nil {
		return h, fmt.Errorf("hours are written like %q, with the time zone or UTC", "mon-fri 08:00-18:00 Europe/Berlin")
	}
	h.text = s
	h.from, h.to = minutes(m[2], m[3]), minutes(m[4], m[5])
	if h.from >= 24*60 || h.to > 24*60 || h.from == h.to {
		return h, fmt.Errorf("%s:%s-%s:%s is no time of a day", m[2], m[3], m[4], m[5])
	}
	if h.days, err = weekdays(strings.ToLower(m[1])); err != nil {
		return h, err
	}
	name := m[6]
	if strings.EqualFold(name, "local") {
		name = "Local"
	}
	if h.zone, err = time.LoadLocation(name); err != nil {
		return h, fmt.Errorf("there is no time zone %s", name)
	}
	return h, nil
}

func minutes(hour, minute string) int {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h*60 + m
}

func weekdays(s string) (days [7]bool, err error) {
	if s == "" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, to := slices.Index(dayNames, first), slices.Index(dayNames, last)
		if from < 0 || to < 0 {
			return days, fmt.Errorf("%q is no day of the week: %s", part, strings.Join(dayNames, ", "))
		}
		for d := from; ; d = (d + 1) % 7 {
			days[d] = true
			if d == to {
				break
			}
		}
	}
	return days, nil
}

func (h hourClause) at(now time.Time) bool {
	local := now.In(h.zone)
	minute, today := local.Hour()*60+local.Minute(), int(local.Weekday())
	if h.from < h.to {
		return h.days[today] && h.from <= minute && minute < h.to
	}
	return h.days[today] && minute >= h.from || h.days[(today+6)%7] && minute < h.to
}

// hoursClause holds when one of its times does.
type hoursClause []hourClause

func (c hoursClause) holds(j *judgement, _ side) (Match, string) {
	var words []string
	for _, h := range c {
		words = append(words, h.text)
		if !j.Ahead && !j.Now.IsZero() && h.at(j.Now) {
			return Yes, "hours " + h.text + ": yes"
		}
	}
	text := "hours " + strings.Join(words, " or ")
	if j.Ahead {
		return Unclear, text + ": cannot be told, " + errAhead.Error()
	}
	if j.Now.IsZero() {
		return Unclear, text + ": cannot be told, the time is not known"
	}
	return No, text + ": no"
}
