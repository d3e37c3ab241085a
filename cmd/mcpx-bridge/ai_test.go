package main

import (
	"fmt"
	"strings"
	"testing"
)

// The invariants of approvals (RELIABILITY section 2.1), and the tests that show
// them. room is a package from the top of the repository, "" this one.
var invariants = []struct {
	id, room, test string
}{
	{"AI-1", "bridge/approval", "TestAI01OnlyWhoIsListedIsAsked"},
	{"AI-1", "", "O46"},
	{"AI-2", "bridge/approval", "TestAI02NobodyDecidesAboutTheirOwn"},
	{"AI-2", "policy", "TestTheCallerNeverDecides"},
	{"AI-2", "", "O47"},
	{"AI-3", "bridge/approval", "TestAI03AnAnswerMustAgreeInEveryPlace"},
	{"AI-1", "", "TestAnAnswerByAChannelIsThatOfTheParticipantItIsMappedTo"},
	{"AI-3", "", "TestBadAnswers"},
	{"AI-4", "bridge/approval", "TestAI04ForgedWithAnyOtherId"},
	{"AI-5", "bridge/approval", "TestAI05TheFirstOfManyWins"},
	{"AI-5", "bridge/inbox/socket", "TestAI05OneOfManyIsFirst"},
	{"AI-5", "bridge/prompt", "TestAI05AllTerminalsSayWhoAnswered"},
	{"AI-5", "", "O49"},
	{"AI-6", "bridge/approval", "TestAI06DigestCoversEveryField"},
	{"AI-6", "bridge/approval", "TestAI06OneDecisionOneDigest"},
	{"AI-7", "bridge/approval", "TestAI07TheValueIsFrozen"},
	{"AI-7", "bridge/engine", "TestADuplicateRunsOnceAndASwappedBodyNever"},
	{"AI-8", "bridge/approval", "TestAI08EditedArgumentsAreRechecked"},
	{"AI-8", "bridge/engine", "TestAnEditDoesNotReachWhatStricterTermsGuard"},
	{"AI-8", "", "O58"},
	{"AI-9", "bridge/approval", "TestAI09AI14RecheckedAtTheYes"},
	{"AI-9", "bridge/engine", "TestAI09AToolThatChangedSinceItWasAskedForDoesNotRun"},
	{"AI-10", "bridge/approval", "TestAI10TwoClocks"},
	{"AI-10", "bridge/engine", "TestAI10AnAgreementThatComesToNothingInTimeLapses"},
	{"AI-11", "bridge/approval", "TestAI11TruthTable"},
	{"AI-11", "", "O45"},
	{"AI-12", "bridge/approval", "TestAI12AnythingGoes"},
	{"AI-12", "bridge/engine", "TestStoppingEndsQuestions"},
	{"AI-12", "", "O52"},
	{"AI-13", "bridge/engine", "TestAI13WithoutARecordOnDiskNothingRuns"},
	{"AI-13", "", "TestNothingRunsUnrecordedOrTwiceHoweverOftenTheBridgeIsKilled"},
	{"AI-13", "", "TestOnAFullDiskNothingRunsUntilThereIsRoom"},
	{"AI-14", "bridge/approval", "TestAI14ReloadTightens"},
	{"AI-14", "bridge/engine", "TestAI14TheStricterPolicyHolds"},
	{"AI-15", "bridge/text", "TestAI15Text"},
	{"AI-15", "bridge/approval", "TestAI15LongValues"},
	{"AI-15", "bridge/prompt", "TestAI15LongAndHiddenTextMustBeReadToTheEnd"},
	{"AI-15", "bridge/prompt", "TestAI15WrappedTextIsMarked"},
	{"AI-15", "", "TestBadTextInQuestions"},
	{"AI-15", "bridge/notify/channel", "TestWhereNotAllIsShownNobodyCanSayYes"},
	{"AI-16", "bridge/approval", "TestAI16Golden"},
	{"AI-16", "bridge/prompt", "TestAI16ThePageIsAsWritten"},
	{"AI-16", "bridge/engine", "TestAI16OneDigestEverywhere"},
	{"AI-16", "bridge/engine", "TestAI16ADigestForAQuestionThatIsNotPut"},
	{"AI-17", "bridge/approval", "TestAI17Caps"},
	{"AI-17", "bridge/approval", "TestAI17CoolDown"},
	{"AI-17", "", "O65"},
	{"AI-18", "bridge/approval", "TestAI18Grants"},
	{"AI-18", "bridge/approval", "TestAI18AGrantOfTheFileMeansTheCallAndNoMore"},
	{"AI-18", "bridge/approval", "TestAI18AFileOfGrantsThatIsDamaged"},
	{"AI-18", "bridge/engine", "TestAI18ALastingYesEndsWithTheToolItWasGivenFor"},
	{"AI-18", "bridge/engine", "TestAI18ALastingYesEndsWithTheTermsItWasGivenUnder"},
	{"AI-19", "", "TestNothingButAnAnswerDecides"},
	{"AI-19", "bridge/inbox/socket", "TestAI19WhatIsNoRequestDecidesNothing"},
	{"AI-19", "bridge/inbox/socket", "TestAI19WhatIsNoRequestDecidesNothing"},
	{"AI-19", "bridge/notify/channel", "TestAnswersByTelegram"},
	{"AI-20", "bridge/approval", "TestAI20Delegation"},
	{"AI-20", "bridge/approval", "TestAI20NoLoops"},
	{"AI-20", "", "O60"},
	{"AI-21", "bridge/approval", "TestAI21TheProposerIsShownToo"},
	{"AI-22", "bridge/approval", "TestAI22RejoinedApproverIsAskedAnew"},
	{"AI-22", "bridge/client", "TestAI22AQuestionPutAgainIsOneQuestion"},
	{"AI-22", "", "TestAnAnswerCountsOnlyFromWhomWasAsked"},
	{"AI-23", "", "TestAnAnswerByAChannelIsThatOfTheParticipantItIsMappedTo"},
	{"AI-23", "bridge/approval", "TestAI23ADoorMustSendTheDigestItShowed"},
	{"AI-23", "bridge/inbox/socket", "TestAI23ADecisionNeedsTheDigestThatWasShown"},
	{"AI-24", "bridge/approval", "TestAI24Redaction"},
	{"AI-24", "bridge/engine", "TestWhatWasDecidedAboutIsOnRecordWithoutSecrets"},
	{"AI-24", "bridge/notify", "TestWhatIsAnsweredIsClosedThere"},
	{"AI-24", "", "TestASecretIsNotOnTheTopic"},
}

func TestEveryInvariantOfApprovalsHasItsTest(t *testing.T) {
	shown := map[string]bool{}
	for _, i := range invariants {
		shown[i.id] = true
		room := i.room
		if room == "" {
			room = "cmd/mcpx-bridge"
		}
		if i.test[0] == 'O' {
			proof{room: room}.check(t, i.test)
		} else {
			proof{room: room, test: i.test}.check(t, i.id)
		}
	}
	for n := range 24 {
		if id := fmt.Sprintf("AI-%d", n+1); !shown[id] {
			t.Errorf("%s is shown nowhere", id)
		}
	}
}

// Whatever else a participant says, an approver too, is no decision: there is no
// word, tool or method for one (AI-19).
func TestNothingButAnAnswerDecides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, ruled(t, askRules))
		p := play{g, s}
		before := s.ran()
		p.writes("bob")
		q := p.poses("alice", anyQuestion)
		g.send(d.frame("chat", "alice", "fs", "chat", "", `{"text":"approve `+q.env+`","format":"plain"}`))
		g.send(d.frame("note", "alice", "fs", d.kind("request", "notifications/elicitation/complete", ""), q.env,
			`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`+q.id+`,"action":"accept","content":{"approve":true}}}`))
		g.send(d.frame("other", "alice", "fs", d.kind("response", "tools/call", "write_file"), "e-bob", `{"jsonrpc":"2.0","id":`+q.id+`,"result":`+approve+`}`))
		first, q := q, p.poses("alice", anyQuestion) // who answers in a way that does not count is asked once more (D6)
		for i, method := range []string{"approvals/allow", "elicitation/create", "tasks/result"} {
			g.request(fmt.Sprint("ask-", i), "alice", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, q.id, method, approve))
			g.expect(`{"to":["alice"],"payload":{"!result":0,"error":"*"}}`)
		}
		for i, tool := range []string{"approve", "mcpx_approve"} {
			g.request(fmt.Sprint("tool-", i), "alice", call("1", tool, `{"id":`+q.id+`,"approve":true}`))
			g.expect(`{"to":["alice"],"payload":{"error":{"code":-32602,"data":{"reason":"unknown_tool"}}}}`)
		}
		p.runs(before, 0)
		p.decides("alice", q, approve)
		g.expect(p.withdrawn(first))
		p.served("bob", "write_file")
		p.runs(before, 1)
	})
}

// Carol may decide about other calls; about one that was put to alice alone her
// answer is none, and alice is asked again in her new session (AI-22).
func TestAnAnswerCountsOnlyFromWhomWasAsked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, ruled(t, askRules))
		p := play{g, s}
		before := s.ran()
		p.request("e-bob", "bob", call("7", "echo", `{}`))
		q := p.poses("alice", choice)
		p.decides("carol", q, `{"action":"accept","content":{"action":"approve"}}`)
		p.runs(before, 0)
		g.send(d.presence("alice-leaves", "leave", "alice"))
		g.send(d.presence("alice-comes", "join", "alice"))
		again := p.poses("alice", choice)
		if again.id == q.id || again.env == q.env {
			t.Error("the new session was asked with the old ids")
		}
		p.decides("alice", again, `{"action":"accept","content":{"action":"approve"}}`)
		p.served("bob", "echo")
		p.runs(before, 1)
	})
}

// What the policy hides is in no frame to the approver, and reaches the server
// (AI-24).
func TestASecretIsNotOnTheTopic(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, ruled(t, askRules+"redact: [\"*text*\"]\n"))
		p := play{g, s}
		p.request("e-bob", "bob", call("7", "write_file", `{"path":"/a","text":"planted-secret"}`))
		q := p.poses("alice", anyQuestion)
		if strings.Contains(q.frame, "planted-secret") {
			t.Errorf("there it is: %s", q.frame)
		}
		p.decides("alice", q, approve)
		p.served("bob", "write_file")
		if !strings.Contains(p.lastGiven(), "planted-secret") {
			t.Errorf("the server was given %s", p.lastGiven())
		}
	})
}
