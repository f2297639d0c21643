package proxy

import "testing"

func TestNarrowEncodings(t *testing.T) {
	for accept, want := range map[string]string{
		"gzip":                            "gzip",
		"gzip, deflate, br, zstd":         "gzip, zstd",
		"zstd;q=0.5, GZIP ; q=1":          "zstd;q=0.5, GZIP ; q=1",
		"br":                              "identity",
		"":                                "identity",
		"identity":                        "identity",
		"gzip;q=0, zstd;q=0.000":          "identity",
		"gzip; Q = 0, br":                 "identity",
		"*":                               "gzip, zstd",
		"*;q=0":                           "*;q=0",
		"br, identity;q=0":                "br, identity;q=0",
		"br, *;q=0":                       "br, *;q=0",
		"br, *;q=0, identity":             "identity",
		"br, identity, *;q=0":             "identity",
		"gzip, br, identity;q=0":          "gzip, identity;q=0",
		"*, identity;q=0":                 "gzip, zstd, identity;q=0",
		"gzip;q=0, *":                     "zstd",
		"br;q=1.0, gzip;q=0.8, *;q=0.1":   "gzip;q=0.8, zstd",
		"gzip;q=nonsense":                 "gzip;q=nonsense",
		",, ,":                            "identity",
		"gzipped, x-gzip, zstd2, deflate": "identity",
	} {
		if got := narrowEncodings([]string{accept}); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
	if got := narrowEncodings([]string{"br", "zstd", "gzip"}); got != "zstd, gzip" {
		t.Errorf("several headers: %q", got)
	}
}

// A client that refuses identity must not be made to ask for it.
func TestIdentityRefused(t *testing.T) {
	for _, in := range []string{"br, identity;q=0", "br, *;q=0"} {
		if got := narrowEncodings([]string{in}); got == "identity" {
			t.Errorf("narrowEncodings(%q) = %q", in, got)
		}
	}
}
