package main

import (
	"context"
	"sync"
)

// together runs every part until the first one returns, then cancels the rest
// with that error as the cause and waits for them all.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() { cancel(part(ctx)) })
	}
	running.Wait()
	return context.Cause(ctx)
}
