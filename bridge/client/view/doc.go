// Package view shows people what is in a topic: who is there ([Participants]) and which tools
// there are ([Tools]), as rows of a table, and what happens ([Watch]), in lines. It asks nobody
// and writes nothing. What others wrote is in the rows as they wrote it, and package table makes
// it safe to show; lines are.
package view
