package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// TLS is how a server proves who it is, and this process to it. The zero value
// trusts the system's authorities and shows no certificate. All but ServerName
// is PEM.
type TLS struct {
	CA         []byte // authorities to trust in place of the system's
	Cert, Key  []byte // this process's certificate and its key: both or neither
	ServerName string // that the certificate must hold ("": the host of the URL)
}

func (t TLS) empty() bool {
	return len(t.CA) == 0 && len(t.Cert) == 0 && len(t.Key) == 0 && t.ServerName == ""
}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if len(t.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("redis: TLS: the authority's file holds no certificate in PEM")
		}
	}
	if len(t.Cert) == 0 && len(t.Key) == 0 {
		return c, nil
	}
	pair, err := tls.X509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("redis: TLS: certificate and key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// newClient makes a client that connects when it is first used. It never tries
// again by itself: the breaker and the background do, out of a request's way.
func newClient(t Target, o Options) (redis.UniversalClient, error) {
	u := &redis.UniversalOptions{
		Addrs:            t.Addrs,
		DB:               t.DB,
		MasterName:       t.Master,
		IsClusterMode:    t.Cluster,
		Username:         t.Username,
		Password:         t.Password,
		SentinelUsername: o.SentinelUsername,
		SentinelPassword: o.SentinelPassword,

		PoolSize:              o.PoolSize,
		PipelinePoolSize:      -1, // pipelines are rare: they share the pool
		DialTimeout:           o.DialTimeout,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		PoolTimeout:           o.ReadTimeout,
		ConnMaxIdleTime:       5 * time.Minute,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		MinRetryBackoff:       -1, // of a Cluster's redirections too: a slot that moves is known at once
		DialerRetries:         1,
		DialerRetryTimeout:    time.Millisecond,

		// A node that failed a moment ago is asked again: the breaker knows when.
		FailingTimeoutSeconds: 1,

		// Each of these is a round trip that every new connection would make.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	setIfGiven(&u.Username, o.Username)
	setIfGiven(&u.Password, o.Password)
	if !t.TLS && !o.TLS.empty() {
		return nil, errors.New("redis: TLS is configured, but the URL's scheme is without it: rediss:// has it")
	}
	if t.TLS {
		config, err := o.TLS.config()
		if err != nil {
			return nil, err
		}
		u.TLSConfig = config
	}
	if !t.Cluster {
		return redis.NewUniversalClient(u), nil
	}
	c := u.Cluster()
	// Every command here names its keys: there is nothing to find out about how
	// to route it, and so no COMMAND for a user to be allowed.
	c.DisableRoutingPolicies = true
	return redis.NewClusterClient(c), nil
}

func setIfGiven(option *string, value string) {
	if value != "" {
		*option = value
	}
}

// nodes returns the server, or all masters of a Cluster ordered by address.
func (s *Store) nodes(ctx context.Context) ([]redis.Cmdable, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{s.client}, nil
	}
	var mu sync.Mutex
	var masters []*redis.Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, node)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(masters, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	all := make([]redis.Cmdable, len(masters))
	for i, node := range masters {
		all[i] = node
	}
	return all, nil
}

// SendClientLog has what go-redis reports by itself, such as each failed attempt
// to connect, logged at debug level in place of printed on standard error. It
// holds for the whole process, so it is for main to call, once and before Open:
// what matters of it, a Store reports in its own words.
func SendClientLog(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

func (c clientLog) Printf(ctx context.Context, format string, v ...any) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "redis client", slog.String("text", fmt.Sprintf(format, v...)))
	}
}
