package socket

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

type (
	resumeBody struct {
		Reason string `json:"reason"`
	}
	nothing struct{}
)

func halt(in inbox.Halter, r *http.Request) (any, error) {
	var h inbox.Halt
	if err := readBody(r, "a halt", &h); err != nil {
		return nil, err
	}
	return or(in.Halt(r.Context(), h))
}

func resume(in inbox.Halter, r *http.Request) (any, error) {
	var b resumeBody
	if err := readBody(r, "a resume", &b); err != nil {
		return nil, err
	}
	return nothing{}, in.Resume(r.Context(), b.Reason)
}

// Halt is [inbox.Halter]'s. After an error [Client.Status] says whether the bridge is halted.
func (c *Client) Halt(ctx context.Context, h inbox.Halt) (how inbox.Halted, err error) {
	body, err := json.Marshal(h)
	if err != nil {
		return how, err
	}
	err = c.ask(ctx, http.MethodPost, "/halt", body, &how)
	return how, err
}

// Resume is [inbox.Halter]'s. After an error [Client.Status] says whether the bridge is halted.
func (c *Client) Resume(ctx context.Context, reason string) error {
	body, err := json.Marshal(resumeBody{reason})
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, "/resume", body, &nothing{})
}
