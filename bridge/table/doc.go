// Package table draws rows of cells for people, as wide as their terminal.
//
// [Draw] lines cells up and makes them safe to show, whoever wrote them; [Columns] is how wide
// the terminal is. What does not go to a terminal is drawn whole, for programs and files.
package table
