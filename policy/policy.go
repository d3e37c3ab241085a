// Package policy decides whether a call may be made: rules in, decision with
// its reasons out. It does no I/O and keeps no state.
package policy
