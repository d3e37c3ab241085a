// Package config is where settings come from beside the command line: the variables of an
// environment, and a configuration file.
//
// [Settle] sets the flags that the command line leaves open; [Env] names a flag's variable, and
// [Strays] finds those that were meant to be one.
//
// The file ([Read]) is a YAML mapping of keys to values or lists of values. It is read
// strictly: a key that is there twice, a mapping inside a value, an empty value, or what two
// readers of YAML would read differently is an error with file, line and column, and so is a
// file that somebody else than its owner could have written. Errors are *fault.Error, misused,
// with a hint; nothing is kept.
package config
