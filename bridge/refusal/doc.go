// Package refusal is what a caller hears in place of the server's answer: a code and a
// reason for programs, a sentence for people, and whether the call ran (DESIGN 9). One
// [Refusal] can be said as a JSON-RPC error ([Refusal.Payload]), as a tool's result that a
// model reads ([Refusal.Result]), and as a proposer hears it ([Refusal.Word]).
// Whoever waits for a call hears with it what keeps it waiting ([HearProgress]).
//
// It decides nothing. Whoever refuses chooses among the constructors, and fills in what
// they leave open. What is repeated of a stranger's words is cut at [Clipped] and made fit
// to be seen.
package refusal
