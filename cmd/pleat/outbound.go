package main

import (
	"net/http"

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
