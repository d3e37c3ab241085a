// Package arguments reads the arguments of a call as people and models write them, and says
// which ones a tool takes.
//
// [Read] takes the words of a command line: one JSON object, KEY=VALUE pairs, KEY:=JSON, or a
// dash for what stdin holds. A pair is a string unless the tool's schema says otherwise, so
// [Arguments.Object] wants [TypesOf] that schema; where there is none, [Arguments.Guessed] goes
// by looks. What comes out is one JSON object that is as strict as the topic wants it
// ([Strict]): no key twice, no lone surrogate, no deeper than what fits into a call.
//
// It talks to nobody and reads nothing but the stdin that it is given. Every error is a
// *fault.Error with a hint that says what to write instead.
package arguments
