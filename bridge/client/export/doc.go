// Package export lists the tools of a topic for a model's API, and finds the way back from a
// name that a model was given (seed 004).
//
// [JSON] writes them as they are. [OpenAI] and [Anthropic] write the lists that these two APIs
// take, under the names that serve gives the same tools: peer__tool, and a short digest behind it
// where that cannot be written without loss. [Named] finds the tool that has such a name, in
// whatever length its exporter wanted; a name that fits two is neither's. [Choice] says which
// tools are listed, and what is left out, so that whoever prints the list can say so.
//
// It asks nobody and keeps nothing: tools come in, as bridge/client lists them, and bytes and
// tools come out. JSON is fit for a terminal. Errors of [Named] are *fault.Error.
package export
