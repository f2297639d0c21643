package redisstore

import (
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	tests := map[string]Target{
		"redis://h":                  {Addrs: []string{"h:6379"}},
		"REDIS://h:1/":               {Addrs: []string{"h:1"}},
		"redis://h:1/15":             {Addrs: []string{"h:1"}, DB: 15},
		"redis://:pw@h":              {Addrs: []string{"h:6379"}, Password: "pw"},
		"redis://u@h":                {Addrs: []string{"h:6379"}, Username: "u"},
		"redis://u:p%40%2F%3a+:@h":   {Addrs: []string{"h:6379"}, Username: "u", Password: "p@/:+:"},
		"redis://u:a@b@h":            {Addrs: []string{"h:6379"}, Username: "u", Password: "a@b"},
		"rediss://[::1]:7/2":         {Addrs: []string{"[::1]:7"}, DB: 2, TLS: true},
		"redis://[fe80::1]":          {Addrs: []string{"[fe80::1]:6379"}},
		"redis+sentinel://a,b:7/m":   {Addrs: []string{"a:26379", "b:7"}, Master: "m"},
		"redis+sentinel://u:p@a/m/3": {Addrs: []string{"a:26379"}, Master: "m", DB: 3, Username: "u", Password: "p"},
		"rediss+sentinel://a/m":      {Addrs: []string{"a:26379"}, Master: "m", TLS: true},
		"redis+cluster://a,b:7,c":    {Addrs: []string{"a:6379", "b:7", "c:6379"}, Cluster: true},
		"rediss+cluster://a/":        {Addrs: []string{"a:6379"}, Cluster: true, TLS: true},
	}
	for raw, want := range tests {
		got, err := ParseURL(raw)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseURL(%q) = %#v, %v; want %#v", raw, got, err, want)
		}
	}
}

func TestTargetNamesNoPassword(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://u:s3cret@h":                  "Redis at h:6379",
		"redis+cluster://u:s3cret@h,i:7":      "Redis Cluster at h:6379,i:7",
		"redis+sentinel://u:s3cret@h/pleat/1": "Redis pleat of the Sentinels at h:26379",
	} {
		target, err := ParseURL(raw)
		if got := fmt.Sprintf("%+v", target); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestParseURLSaysWhatIsWrong(t *testing.T) {
	const secret = "s3cret"
	tests := map[string]string{
		"":                                 "scheme",
		"localhost:6379":                   "scheme",
		"http://h":                         "scheme",
		"redis+tls://h":                    "scheme",
		"redis://":                         "host",
		"redis://h:0":                      "host",
		"redis://h:70000":                  "host",
		"redis://h:port":                   "host",
		"redis://::1":                      "host",
		"redis://h,":                       "host",
		"redis://a,b":                      "several hosts",
		"redis://h/x":                      "database",
		"redis://h/-1":                     "database",
		"redis://h/1/2":                    "database",
		"redis://h?db=1":                   "?",
		"redis+sentinel://h":               "name",
		"redis+sentinel://h//0":            "name",
		"redis+sentinel://h/m/x":           "database",
		"redis+cluster://h/1":              "one database",
		"redis://u:%zz" + secret + "@h":    "percent",
		"redis://u:" + secret + "#x@h":     "#",
		"redis://u:" + secret + "/x@h":     "%2F",
		"redis://:" + secret + "/1@h":      "%2F",
		"redis://h:" + secret:              "host",
		"redis+cluster://:" + secret + "/": "host",
	}
	for raw, word := range tests {
		_, err := ParseURL(raw)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ParseURL(%q): %v, want something about %q", raw, err, word)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes the password: %v", err)
		}
	}
}

func TestOpenRefusesWhatIsNotPossible(t *testing.T) {
	tests := map[string]Options{
		"URL":              {URL: "http://h"},
		"prefix":           {URL: "redis://h", Prefix: "a{b}"},
		"pool size":        {URL: "redis://h", PoolSize: -1},
		"budget":           {URL: "redis://h", Budget: -1},
		"without it":       {URL: "redis://h", TLS: TLS{ServerName: "x"}},
		"no certificate":   {URL: "rediss://h", TLS: TLS{CA: []byte("x")}},
		"certificate and":  {URL: "rediss://h", TLS: TLS{Cert: []byte("x")}},
		"key":              {URL: "rediss://h", TLS: TLS{Key: []byte("x")}},
		"at least 1ms":     {URL: "redis://h", ReadTimeout: 1},
		"1 to 64":          {URL: "redis://h", Prefix: strings.Repeat("x", 65)},
		"of a Cluster end": {URL: "redis+cluster://h/1"},
	}
	for want, options := range tests {
		if s, err := Open(t.Context(), options); err == nil {
			t.Errorf("Open(%s) succeeds", want)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want something about %q", err, want)
		}
	}
}

// FuzzParseURL looks for a panic, and for an address that is none.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"redis://u:p%40@h:1/2", "rediss+sentinel://[::1]:5,b/m/0", "redis+cluster://a,b:7", "redis://@/", "redis://[",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := ParseURL(raw)
		if err != nil {
			return
		}
		for _, addr := range target.Addrs {
			if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
				t.Errorf("ParseURL(%q) has the address %q", raw, addr)
			}
		}
		if len(target.Addrs) == 0 || target.Cluster && target.DB != 0 {
			t.Errorf("ParseURL(%q) = %#v", raw, target)
		}
	})
}
