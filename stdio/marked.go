package stdio

// MarkVar is the variable of a server's environment that says whose server it is, for
// [Marked]. It does not begin with MCPX_: settings do.
const MarkVar = "_MCPX_FAMILY"
