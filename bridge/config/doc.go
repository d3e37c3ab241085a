// Package config reads a configuration file: a YAML mapping of keys to values or lists of
// values, each with the place where it stands.
//
// It is strict: a key that is there twice, a mapping inside a value, an empty value, or what
// two readers of YAML would read differently is an error with file, line and column. Which
// keys there are, and what their values mean, is for the caller. [Read] refuses a file that
// somebody else than its owner could have written. Errors are *fault.Error, misused, with a
// hint; nothing is kept.
package config
