// Package audit keeps a log in which a missing or altered line shows.
//
// # A line
//
// The log is a file of JSON objects, one per line, each of which names the
// one before it:
//
//	{"seq":8,"ts":"2026-01-31T12:00:00.123456Z","mono_ms":41,"prev":"<64 hex digits>","event":"started","call":3,…}
//
// seq counts from 1. ts is the wall clock in UTC; mono_ms are milliseconds of
// the clock that never jumps, since the log was opened. prev is the SHA-256 of
// the line before, over its bytes as written and without its newline; 64 zeros
// in the first line. From event on the line is what the caller gave to
// [Log.Append], byte for byte, except that line breaks between tokens are
// spaces. The members up to event always have this order and this spelling,
// and call, where there is one, follows event.
//
// # What the records of a call say
//
// [VerifyLog] checks the order of these events, and by them [Open] finds what a crash has
// left unfinished:
//
//	decided                a verdict fell; "verdict":"allow" is leave to start
//	started                the line goes to the server
//	ended                  the final record of a call that has started
//	rejected, withdrawn    the final record of one that has not
//
// Between halted and resumed nothing may start. These two are about no call.
//
// In logs of builds before 2026-11-25 started and ended are start and end; they are read
// as what they are called today.
//
// call is a number or a string that no other call in the log has, also after a
// restart: [Found.LastCall] is the last number taken.
//
// body, where there is one, is a digest by which the request is known again, made
// with a [Key] that is kept beside the log in PATH.key and is in no record.
//
// took, where a started has it, is what the call takes from limits; see [Run].
//
// # Records of the log's own
//
//	opened, closed    a process began and ended to write here; what opened, recovered or file_lost begins with says which log it is, and whose (log, bridge)
//	recovered         the log goes on after a crash (torn: bytes of a half-written line that were cut off) or a failure (reason)
//	rotated           the file before this one is full
//	file_lost         the file, or the end of it, was taken away or changed by somebody else (reason)
//	removed           a full file was taken away, as told: records first_seq to last_seq, of which the last had the hash head
//	clock_jump        the wall clock moved by_ms against the other
//
// The first record of every file after the first carries last_call, the calls that
// were open, those that were allowed to start and had not, asked with those of which people
// were asked, or that were decided by a process that ended before it started or refused them, if
// there were any, and halted where the bridge was.
//
// # Who asks what
//
// A log is read line by line, oldest file first, by a replay, which knows where the chain
// is and how far each call has come. Several questions are put to it:
//
//	VerifyLog   is the log whole, and what is the first thing that is wrong with it?
//	Open        where does it end, which calls have no final record, which must not run again?
//	            and, for limits, what ran? Files too old for the rest it reads for that alone.
//	Records     the records as people and programs look back at them, damaged ones too
//	Follow      the same, as they are written
//
// All but Open leave the files as they are, and may read while a process writes.
//
// # Who writes
//
// [Log.Append] writes in the goroutine of its caller, one caller at a time (the lock turn). The
// goroutine keep syncs, for all who wait at once; it closes full files, removes old ones,
// and after a failure makes the file fit again. No caller waits longer than two seconds for
// a disk that does not answer: what takes longer has failed, nothing is admitted until a
// record says how the log goes on, and a write that has not ended keeps its file.
//
// # What a power cut leaves
//
// Whatever [Log.Sync] has said to be on the disk is there, and the log verifies once
// it has been opened again: what was not synced is cut off where it is torn, or has
// holes. So each thing is synced before another needs it: the directory above ours,
// the note before the first record, a full file and its name before the next takes
// its place, a file that was cut before it is written to again. The tests cut the
// power after each step, and leave out each of these syncs in turn.
//
// # What it proves
//
// The chain alone shows a line that was changed, removed, repeated or moved,
// unless everything after it was written anew. It does not show that the end
// was cut off. Two witnesses do:
//
//   - The file PATH.head beside the log holds the newest record that had been
//     synced, and the log's id and bridge as the log's first record has them. A log
//     without it is not whole. It is for accidents and careless hands: whoever
//     can write the log can write it too.
//   - A [Head] that was told to somebody else, as a checkpoint in a topic's
//     history. Given to [VerifyLog] it proves that the log still has that record,
//     and all before it, as they were then, against the log's owner too. It
//     says nothing about what came later.
//
// Neither proves that what was recorded is true.
package audit
