package node

import "time"

// changedAt: the system tells nothing that a program could not set back.
func changedAt(string) time.Time { return time.Time{} }
