package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"

	"github.com/pleat-proxy/pleat/store"
	"github.com/pleat-proxy/pleat/store/memstore"
	"github.com/pleat-proxy/pleat/store/redisstore"
)

// closingStore is a store and the end of it.
type closingStore interface {
	store.Store
	io.Closer
}

// openStore opens the store that the configuration names; observer may be nil. A
// Redis that is away delays the start by store_dial_timeout at most, and is no
// error: Pleat serves without it. An error is one of the configuration.
func openStore(ctx context.Context, c *Config, observer redisstore.Observer, log *slog.Logger) (closingStore, error) {
	if c.Store.URL == "" {
		return memstore.New(memstore.Options{MaxBytes: c.Store.Memory}), nil
	}
	o, err := redisOptions(c)
	if err != nil {
		return nil, usageError{err}
	}
	o.Observer, o.Log = observer, log
	s, err := redisstore.Open(ctx, o)
	if err != nil {
		return nil, usageError{c.complain("store", err.Error(), "")}
	}
	return s, nil
}

// redisOptions is what the configuration says of Redis.
func redisOptions(c *Config) (redisstore.Options, error) {
	r := c.Store.Redis
	o := redisstore.Options{
		URL: c.Store.URL, Prefix: r.Prefix, PoolSize: r.PoolSize,
		DialTimeout: r.DialTimeout, ReadTimeout: r.ReadTimeout, WriteTimeout: r.WriteTimeout, Budget: r.Budget,
		CacheBytes: r.Cache, Username: r.Username, Password: r.Password,
		SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword,
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = -1 // redisstore takes 0 for its default
	}
	var err error
	o.TLS, err = redisTLS(c)
	return o, err
}

// redisTLS reads the files that the options about TLS name.
func redisTLS(c *Config) (redisstore.TLS, error) {
	r := c.Store.Redis
	t := redisstore.TLS{ServerName: r.ServerName}
	switch {
	case r.Cert != "" && r.Key == "":
		return t, c.complain("store_tls_cert", "store_tls_key is not set", "both or neither")
	case r.Key != "" && r.Cert == "":
		return t, c.complain("store_tls_key", "store_tls_cert is not set", "both or neither")
	}
	for _, f := range []struct {
		key, path string
		content   *[]byte
	}{
		{"store_tls_ca", r.CA, &t.CA}, {"store_tls_cert", r.Cert, &t.Cert}, {"store_tls_key", r.Key, &t.Key},
	} {
		if f.path == "" {
			continue
		}
		var err error
		if *f.content, err = readSmall(f.path, maxPEM); err != nil {
			return t, c.complain(f.key, err.Error(), pemPath(nil).allowed)
		}
	}
	if r.CA != "" && !x509.NewCertPool().AppendCertsFromPEM(t.CA) {
		return t, c.complain("store_tls_ca", "the file holds no certificate", pemPath(nil).allowed)
	}
	if r.Cert != "" {
		if _, err := tls.X509KeyPair(t.Cert, t.Key); err != nil {
			return t, c.complain("store_tls_cert", "it does not go with store_tls_key: "+err.Error(), "a certificate and its key")
		}
	}
	return t, nil
}

// maxPEM is more than the system's whole list of authorities needs.
const maxPEM = 4 * mib

// wellness is a check that the store serves, and takes writes.
func wellness(s store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		err := s.Ping(ctx)
		if troubled, ok := s.(interface{ Trouble() error }); ok && err == nil {
			err = troubled.Trouble()
		}
		if hint := redisstore.Hint(err); hint != "" {
			return fmt.Errorf("%w (%s)", err, hint)
		}
		return err
	}
}
