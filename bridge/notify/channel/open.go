package channel

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Open makes a channel of what the policy says. Its errors are misuse, and name the field.
func Open(c policy.Channel, o Options) (Channel, error) {
	s := secrets{c, o.Getenv}
	switch c.Kind {
	case "ntfy":
		return newNtfy(s)
	case "webhook":
		return newWebhook(s)
	case "slack":
		return newSlack(s)
	case "telegram":
		return newTelegram(s)
	case "mail":
		return newMail(s)
	case "command":
		return newCommand(c.To[0].Text, o), nil
	}
	return nil, fault.Misuse("", "notify.%s: there is no channel %q", c.Name, c.Kind)
}
