package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// loadConfig loads as a command would, from a file with the given content
// ("" is no file).
func loadConfig(t testing.TB, file string, environ []string, args ...string) (*Config, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "pleat.yml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		environ = append([]string{configVariable + "=" + path}, environ...)
	}
	cmd := &cobra.Command{Use: "pleat"}
	addConfigFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return load(cmd.Flags(), environ, func(line string) { t.Errorf("warning: %s", line) })
}

func mustLoad(t testing.TB, file string, environ []string, args ...string) *Config {
	t.Helper()
	c, err := loadConfig(t, file, environ, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "", nil)
	if got := c.Upstream.String(); got != "https://api.openai.com/v1" {
		t.Errorf("upstream = %s", got)
	}
	if c.Limits.Body != 64<<20 || c.Limits.Shutdown != 30*time.Second || c.Summarizer.Share != 0.5 || !c.Log.Access {
		t.Errorf("defaults are not DESIGN.md's: %+v", c)
	}
	for key, v := range c.values {
		if v.origin != byDefault {
			t.Errorf("%s comes from %s", key, v.origin)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const file = "log:\n  level: debug\n"
	env := []string{"PLEAT_LOG_LEVEL=warn"}
	for _, c := range []struct {
		name   string
		file   string
		env    []string
		args   []string
		want   string
		origin string // how it ends
	}{
		{"default", "", nil, nil, "info", "default"},
		{"file", file, nil, nil, "debug", "pleat.yml:2"},
		{"dotted key", "\nlog.level: debug\n", nil, nil, "debug", "pleat.yml:2"},
		{"variable", file, env, nil, "warn", "variable PLEAT_LOG_LEVEL"},
		{"empty variable", file, []string{"PLEAT_LOG_LEVEL="}, nil, "debug", "pleat.yml:2"},
		{"flag", file, env, []string{"--log-level", "error"}, "error", "flag --log-level"},
		{"flag at its default", file, env, []string{"--log-level=info"}, "info", "flag --log-level"},
		{"last flag", "", nil, []string{"--log-level=warn", "--log-level=error"}, "error", "flag --log-level"},
		{"byte order mark and CRLF", "\ufefflog:\r\n  level: debug # loud\r\n", nil, nil, "debug", "pleat.yml:2"},
		{"section without keys", "log:\n", nil, nil, "info", "default"},
		{"comments only", "# log:\n#   level: debug\n", nil, nil, "info", "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := mustLoad(t, c.file, c.env, c.args...)
			origin := string(config.values["log.level"].origin)
			if config.Log.Level != c.want || !strings.HasSuffix(origin, c.origin) {
				t.Errorf("log.level = %s from %s, want %s from …%s", config.Log.Level, origin, c.want, c.origin)
			}
		})
	}
}

func TestConfigFlagBeatsVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.yml")
	if err := os.WriteFile(path, []byte("log: {level: error}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, "log: {level: debug}\n", nil, "--config", path)
	if c.Log.Level != "error" {
		t.Errorf("log.level = %s, want the flag's file's", c.Log.Level)
	}
}

// samples holds, for each option, a value that is not its default.
var samples = map[string]string{
	"listen": "127.0.0.1:9001", "admin": "[::1]:9002", "upstream": "http://gpu:8000/v1",
	"trigger": "50%", "tokens.cache": "5000", "scope": "steps", "keep_first": "1",
	"tool_results": "shorten", "tool_results_keep": "3", "tool_results_exempt": "read_plan, list_files",
	"upstream_metadata": "on", "upstream_metadata_key": "sk-2", "upstream_metadata_key_file": "FILE",
	"catalogue": "https://catalogue.example/models.json", "catalogue_cache": "/var/cache/pleat/catalogue",
	"overflow.policy": "report", "overflow.wait": "5s",
	"summarizer.models": "small, same", "summarizer.upstream": "http://gpu:8001/v1",
	"summarizer.api_key": "sk-1", "summarizer.api_key_file": "FILE",
	"summarizer.timeout": "15s", "summarizer.workers": "7", "summarizer.queue": "9",
	"summarizer.memory": "1GiB", "summarizer.share": "10%", "summarizer.retries": "0",
	"store": "redis+sentinel://10.0.0.1,10.0.0.2/main/2", "store_memory": "1048576", "store_fold_ttl": "48h", "store_session_ttl": "1h30m",
	"store_prefix": "prod:pleat", "store_pool_size": "8", "store_budget": "50ms", "store_dial_timeout": "2s",
	"store_read_timeout": "3s", "store_write_timeout": "4s", "store_cache": "0",
	"store_username": "folder", "store_password": "pw-1", "store_password_file": "FILE",
	"store_sentinel_username": "watcher", "store_sentinel_password": "pw-2", "store_sentinel_password_file": "FILE",
	"store_tls_ca": "ca.pem", "store_tls_cert": "cert.pem", "store_tls_key": "key.pem", "store_tls_server_name": "redis.test",
	"tenant.key": strings.Repeat("k", 32), "tenant.key_file": "FILE",
	"limits.body": "2 MiB", "limits.body_timeout": "1m30s", "limits.header_timeout": "3s",
	"limits.idle_timeout": "10m", "limits.headers": "8KiB", "limits.shutdown": "2m", "limits.drain": "10s",
	"limits.memory": "4GiB",
	"log.level":     "warn", "log.format": "json", "log.access": "off",
}

// TestEveryOption sets each option in the three ways: all must change the same
// thing, and something.
func TestEveryOption(t *testing.T) {
	secretFile := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secretFile, []byte(strings.Repeat("s", 40)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]string)
	for _, g := range optionTable(new(Config)) {
		for _, o := range g.options {
			if o.flag() == "" {
				continue // models has tests of its own
			}
			for _, name := range []string{o.flag(), o.variable()} {
				if other := seen[name]; other != "" {
					t.Errorf("%s is %s and %s", name, other, o.key)
				}
				seen[name] = o.key
			}
			t.Run(o.key, func(t *testing.T) {
				sample := strings.ReplaceAll(samples[o.key], "FILE", secretFile)
				if sample == "" {
					t.Fatal("no sample: add one")
				}
				var rest []string
				switch {
				case o.key == "summarizer.upstream":
					rest = []string{"--summarizer-api-key=sk-1"}
				case strings.HasPrefix(o.key, "store_tls_"):
					rest = []string{"--store=rediss://redis"}
				}
				byFlag := mustLoad(t, "", nil, append(rest, "--"+o.flag()+"="+sample)...)
				byVariable := mustLoad(t, "", []string{o.variable() + "=" + sample}, rest...)
				byFile := mustLoad(t, o.key+": '"+sample+"'\n", nil, rest...)
				plain := mustLoad(t, "", nil, rest...)
				for _, c := range []*Config{byFlag, byVariable, byFile, plain} {
					c.values = nil
				}
				if !reflect.DeepEqual(byFlag, byVariable) || !reflect.DeepEqual(byFlag, byFile) {
					t.Errorf("flag, variable and file disagree:\n%+v\n%+v\n%+v", byFlag, byVariable, byFile)
				}
				if reflect.DeepEqual(byFlag, plain) {
					t.Error("the option changes nothing")
				}
			})
		}
	}
}

func TestLists(t *testing.T) {
	want := []string{"small", "same"}
	for _, file := range []string{
		"summarizer:\n  models: [small, same]\n",
		"summarizer:\n  models:\n    - small\n    - same # the last resort\n",
		"summarizer: {models: 'small, same'}\n",
		"---\nsummarizer.models: small,same\n...\n",
	} {
		if got := mustLoad(t, file, nil).Summarizer.Models; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v", file, got)
		}
	}
}

func TestModels(t *testing.T) {
	c := mustLoad(t, "models:\n  gpt-*: {input: 1000, output: 200}\n  'llama:7b':\n    total: 8192\n    encoding: cl100k_base\n  3: {total: 5}\n", nil)
	want := []modelRule{
		{Glob: "gpt-*", Input: 1000, Output: 200},
		{Glob: "llama:7b", Total: 8192, Encoding: "cl100k_base"},
		{Glob: "3", Total: 5},
	}
	if !reflect.DeepEqual(c.Models, want) {
		t.Errorf("models = %+v, want %+v", c.Models, want)
	}
}

func TestSecretFileWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("sk-from-file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, "", nil, "--summarizer-api-key-file", path)
	if c.Summarizer.APIKey != "sk-from-file" {
		t.Errorf("summarizer.api_key = %q", c.Summarizer.APIKey)
	}
	if v := c.values["summarizer.api_key"]; v.shown != masked || v.origin != "flag --summarizer-api-key-file" {
		t.Errorf("summarizer.api_key is shown as %+v", v)
	}
}

func TestNoFalseAlarm(t *testing.T) {
	for _, args := range [][]string{
		{"--listen", ":8080", "--admin", "127.0.0.1:8081"},
		{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"},
		{"--listen", "192.0.2.1:8081"}, // another interface than the admin listener's
		{"--listen", "127.0.0.2:8081"},
		{"--upstream", "http://localhost:11434/v1"},
		{"--listen", "192.0.2.1:8080", "--upstream", "http://127.0.0.1:8080"},
		{"--admin", "[::ffff:127.0.0.1]:8081"},
		{"--summarizer-upstream", "http://gpu:8000/v1", "--summarizer-api-key", "none"},
	} {
		if _, err := loadConfig(t, "", nil, args...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// FuzzConfigFile: no file makes the loader panic, and each error is one line.
func FuzzConfigFile(f *testing.F) {
	paths, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("models:\n  gpt-*: {input: 1000, output: 200}\nlog: {level: debug}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLoader(nil)
		if err := l.defaults(); err != nil {
			t.Fatal(err)
		}
		if err := l.document("pleat.yml", data); err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("not one line: %q", err)
		}
	})
}
