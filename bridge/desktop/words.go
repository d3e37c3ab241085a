package desktop

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// The words of MCP, which are mcp-go's: what they are called, which revisions there are,
// and what goes wrong. A message that somebody else wrote never passes through the types
// of mcp-go, which lose what they do not know (an id above 2^53, a member, a kind of
// content): it stays the bytes that it was.

// The revisions of MCP that we speak, newest first. In the first every request says of
// itself what its client can do, and is answered with input_required where the client is
// to be asked. In the others a client begins with initialize and can be asked something
// while a call of its is under way.
var revisions = []string{modern, mcp.ProtocolVersion20251125, mcp.ProtocolVersion20250618, mcp.ProtocolVersion20250326, mcp.ProtocolVersion20241105}

const modern = mcp.ProtocolVersion20260728

const (
	codeParse          = mcp.PARSE_ERROR
	codeInvalidRequest = mcp.INVALID_REQUEST
	codeUnknownMethod  = mcp.METHOD_NOT_FOUND
	codeInvalidParams  = mcp.INVALID_PARAMS
	codeWrongRevision  = mcp.UNSUPPORTED_PROTOCOL_VERSION

	// codeElicitURL is the error by which a server has the client send its person to
	// addresses, and then call again.
	codeElicitURL = mcp.URL_ELICITATION_REQUIRED
)

const (
	methodInitialize    = string(mcp.MethodInitialize)
	methodDiscover      = string(mcp.MethodServerDiscover)
	methodPing          = string(mcp.MethodPing)
	methodListTools     = string(mcp.MethodToolsList)
	methodListPrompts   = string(mcp.MethodPromptsList)
	methodListResources = string(mcp.MethodResourcesList)
	methodListTemplates = string(mcp.MethodResourcesTemplatesList)
	methodCallTool      = string(mcp.MethodToolsCall)
	methodGetPrompt     = string(mcp.MethodPromptsGet)
	methodReadResource  = string(mcp.MethodResourcesRead)
	methodListen        = string(mcp.MethodSubscriptionsListen)
	methodElicit        = string(mcp.MethodElicitationCreate)

	toldInitialized      = string(mcp.MethodNotificationInitialized)
	toldCancelled        = string(mcp.MethodNotificationCancelled)
	toldProgressed       = string(mcp.MethodNotificationProgress)
	toldAcknowledged     = mcp.MethodNotificationSubscriptionsAcknowledged
	toldToolsChanged     = mcp.MethodNotificationToolsListChanged
	toldPromptsChanged   = mcp.MethodNotificationPromptsListChanged
	toldResourcesChanged = mcp.MethodNotificationResourcesListChanged
)

const (
	metaRevision     = mcp.MetaKeyProtocolVersion
	metaCapabilities = mcp.MetaKeyClientCapabilities
	metaServer       = mcp.MetaKeyServerInfo
	metaSubscription = mcp.MetaKeySubscriptionID
)

const instructions = "The tools of other participants in an MCPx topic, named peer__tool. Some calls wait until a person agrees; " +
	"an answer with a ticket means that it is not decided yet: call mcpx_result with the ticket, or the same tool with the same arguments again. " +
	"mcpx_peers lists who is here, mcpx_call calls any tool of theirs."

const (
	ourName  = "mcpx-bridge"
	ourTitle = "MCPx topic"
)

// plain is compose for types that write themselves, and <, > and & as escapes then.
func plain(v any) []byte {
	raw := jsontext.Value(compose(v))
	_ = raw.Format() // it is JSON
	return raw
}

const (
	appExtension = "io.modelcontextprotocol/ui"
	appScheme    = "ui://" // of a page's address, which a client insists on
)
