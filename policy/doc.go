// Package policy decides whether a call may be made: a call in, a decision with its
// reasons out. It does no I/O, keeps no state and reads no clock.
//
//	Load -> *Policy ; Policy.Decide(Call, Usage) -> Decision
//
// [Load] reads the YAML of one file and says with line and column what is wrong with it. A
// [Policy] never changes and may be used from many goroutines at once. Every rule that
// matches takes part: deny beats ask beats allow, whatever the order. What cannot be
// evaluated only tightens: it takes an allow away and makes an ask or a deny hold (DESIGN
// 6). What a decision may cost is bounded (20 ms or so); beyond that it counts as unclear.
//
// Limits need to know what was used before: the caller keeps a [Ledger] and passes it to
// Decide as [Usage]. [Policy.Standing] says what is known before there is a call, [Explain]
// puts a decision in words, [Policy.Warnings] and [Policy.Doubts] say what of a file is likely
// a mistake, [Looser] what a new file allows beyond an old one, and [Policy.Redact] takes out
// of arguments what is not to be shown.
package policy
