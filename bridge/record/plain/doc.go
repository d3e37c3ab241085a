// Package plain says records to people: a sentence ([Words]), how loud it is ([Level]), and
// what the sentence leaves out ([Details]). It is how a log for people has what --json has as
// values. It writes nothing and knows no log but the types of log/slog; the same record gives
// the same words.
package plain
