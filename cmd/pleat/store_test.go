package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/proxy/scripted"
	"github.com/pleat-proxy/pleat/store/redisstore"
	"github.com/pleat-proxy/pleat/store/redisstore/redistest"
)

// TestRedisOptions: each option about Redis arrives where the store reads it.
func TestRedisOptions(t *testing.T) {
	got, err := redisOptions(mustLoad(t, "", nil, "--store=redis+sentinel://a,b/main", "--store-prefix=p",
		"--store-pool-size=3", "--store-dial-timeout=1s", "--store-read-timeout=2s", "--store-write-timeout=3s",
		"--store-budget=4ms", "--store-cache=5MiB", "--store-username=u", "--store-password=pw",
		"--store-sentinel-username=su", "--store-sentinel-password=spw"))
	if err != nil {
		t.Fatal(err)
	}
	want := redisstore.Options{
		URL: "redis+sentinel://a,b/main", Prefix: "p", PoolSize: 3,
		DialTimeout: 1e9, ReadTimeout: 2e9, WriteTimeout: 3e9, Budget: 4e6, CacheBytes: 5 << 20,
		Username: "u", Password: "pw", SentinelUsername: "su", SentinelPassword: "spw",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	got, err = redisOptions(mustLoad(t, "", nil, "--store=redis://a", "--store-cache=0"))
	if err != nil || got.CacheBytes >= 0 {
		t.Errorf("store_cache = 0 is %d, %v: that is not none", got.CacheBytes, err)
	}
}

// TestStoreIsNamedWithoutPassword: what logs and check call the store.
func TestStoreIsNamedWithoutPassword(t *testing.T) {
	for url, want := range map[string]string{
		"memory":                                    "memory",
		"redis://u:hunter2@h/1":                     "Redis at h:6379",
		"rediss+sentinel://u:hunter2@h,i:1/main":    "Redis main of the Sentinels at h:26379,i:1",
		"redis+cluster://u:hunter2%40%2F@h:7000,i":  "Redis Cluster at h:7000,i:6379",
		"rediss+cluster://u:hunter2@[::1]:7000,h:1": "Redis Cluster at [::1]:7000,h:1",
	} {
		c := mustLoad(t, "", nil, "--store="+url)
		if c.Store.Kind != want {
			t.Errorf("%s is called %q, want %q", url, c.Store.Kind, want)
		}
		if shown := c.values["store"].shown; strings.Contains(shown, "hunter2") {
			t.Errorf("%s is shown as %s", url, shown)
		}
	}
	for _, wrong := range []string{
		"redis://u:hun ter2@h", "redis://u:hun/ter2@h", "redis://u:hun@ter2@h", "u:hunter2@h", "rediss:u:hunter2@h/",
	} {
		shown := storePlace(new(StoreConfig)).show(wrong)
		if strings.Contains(shown, "hun") || strings.Contains(shown, "ter2") {
			t.Errorf("%s is shown as %s", wrong, shown)
		}
	}
}

// TestStoreOverTLS: files, server name and a password from a file reach Redis.
func TestStoreOverTLS(t *testing.T) {
	server, secrets := redistest.StartSecure(t)
	server.Do("CONFIG", "SET", "requirepass", "hunter2")
	write := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{
		"--store=rediss://" + server.Addr, "--store-tls-server-name=" + redistest.ServerName,
		"--store-tls-ca=" + write("ca.pem", secrets.CA), "--store-tls-cert=" + write("cert.pem", secrets.Cert),
		"--store-tls-key=" + write("key.pem", secrets.Key), "--store-password-file=" + write("password", []byte("hunter2\n")),
	}
	_, base := scriptedUpstream(t, scripted.Options{})
	pleat := startPleat(t, base, args...)
	if !pleat.ready(t, "ok", "ok") {
		_, body := pleat.get(t, pleat.adminURL("/readyz"))
		t.Errorf("/readyz: %s", body)
	}
	out, _, err := runCheckCommand(t, append(args, "--upstream="+base)...)
	if err != nil || !strings.Contains(out, "Redis at "+server.Addr) || !strings.Contains(out, "store: redis 7") {
		t.Errorf("check: %v\n%s", err, out)
	}
}

// runCheckCommand runs pleat check as a person would.
func runCheckCommand(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, complaints strings.Builder
	err = run(t.Context(), append([]string{"check"}, args...), nil, &out, &complaints)
	return out.String(), complaints.String(), err
}

// TestCheckSaysWhatRedisIs: version, memory and policy of each server, and what
// of that does not suit.
func TestCheckSaysWhatRedisIs(t *testing.T) {
	_, base := scriptedUpstream(t, scripted.Options{})
	server := redistest.Start(t, "--maxmemory", "64mb", "--maxmemory-policy", "volatile-ttl")
	out, _, err := runCheckCommand(t, "--upstream="+base, "--store=redis://"+server.Addr)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"Redis at " + server.Addr, "answers", " at " + server.Addr + " (master), ", "limit 64 MiB, policy volatile-ttl\n  - maxmemory-policy volatile-ttl: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("check does not say %q:\n%s", want, out)
		}
	}

	server.Kill()
	out, complaints, err := runCheckCommand(t, "--upstream="+base, "--store=redis://:hunter2@"+server.Addr)
	if exitStatus(err) != 1 || !strings.Contains(out, "NOT REACHED: ") || !strings.Contains(out, "is it running") {
		t.Errorf("check of a Redis that is away: %v\n%s", err, out)
	}
	if strings.Contains(out+complaints, "hunter2") || complaints != "" {
		t.Errorf("check says\n%s%s", out, complaints)
	}
}
