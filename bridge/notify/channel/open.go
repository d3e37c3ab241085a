package channel

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Open makes a channel of what the policy says. Its errors are misuse, and name the field.
func Open(c policy.Channel, o Options) (Channel, error) {
	h := &hidden{}
	out, err := open(secrets{c, o.Getenv, h}, o)
	if err != nil {
		return nil, err
	}
	return discreetly(out, h), nil
}

func open(c secrets, o Options) (Channel, error) {
	switch c.Kind {
	case "ntfy":
		return newNtfy(c)
	case "webhook":
		return newWebhook(c)
	case "slack":
		return newSlack(c)
	case "telegram":
		return newTelegram(c)
	case "mail":
		return newMail(c)
	case "command":
		return newCommand(c.To[0].Text, o), nil
	}
	return nil, fault.Misuse("", "notify.%s: there is no channel %q", c.Name, c.Kind)
}
