package main

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/pleat-proxy/pleat/proxy"
)

// newTransport is how Pleat reaches providers: through the HTTP proxy, if any,
// that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. They are read from the
// process, once, by net/http; loopback addresses are always reached directly.
func newTransport() *http.Transport {
	t := proxy.NewTransport()
	t.Proxy = http.ProxyFromEnvironment
	return t
}

// reachError is why a URL could not be reached, without the URL, which may hold
// a key.
func reachError(err error) error {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return urlErr.Err
	}
	return err
}

// withoutSecrets is a place as it may be shown.
func withoutSecrets(place string) string {
	if u, err := url.Parse(place); err == nil && isURL(place) {
		return withoutQuery(u)
	}
	return place
}
