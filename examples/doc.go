// Package examples holds what shows the bridge at work; each part is run by a
// test. So is the README, here.
package examples
