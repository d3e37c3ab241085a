// Package web is an inbox as a page on this machine: what waits for an answer, each
// question whole, and a form that answers it. All but /static is below a root that is drawn when
// it is opened:
//
//	GET  /in/{link}               a button, Continue; shows nothing and changes nothing
//	POST /in/{link}               logs a browser in, once
//	GET  /                        the list, oldest first
//	GET  /q/{bridge}/{id}         a question whole, or how it ended
//	POST /q/{bridge}/{id}         an answer to it; carries the digest of what was shown
//	GET  /alike/{bridge}/{id}     the questions that are like one of them, each whole
//	POST /alike/{bridge}/{id}     one answer to those that were ticked, each with its digest
//	GET  /history                 what was decided, as the record has it; with ?call= all of one call
//	GET  /remembered              the grants; POST takes one back
//	GET  /bridges                 how each bridge is; POST halts or resumes some
//	POST /out                     ends the session of a browser, and what it listens to
//	POST /sign/{bridge}/{id}      what a passkey is to sign for a yes; decides nothing
//	GET  /passkeys                those of each bridge that has some here; POST enrols one
//	POST /passkeys/challenge      what a new one is to be made for
//	POST /passkeys/remove         takes one out
//	POST /localhost               a link to this page by that name, by which passkeys serve it
//	GET  /events                  server-sent events of all bridges: what to look at again
//	     /api/{bridge}/...        what bridge/inbox/socket serves, by the same handlers
//
// A Server listens on loopback only, at all addresses of localhost, so that nobody else is there
// to be given a link. Who may come in has a cookie that a link has given:
// the link works once, and its GET is harmless to whoever looks ahead (mail scanners,
// previews). The cookie has a name and a path of this Server's alone, for cookies know no
// ports. Beside that a request must name this machine and port as its host (a name that somebody
// has resolve to this machine does not), and a browser must say that no other page sends
// it: pages are shown, and answers taken, where Sec-Fetch-Site is same-origin, or none for
// what a person typed. Another port of this machine is another origin here. What comes
// from elsewhere gets a page that holds nothing but a button.
//
// Pages work without a script. The script keeps them as they are now: it fetches the same
// page again when something happens and puts the parts in that differ. It builds no markup,
// and the policy of the pages (Content-Security-Policy, with trusted types) lets it do
// nothing else. What others wrote is put on a page as text or as the value of an attribute,
// made safe by bridge/text, and nothing else can be said by this package's markup: see
// element. It does not use html/template, which makes the linker keep every exported method
// of the program (4.4 MB of 30): here are two contexts to escape for, not twelve.
//
// Answers go through [inbox.Inbox] as those of any other surface, with the digest of what
// was shown; nothing here decides.
//
// Beside that it reads files of this machine, and writes none: records, for the history; the policy
// file of a bridge, to show it; and the file that a call names, to show what would change in it.
package web
