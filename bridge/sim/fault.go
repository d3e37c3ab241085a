package sim

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
	faults                     // how many there are
)

var faultNames = [faults]string{"drop", "duplicate", "reorder", "delay", "half_open", "kick", "replay", "forge", "way_full", "welcome_again",
	"lose_out", "cancel", "resend", "leave", "bad_call", "same_id", "slow", "wrong_answer", "double_answer", "error_answer", "absent", "copied_answer",
	"stray_digest", "mutate", "impersonate", "self_approve", "cancel_other", "pause", "die", "hang", "answer_twice", "wrong_id", "noise",
	"change_tools", "remove_tool", "server_asks", "tool_error", "stuck", "pipe_full", "slow_start", "write_fails", "mended", "full", "sync_fails",
	"sync_slow", "torn", "lost_tail", "killed", "killed_in_write", "stopped", "race", "lazy_flush", "late_tick", "wall_step", "long_sleep",
	"reload", "revoke", "withdraw", "withdraw_other", "take_up", "refuse_other"}

func (f Fault) String() string { return faultNames[f] }

// rates are how often a fault strikes where it could, in worlds that have it.
var rates = [faults]float64{drop: .05, duplicate: .12, reorder: .12, delay: .15, halfOpen: .4, kick: .4, replay: .8, forge: .6, wayFull: .05,
	welcome: .4, loseOut: .05, cancel: .2, resend: .2, leave: .3, badCall: .2, sameID: .2, slow: .3, wrongAnswer: .3, doubleAnswer: .35,
	errorAnswer: .2, absent: .4, copied: .35, strayDigest: .5, mutate: .7, impersonate: .5, selfApprove: .5, cancelOther: .5, pause: .9, die: .08,
	hang: .15, answerTwice: .15, wrongID: .15, noise: .15, changeTools: .5, removeTool: .4, serverAsks: .3, toolError: .15, stuck: .1,
	pipeFull: .08, slowStart: .5, writeFails: .1, mended: .1, full: .4, syncFails: .2, syncSlow: .4, torn: .95, lostTail: .6, killed: .35,
	killedInWrite: .06, stopped: .3, race: .3, lazyFlush: .3, lateTick: .3, wallStep: .5, longSleep: .4, reload: .6, revoke: .9,
	withdraw: .3, withdrawOther: .3, takeUp: .5, refuseOther: .3}
