// Package prompttest is a terminal for tests: a real one, and what is to be
// seen on it.
package prompttest
