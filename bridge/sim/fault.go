package sim

import "time"

// A Fault is a kind of thing that goes wrong.
type Fault uint8

// The faults, by who commits them.
const (
	drop          Fault = iota // the gateway loses a frame to us
	duplicate                  // delivers it twice
	reorder                    // delivers it before others that were sent earlier
	delay                      // delivers it late
	halfOpen                   // nothing arrives either way, and nobody says so
	kick                       // closes our connection
	replay                     // after we are back delivers what it had delivered before
	forge                      // lets participants write what they like in "from"
	wayFull                    // takes no more frames for the moment
	welcome                    // welcomes us again in passing
	loseOut                    // loses a frame of ours
	cancel                     // a caller takes its call back
	resend                     // sends it twice
	leave                      // leaves, and comes back
	badCall                    // calls what cannot be called so
	sameID                     // gives two calls one JSON-RPC id
	slow                       // an approver thinks for too long
	wrongAnswer                // gives an answer that can be read in no or two ways
	doubleAnswer               // answers twice
	errorAnswer                // answers with an error
	absent                     // goes away
	copied                     // answers a question that was put to another
	strayDigest                // at our own door: answers what was not shown
	mutate                     // the attacker sends on what it saw, changed
	impersonate                // answers for somebody
	selfApprove                // agrees to a call of its own
	cancelOther                // takes back somebody else's call
	pause                      // tells us to be quiet
	die                        // the server ends
	hang                       // does not answer
	answerTwice                // answers twice
	wrongID                    // answers with an id that is not the call's
	noise                      // writes what is no message
	changeTools                // changes a tool
	removeTool                 // has a tool no more
	serverAsks                 // asks us for something, or says it had been agreed to
	toolError                  // says that it failed
	stuck                      // reads no more
	pipeFull                   // takes no more lines
	slowStart                  // takes its time to start
	writeFails                 // the disk takes a record not
	mended                     // takes it not, and is well again at once
	full                       // is full for a while
	syncFails                  // cannot promise to keep
	syncSlow                   // promises late
	torn                       // keeps half a line when we are killed
	lostTail                   // keeps not what it had not promised to keep, at a power cut
	killed                     // we are killed at any moment
	killedInWrite              // in the middle of writing records
	stopped                    // we are told to stop, and started again
	race                       // something happens while records are being written
	lazyFlush                  // readers wait before they let out what they caused
	lateTick                   // our timer rings late
	wallStep                   // the wall clock is put forward or back
	longSleep                  // a long time passes
	reload                     // the owner changes the policy
	revoke                     // the owner takes back what was granted
	withdraw                   // a proposer takes its proposal back
	withdrawOther              // somebody else does
	takeUp                     // somebody requests what was proposed
	refuseOther                // somebody who need not refuse it does
	powerCut                   // the power fails: blocks and names that had not been synced are lost, each alone
	flood                      // somebody says more than can be known again
	lure                       // somebody requests something that has nothing to do with the proposal it names, or of nobody who could do it
	neverUp                    // the server fails when it is started for the first time, and again
	halts                      // the owner halts the bridge, and lets it go on
	doubled                    // at our own door: somebody answers in two places
	lateWord                   // answers from a page that was left open
	lostReply                  // hears nothing of what came of an answer, and gives it again
	swapped                    // answers a question with the digest of another
	onlyLooks                  // answers where one may only look
	byChannel                  // somebody in the topic answers by a channel of the bridge, too
	onCard                     // or on the card that their client shows, which has the topic by serve
	faults                     // how many there are
)

// tickLate is how late a timer may ring (lateTick).
const tickLate = 3 * time.Second

// kinds are what faults are called, and how often one strikes where it could, in
// worlds that have it.
var kinds = [faults]struct {
	name string
	rate float64
}{
	drop:          {"drop", .05},
	duplicate:     {"duplicate", .12},
	reorder:       {"reorder", .12},
	delay:         {"delay", .15},
	halfOpen:      {"half_open", .4},
	kick:          {"kick", .4},
	replay:        {"replay", .8},
	forge:         {"forge", .6},
	wayFull:       {"way_full", .05},
	welcome:       {"welcome_again", .4},
	loseOut:       {"lose_out", .05},
	cancel:        {"cancel", .2},
	resend:        {"resend", .2},
	leave:         {"leave", .3},
	badCall:       {"bad_call", .2},
	sameID:        {"same_id", .2},
	slow:          {"slow", .3},
	wrongAnswer:   {"wrong_answer", .3},
	doubleAnswer:  {"double_answer", .35},
	errorAnswer:   {"error_answer", .2},
	absent:        {"absent", .4},
	copied:        {"copied_answer", .35},
	strayDigest:   {"stray_digest", .5},
	mutate:        {"mutate", .7},
	impersonate:   {"impersonate", .5},
	selfApprove:   {"self_approve", .5},
	cancelOther:   {"cancel_other", .5},
	pause:         {"pause", .9},
	die:           {"die", .08},
	hang:          {"hang", .15},
	answerTwice:   {"answer_twice", .15},
	wrongID:       {"wrong_id", .15},
	noise:         {"noise", .15},
	changeTools:   {"change_tools", .5},
	removeTool:    {"remove_tool", .4},
	serverAsks:    {"server_asks", .3},
	toolError:     {"tool_error", .15},
	stuck:         {"stuck", .1},
	pipeFull:      {"pipe_full", .08},
	slowStart:     {"slow_start", .5},
	writeFails:    {"write_fails", .1},
	mended:        {"mended", .1},
	full:          {"full", .4},
	syncFails:     {"sync_fails", .2},
	syncSlow:      {"sync_slow", .4},
	torn:          {"torn", .95},
	lostTail:      {"lost_tail", .6},
	killed:        {"killed", .35},
	killedInWrite: {"killed_in_write", .06},
	stopped:       {"stopped", .3},
	race:          {"race", .3},
	lazyFlush:     {"lazy_flush", .3},
	lateTick:      {"late_tick", .3},
	wallStep:      {"wall_step", .5},
	longSleep:     {"long_sleep", .4},
	reload:        {"reload", .6},
	revoke:        {"revoke", .9},
	withdraw:      {"withdraw", .3},
	withdrawOther: {"withdraw_other", .3},
	takeUp:        {"take_up", .5},
	refuseOther:   {"refuse_other", .3},
	powerCut:      {"power_cut", .7},
	flood:         {"flood", .8},
	lure:          {"lure", .5},
	neverUp:       {"never_up", .4},
	halts:         {"halt", .8},
	doubled:       {"doubled_decision", .4},
	lateWord:      {"late_decision", .4},
	lostReply:     {"lost_reply", .4},
	swapped:       {"swapped_digest", .4},
	onlyLooks:     {"only_looks", .4},
	byChannel:     {"answer_by_channel", .5},
	onCard:        {"answer_on_card", .5},
}

func (f Fault) String() string { return kinds[f].name }
