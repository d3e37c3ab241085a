package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

// measureWaits puts each input before a bridge that has its policy, and before one
// that has none of its rules, in turns.
func measureWaits(s *stage.Stage, worst []held, rounds int) error {
	plain, err := openTable(s, "unjudged", strain{})
	if err != nil {
		return err
	}
	defer plain.close()
	for i := range worst {
		h := &worst[i]
		if err := h.wait(s, fmt.Sprint("judged-", i), plain, rounds); err != nil {
			return fmt.Errorf("%s, %s: %w", h.of, h.name, err)
		}
	}
	return nil
}

func (h *held) wait(s *stage.Stage, name string, plain *table, rounds int) error {
	own, err := openTable(s, name, h.strain)
	if err != nil {
		return err
	}
	defer own.close()
	defer own.bridge.Stop()
	payload := h.payload()
	var alone, unjudged, judged []float64
	for i := range rounds {
		for _, turn := range []struct {
			at    *table
			frame []byte
			into  *[]float64
		}{
			{own, nil, &alone},
			{plain, h.frame("mallory", fmt.Sprint(name, "-", i), payload), &unjudged},
			{own, h.frame("mallory", fmt.Sprint(name, "-", i), payload), &judged},
		} {
			longest, err := turn.at.beside(turn.frame)
			if err != nil {
				return err
			}
			*turn.into = append(*turn.into, float64(longest))
		}
	}
	h.waits = waits{median(alone), median(unjudged), median(judged)}
	return nil
}

// A table is a bridge that hosts a topic, with three who sit there.
type table struct {
	bridge              *stage.Process
	bob, mallory, alice *seat.Seat
	calls               int
	heard               chan error // mallory, or alice who is asked, has heard what became of an input
}

func openTable(s *stage.Stage, name string, st strain) (*table, error) {
	s, err := s.Apart(name)
	if err != nil {
		return nil, err
	}
	bridge, e, err := clockBridge(s, st.policyText(), "--listen", "127.0.0.1:0", "--topic", "table", "--id", "fs", "--env", largeTool+"="+st.tool())
	if err != nil {
		return nil, err
	}
	bridge.Ignore()
	t := &table{bridge: bridge, heard: make(chan error, 64)}
	for id, chair := range map[string]**seat.Seat{"bob": &t.bob, "mallory": &t.mallory, "alice": &t.alice} {
		if *chair, err = sit(s, e.Gateway, "table", id); err != nil {
			t.close()
			return nil, err
		}
	}
	go t.listen(t.mallory, "mcp/response:tools/call:large", "mcp/response:resources/read", "mcp/reject")
	go t.listen(t.alice, "mcp/request:elicitation/create")
	return t, nil
}

func (t *table) close() {
	for _, at := range []*seat.Seat{t.bob, t.mallory, t.alice} {
		if at != nil {
			at.Close()
		}
	}
}

// listen tells when one of these kinds is heard, until the connection ends.
func (t *table) listen(at *seat.Seat, kinds ...string) {
	for {
		frame, err := at.Read()
		if err != nil {
			t.heard <- fmt.Errorf("the connection ended: %w", err)
			return
		}
		var h heard
		if len(frame) <= wholeFrame && json.Unmarshal(frame, &h) == nil && slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(h.Kind, kind) }) {
			t.heard <- nil
		}
	}
}

// beside has bob make small calls, one after the other, while mallory says something,
// and for a while before that; it returns the longest that one took.
func (t *table) beside(large []byte) (longest time.Duration, err error) {
	for range 20 {
		took, err := t.call()
		if err != nil {
			return 0, err
		}
		longest = max(longest, took)
	}
	if large == nil {
		return longest, nil
	}
	longest = 0
	sent := make(chan error, 1)
	go func() { sent <- t.mallory.Write(large) }()
	for over, deadline := false, time.Now().Add(30*time.Second); !over; {
		took, err := t.call()
		if err != nil {
			return 0, err
		}
		longest = max(longest, took)
		select {
		case err := <-t.heard:
			if err != nil {
				return 0, err
			}
			over = true
		default:
			if time.Now().After(deadline) {
				return 0, fmt.Errorf("nobody hears what became of %.200s", large)
			}
		}
	}
	return longest, <-sent
}

// call is one of bob's.
func (t *table) call() (time.Duration, error) {
	t.calls++
	began := time.Now()
	if err := t.bob.Write(seat.Frame(fmt.Sprint("call-", t.calls), "bob", "fs", "mcp/request:tools/call:clock", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock","arguments":{}}}`)); err != nil {
		return 0, err
	}
	answer, err := hear(t.bob, "mcp/response:tools/call:clock", "bob")
	if err == nil && answer.Payload.Error != nil {
		err = fmt.Errorf("bob's call is not served: %s", answer.Payload.Error.Message)
	}
	return time.Since(began), err
}
