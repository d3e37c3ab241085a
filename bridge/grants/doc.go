// Package grants keeps, in one file for each bridge, what people had remembered of
// their answers for longer than one run.
//
// A [Book] is that file with what belongs to it. A bridge that lives holds it with
// [Book.Open], which says what counts at its start, and writes through a [Keeper]. While
// the bridge is stopped, another program may list the book ([Book.Look]), and take back
// an answer ([Book.Revoke]): that is on the disk before the answer is out of the file, so
// that it counts no more wherever the power is cut, and the next start puts it on record
// ([Book.RecordRevoked]).
//
// A file that others could have written counts for nothing: it says what runs unasked.
//
// [Find] gathers what counts on a machine, from the books of those bridges that are stopped
// and from those that run, which it asks; [Found.Revoke] takes one back where it is.
//
// Apart from that the package reads and writes the directory that it is given, and nothing
// else; it starts no goroutine. A Book is a value and may be copied; a Keeper may be used from
// any goroutine.
package grants
