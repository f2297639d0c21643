package proxy

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func tenantOf(t *testing.T, tenants Tenants, target string, header ...string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, nil)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	name, err := tenants.Tenant(r)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCredentialTenants(t *testing.T) {
	upstream, _ := url.Parse("https://API.example.com/v1")
	sameOrigin, _ := url.Parse("https://api.example.com/other")
	tenants := NewCredentialTenants(DeriveKey(upstream))

	name := tenantOf(t, tenants, "/", "Authorization", "Bearer sk-SECRET")
	for what, other := range map[string]string{
		"the same again":    tenantOf(t, tenants, "/", "Authorization", "Bearer sk-SECRET"),
		"a tab":             tenantOf(t, tenants, "/", "Authorization", "Bearer\tsk-SECRET"),
		"case and spacing":  tenantOf(t, tenants, "/", "authorization", "bearer   sk-SECRET "),
		"another process":   tenantOf(t, NewCredentialTenants(DeriveKey(sameOrigin)), "/", "Authorization", "Bearer sk-SECRET"),
		"another API route": tenantOf(t, tenants, "/v1/x?stream=1", "Authorization", "Bearer sk-SECRET", "X-Other", "x"),
	} {
		if other != name {
			t.Errorf("%s: another tenant", what)
		}
	}
	if len(name) != 22 || strings.Contains(name, "SECRET") || strings.ContainsAny(name, "+/=") {
		t.Errorf("name %q", name)
	}

	elsewhere, _ := url.Parse("https://other.example.com")
	all := map[string]string{"bearer": name}
	for what, other := range map[string]string{
		"another upstream": tenantOf(t, NewCredentialTenants(DeriveKey(elsewhere)), "/", "Authorization", "Bearer sk-SECRET"),
		"another key":      tenantOf(t, tenants, "/", "Authorization", "Bearer sk-SECRET2"),
		"letter case":      tenantOf(t, tenants, "/", "Authorization", "Bearer sk-secret"),
		"api-key":          tenantOf(t, tenants, "/", "Api-Key", "sk-SECRET"),
		"x-api-key":        tenantOf(t, tenants, "/", "X-Api-Key", "sk-SECRET"),
		"x-goog-api-key":   tenantOf(t, tenants, "/", "X-Goog-Api-Key", "sk-SECRET"),
		"query":            tenantOf(t, tenants, "/?key=sk-SECRET"),
		"two of them":      tenantOf(t, tenants, "/", "Authorization", "Bearer sk-SECRET", "X-Api-Key", "other"),
		"two values":       tenantOf(t, tenants, "/", "X-Api-Key", "a", "X-Api-Key", "b"),
		"joined":           tenantOf(t, tenants, "/", "X-Api-Key", "aX-Api-Keyb"),
		"basic":            tenantOf(t, tenants, "/", "Authorization", "Basic sk-SECRET"),
		"none":             tenantOf(t, tenants, "/"),
	} {
		for earlier, used := range all {
			if used == other {
				t.Errorf("%s and %s share a tenant", what, earlier)
			}
		}
		all[what] = other
	}
	if all["none"] != Anonymous || tenantOf(t, tenants, "/", "Authorization", " ") != Anonymous {
		t.Errorf("without a credential: %q", all["none"])
	}
}

// A key in the query that net/url will not parse is a key all the same.
func TestTenantsOfOddQueries(t *testing.T) {
	names := NewCredentialTenants([]byte("key"))
	name := func(query string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a"+chatPath+"?"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		tenant, _ := names.Tenant(r)
		return tenant
	}
	for _, q := range [][2]string{
		{"key=alice;v=1", "key=bob;v=1"},
		{"v=1;key=alice", "v=1;key=bob"},
		{"key=alice%zz", "key=bob%zz"},
	} {
		if name(q[0]) == name(q[1]) {
			t.Errorf("%s and %s are one tenant: %s", q[0], q[1], name(q[0]))
		}
	}
}
