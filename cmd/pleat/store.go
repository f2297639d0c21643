package main

import (
	"io"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
)

// closingStore is a store and the end of it.
type closingStore interface {
	store.Store
	io.Closer
}

// openStore opens the store that the configuration names. It does not wait for
// it to answer: a store that is away delays no start.
func openStore(c StoreConfig) closingStore {
	return memstore.New(memstore.Options{MaxBytes: c.Memory})
}
