package main

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// contradictions finds values that are right by themselves and wrong together.
func contradictions(c *Config) error {
	for _, check := range []func(*Config) *optionError{
		adminIsPrivate, adminIsApart, upstreamIsNotPleat, summarizerHasKey, bodyFitsMemory, storeSpeaksTLS,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// complain is an error about a value that has already been taken.
func (c *Config) complain(key, problem, allowed string) *optionError {
	v := c.values[key]
	return &optionError{v.origin, key, v.shown, problem, allowed}
}

// adminIsPrivate keeps metrics away from the network as long as the admin
// listener asks nobody for a credential.
func adminIsPrivate(c *Config) *optionError {
	host, _, _ := net.SplitHostPort(c.Admin)
	if isLoopback(host) {
		return nil
	}
	return c.complain("admin", "not a loopback address, and this listener asks nobody for a credential",
		"127.0.0.1:PORT, [::1]:PORT or localhost:PORT")
}

func adminIsApart(c *Config) *optionError {
	listenHost, listenPort, _ := net.SplitHostPort(c.Listen)
	adminHost, adminPort, _ := net.SplitHostPort(c.Admin)
	if listenPort != adminPort || isZero(listenPort) {
		return nil
	}
	if !isEverywhere(listenHost) && !sameHost(listenHost, adminHost) {
		return nil
	}
	return c.complain("admin", "the same address as listen = "+c.values["listen"].shown+" ("+string(c.values["listen"].origin)+")",
		"another port than listen has")
}

// upstreamIsNotPleat finds the commonest loop: the address of Pleat itself as
// its upstream.
func upstreamIsNotPleat(c *Config) *optionError {
	host, port, _ := net.SplitHostPort(c.Listen)
	if isZero(port) || port != portOf(c.Upstream) {
		return nil
	}
	upstream := c.Upstream.Hostname()
	if sameHost(host, upstream) || isEverywhere(host) && isLoopback(upstream) {
		return c.complain("upstream", "this is Pleat itself: it listens on "+c.values["listen"].shown, "the provider's base URL")
	}
	return nil
}

// summarizerHasKey keeps the clients' credentials from a host that they were
// not meant for.
func summarizerHasKey(c *Config) *optionError {
	if c.Summarizer.Upstream == nil || c.Summarizer.APIKey != "" {
		return nil
	}
	return c.complain("summarizer.upstream", "summarizer.api_key is not set, and the clients' own credentials are not sent to another place",
		"together with summarizer.api_key (any word, where the server asks for none)")
}

// bodyFitsMemory keeps limits.body from promising to fold what never fits.
func bodyFitsMemory(c *Config) *optionError {
	if c.Limits.Body < c.Limits.Memory {
		return nil
	}
	return c.complain("limits.memory", "no more than limits.body = "+c.values["limits.body"].shown+
		", so that a request of that size would never be folded", "more than limits.body")
}

// storeSpeaksTLS keeps an operator from believing in a protection that is not
// there.
func storeSpeaksTLS(c *Config) *optionError {
	r := c.Store.Redis
	if strings.HasPrefix(strings.ToLower(c.Store.URL), "rediss") {
		return nil
	}
	for _, o := range []struct{ key, value string }{
		{"store_tls_ca", r.CA}, {"store_tls_cert", r.Cert}, {"store_tls_key", r.Key}, {"store_tls_server_name", r.ServerName},
	} {
		if o.value != "" {
			return c.complain(o.key, "store is "+c.Store.Kind+", without TLS", "together with rediss://… as store")
		}
	}
	return nil
}

// portOf is the port that a URL means.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// isZero reports whether a port is left to the operating system.
func isZero(port string) bool { return strings.Trim(port, "0") == "" }

// isEverywhere reports whether listening on the host is listening on all
// interfaces.
func isEverywhere(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || (err == nil && addr.IsUnspecified())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && addr.Unmap().IsLoopback())
}

// sameHost reports whether two hosts are one, as far as can be told without
// asking DNS. Loopback addresses count as one: localhost is any of them.
func sameHost(a, b string) bool {
	return strings.EqualFold(a, b) || (isLoopback(a) && isLoopback(b) && (a == "localhost" || b == "localhost"))
}
