package policy

import "strings"

// Nearest is the candidate that word was probably meant to be, as what is not known
// anywhere (a flag, a key, an id) is told; "" if none is near. Capitals do not count. A
// third of the letters may be wrong, in a short word one of several.
func Nearest(word string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		longer := max(len(word), len(c))
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d <= max(1, longer/3) && (d == 0 || d < longer) && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// Meant is a hint at what word was probably meant to be (see [Nearest]); "" if nothing is near.
func Meant(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// meant is a suggestion for a word that is none of the known.
func meant(word string, known []string) string {
	if hint := Meant(word, known); hint != "" {
		return hint
	}
	if len(known) == 1 {
		return "there is only " + known[0]
	}
	return "known are " + strings.Join(known, ", ")
}

// distance counts the letters to add, drop, change or swap with the next to
// make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := range a {
		for j := range b {
			change := rows[i][j]
			if a[i] != b[j] {
				change++
			}
			rows[i+1][j+1] = min(change, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				rows[i+1][j+1] = min(rows[i+1][j+1], rows[i-1][j-1]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
