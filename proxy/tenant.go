package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Tenants names whom a request belongs to. Nothing made for one tenant is used
// for another, so a name must never be shared by two owners; it is an opaque
// word, not a credential. An error refuses the request: an *Error is told to
// the client as it is.
type Tenants interface {
	Tenant(r *http.Request) (string, error)
}

// Anonymous is the tenant of requests without any credential.
const Anonymous = "anonymous"

// tenantBytes is how much of a hash names a tenant: 128 bits, so that
// collisions are out of reach.
const tenantBytes = 16

// CredentialTenants tells tenants apart by the credentials that requests
// carry: the name is an HMAC-SHA-256 of all of them, so that it says nothing
// about them without the key, and nobody reaches a tenant by knowing a part.
//
// All of them, because Pleat cannot know which one the upstream looks at. With
// an order of precedence, two owners who differ in the one that counts (api-key)
// and agree in one that does not (the "Bearer dummy" that an SDK insists on)
// would be one tenant. The price is that whoever adds a made-up credential gets
// a tenant of its own, where it finds no folds: it takes nothing from others,
// since what a tenant may spend is a part of what it sends.
type CredentialTenants struct{ key []byte }

var _ Tenants = (*CredentialTenants)(nil)

// NewCredentialTenants returns the policy under the key. Processes that share
// a store must have the same key.
func NewCredentialTenants(key []byte) *CredentialTenants {
	return &CredentialTenants{key: append([]byte(nil), key...)}
}

// DeriveKey makes the key for installations that configure none, from the
// upstream's origin alone: replicas and restarts agree on it. It is no secret,
// so a configured key is better where others can read the store.
func DeriveKey(upstream *url.URL) []byte {
	sum := sha256.Sum256([]byte("pleat tenant key v1\x00" +
		strings.ToLower(upstream.Scheme) + "://" + strings.ToLower(upstream.Host)))
	return sum[:]
}

// Tenant returns the name; the error is always nil.
func (t *CredentialTenants) Tenant(r *http.Request) (string, error) {
	mac := hmac.New(sha256.New, t.key)
	found := false
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			found = true
			writeField(mac, name)
			writeField(mac, value)
		}
	}
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key"} {
		for _, value := range r.Header[name] {
			add(name, withoutBearer(value))
		}
	}
	addQuery(r.URL.RawQuery, add)
	if !found {
		return Anonymous, nil
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:tenantBytes]), nil
}

// addQuery adds the credentials of a query: some clients carry theirs here. One
// that net/url finds odd is taken whole, since an upstream may read it either way.
func addQuery(raw string, add func(name, value string)) {
	if raw == "" {
		return
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		add("query", raw)
		return
	}
	for _, name := range []string{"key", "api_key", "api-key", "subscription-key", "access_token"} {
		for _, value := range query[name] {
			add(name, value)
		}
	}
}

// withoutBearer removes the scheme "Bearer", whose case and spacing vary
// between clients of one key.
func withoutBearer(authorization string) string {
	authorization = strings.TrimSpace(authorization)
	const scheme = "bearer"
	if n := len(scheme); len(authorization) > n && strings.EqualFold(authorization[:n], scheme) &&
		strings.ContainsRune(" \t", rune(authorization[n])) {
		return authorization[n:]
	}
	return authorization
}

// writeField writes s after its length, so that no two lists of fields have
// the same bytes. A hash takes all it is given without an error.
func writeField(w io.Writer, s string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(s)))
	_, _ = w.Write(length[:])
	_, _ = io.WriteString(w, s)
}
