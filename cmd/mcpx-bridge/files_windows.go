package main

import "time"

// fileLimit is 0: the system has no such limit.
func fileLimit() uint64 { return 0 }

// changedAt: the system tells nothing that a program could not set back.
func changedAt(string) time.Time { return time.Time{} }
