package main

import "testing"

// The open questions of the seeds about proposals, and the tests that answer
// them (WIRE 8.1-8.3).
var seedQuestions = []struct {
	question, room, test string
}{
	{"000: should rejection messages be required or optional?", "bridge/engine", "TestSeed000Q1RejectsAreForThoseWhoAskedUs"},
	{"000: how to handle multiple acceptances?", "bridge/engine", "TestSeed000Q2TheFirstToServeItWins"},
	{"000: should we track proposal state?", "bridge/engine", "TestSeed000Q3HowItStandsIsKeptHere"},
	{"000: do we need a capability advertisement mechanism?", "bridge/engine", "TestSeed000Q4WhatIsRequiredMustBeOffered"},
	{"000: how does this interact with the permission system?", "bridge/engine", "TestSeed000Q5TargetingGrantsNothing"},
	{"001: should system emit notifications when proposals expire?", "bridge/engine", "TestSeed001Q1ExpiryIsSilent"},
	{"001: should rejection be required for targeted proposals?", "bridge/engine", "TestSeed001Q2WhoWantsNoRejectGetsNone"},
	{"001: how do orchestrators learn from rejection patterns?", "bridge/engine", "TestSeed001Q3ReasonsAreWordsToBuildOn"},
	{"002: should we add TTL support?", "bridge/engine", "TestSeed002Q1TheTTLIsHonoured"},
	{"002: how should withdrawal interact with targeted proposals?", "bridge/engine", "TestSeed002Q2AWithdrawalEndsWhateverWaits"},
	{"002: should system emit notifications when proposals are withdrawn?", "bridge/engine", "TestSeed002Q3AWithdrawalIsNotConfirmed"},
	{"002: should there be rate limiting on withdrawal messages?", "bridge/proposal", "TestSeed002Q4WithdrawalsAreBounded"},
}

func TestEveryOpenQuestionHasAnAnswer(t *testing.T) {
	for _, q := range seedQuestions {
		proof{room: q.room, test: q.test}.check(t, q.question)
	}
}
