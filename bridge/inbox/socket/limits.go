package socket

// Bounds of the names of sockets, in bytes but for the last.
const (
	longestPath = 103 // of a socket, on the strictest system
	longestID   = 24  // longer ones are cut and made distinct
	mostOfOneID = 99  // live bridges of one id, at several topics
)
