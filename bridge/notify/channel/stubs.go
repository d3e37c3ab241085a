package channel

import "github.com/mcpx-protocol/mcpx-bridge/bridge/fault"

func newSlack(s secrets) (Channel, error)    { return notYet(s) }
func newTelegram(s secrets) (Channel, error) { return notYet(s) }
func newMail(s secrets) (Channel, error)     { return notYet(s) }

func notYet(s secrets) (Channel, error) {
	return nil, fault.Misuse("", "notify.%s.%s: this version cannot do that yet", s.Name, s.Kind)
}
