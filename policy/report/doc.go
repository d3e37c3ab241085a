// Package report says what a policy file is like, for people and for programs: what is wrong
// with it or doubtful ([LintOf]), what it makes of one call and why ([Explain], [Words]), how
// its own tests went ([TestOf]), which past calls another file would have judged otherwise
// ([Past], [ChangeOf]), what is on record of one ([FindCall]), a first file for the tools of a
// server ([Draft]), and which keys a file may have ([Keys], from the schema).
//
// Judging is package policy's. Here its answers become values with the names that --json has,
// and lines of text. Whatever others wrote is fit to be shown in what Words and the like
// return; values as JSON keep it as it is. No file is read here but audit logs, by [FindCall]
// and [ReadPast]; nothing starts a server, prints or ends anything: the caller does.
package report
