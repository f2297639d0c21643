package main

import (
	"context"
	"fmt"

	"github.com/pleat-proxy/pleat/store/redisstore"
)

// ping asks the store for a sign of life, and for more than that if it knows
// what keeps it from being well.
func (c checker) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return wellness(c.store)(ctx)
}

// servers prints what each Redis says of itself, and what of that does not suit.
// One that does not tell (INFO may be denied) serves all the same.
func (c checker) servers(ctx context.Context) {
	described, ok := c.store.(interface {
		Describe(ctx context.Context) ([]redisstore.Server, error)
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	servers, err := described.Describe(ctx)
	if err != nil {
		fmt.Fprintf(c.out, "\nNote: what the store is cannot be told: %v\n", err)
		return
	}
	fmt.Fprintln(c.out)
	for _, server := range servers {
		fmt.Fprintf(c.out, "store: %s\n", server)
		for _, line := range server.Advice {
			fmt.Fprintf(c.out, "  - %s\n", line)
		}
	}
}
