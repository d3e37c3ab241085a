// Package bridge is the sidecar between a topic and an MCP server: the [Sidecar] hands
// events to an engine.Engine, one at a time and under one lock, and carries out its
// effects in order. It decides nothing.
//
// What it sees to is the order of I/O: the records of a batch are written before the
// lines to the server and the results that they are about leave, and when they cannot
// be written, neither leaves. Final records of calls that could not be written are
// written later. Whoever else wants to know is told of each record in order, under no
// lock, and may call back.
//
// Two goroutines do the work, the one that reads the topic and the one that reads the
// server; neither ever waits for a slow peer. What waited for the disk goes on in the
// goroutine that calls back from Audit.Sync, and what is due in that of [Sidecar.Run].
package bridge
