// Package examples holds what shows the bridge at work; each part is run by a
// test. So are README.md and the pages of docs, here.
package examples
