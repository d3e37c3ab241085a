//go:build !linux

package stdio

// FindsMarked says that [Marked] can find what bears a mark here.
const FindsMarked = false

// Marked returns the processes whose environment bears a mark: here nobody can tell.
func Marked(string) (pids []int, within bool) { return nil, false }

// Marks are all marks that any process bears: here nobody can tell.
func Marks() map[string]bool { return nil }

// EndMarked ends what is [Marked].
func EndMarked(string) []int { return nil }
