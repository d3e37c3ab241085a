// Package help is what a command says of itself: its help, on two screens or whole, and
// what is wrong with a command line.
//
// [Text] sets out the help: flags and commands in groups, those of every day first, lines
// of at most [Width] columns. Rare flags are for --help-all, with what the annotation
// [Further] has. [Missing] names the argument that a command line lacks, and what lists
// it. Both read the command's Use, so that says PEER TOOL and not <peer> <tool>.
//
// [Positional], [InUTF8], [NoSuchCommand] and [FlagError] word what is wrong with arguments,
// commands and flags, as *fault.Error, misused, with what was meant if that can be guessed. They
// never repeat the value of a flag: it may be a secret.
//
// [Found] are names that a shell may complete, of those that others chose only such as
// every shell takes for one word; [BashCompletion] is the script for bash, which needs no
// package of others.
//
// It reads commands, prints nothing by itself, and may be called from any goroutine while
// nobody changes them.
package help
