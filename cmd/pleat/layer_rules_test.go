package main

import (
	"slices"
	"strings"
)

// module is the path of this module. In what follows its packages are written
// from "./": ./store is the package store, os is the one of the standard
// library. As for the go command, x/... is x and everything below it.
const module = "github.com/pleat-proxy/pleat"

// rule forbids some packages some imports. Test files may import what they like.
type rule struct {
	in     []string // the packages that it binds
	except []string // but not these of them
	forbid []string // what they must not import
	allow  []string // but these of it they may
	why    string
}

// layers is the import rule of docs/design.md.
func layers() []rule {
	return append(ownLayers(), foreignCode()...)
}

// ownLayers says how the packages of Pleat may import each other.
func ownLayers() []rule {
	return []rule{
		{
			in:     []string{"./store/..."},
			forbid: []string{"./compaction/...", "./proxy/...", "./cmd/..."},
			why:    "imports run cmd → proxy → compaction → store",
		},
		{
			in:     []string{"./compaction/..."},
			forbid: []string{"./proxy/...", "./cmd/..."},
			why:    "imports run cmd → proxy → compaction → store",
		},
		{
			in:     []string{"./proxy/..."},
			forbid: []string{"./cmd/..."},
			why:    "imports run cmd → proxy → compaction → store",
		},
		{
			in:     []string{"./compaction/tokens", "./compaction/window", "./compaction/overflow"},
			forbid: []string{"./..."},
			why:    "they are leaves: what counts, knows or recognises needs nothing of Pleat",
		},
		{
			in:     []string{"./proxy"},
			forbid: []string{"./compaction/..."},
			allow:  []string{"./compaction"},
			why:    "compaction offers proxy what it needs of its parts",
		},
		{
			in:     []string{"./proxy/scripted"},
			forbid: []string{"./..."},
			allow:  []string{"./compaction/tokens"},
			why:    "it plays the provider, who shares nothing with Pleat but how tokens are counted",
		},
		{
			in:     []string{"./..."},
			except: []string{"./cmd/..."},
			forbid: []string{"./compaction/openai", "./proxy/scripted"},
			why:    "only cmd joins them to what they serve; all others meet them through an interface",
		},
		{
			in:     []string{"./..."},
			except: []string{"./cmd/..."},
			forbid: []string{"./store/..."},
			allow:  []string{"./store"},
			why:    "only cmd knows which backend it is; all others know the contract",
		},
		{
			in:     []string{"./..."},
			forbid: []string{"./store/storetest", "./store/redisstore/redistest"},
			why:    "it is for tests",
		},
	}
}

// foreignCode says which packages may use what is not Pleat's own.
func foreignCode() []rule {
	return []rule{
		{
			in:     []string{"./..."},
			except: []string{"./cmd/...", "./store/redisstore/redistest"}, // which starts Redis for tests
			forbid: []string{"os/...", "flag"},
			why:    "only cmd knows files, flags, signals and the environment",
		},
		{
			in:     []string{"./..."},
			except: []string{"./cmd/...", "./proxy/..."},
			forbid: []string{
				"net/http/httputil", "net/http/pprof",
				"github.com/go-chi/chi/...", "github.com/prometheus/...",
			},
			why: "only proxy serves HTTP and counts what it served",
		},
		{
			in:     []string{"./store/..."},
			forbid: []string{"net/http/..."},
			why:    "a store keeps bytes and speaks no HTTP",
		},
		{
			in:     []string{"./..."},
			except: []string{"./compaction/tokens"},
			forbid: []string{"github.com/pkoukk/..."},
			why:    "only tokens knows how text is cut into tokens",
		},
		{
			in:     []string{"./..."},
			except: []string{"./compaction/window"},
			forbid: []string{"charm.land/catwalk/..."},
			why:    "only window knows the catalogue of models",
		},
		{
			in:     []string{"./..."},
			except: []string{"./store/redisstore/..."},
			forbid: []string{"github.com/redis/..."},
			why:    "only redisstore speaks with Redis",
		},
		{
			in:     []string{"./..."},
			except: []string{"./cmd/..."},
			forbid: []string{"github.com/spf13/...", "github.com/goccy/go-yaml/...", "github.com/openai/..."},
			why:    "only cmd reads options, and plays a client in the demo",
		},
		{
			in:     []string{"./..."},
			except: []string{"./store/storetest", "./store/redisstore/redistest"},
			forbid: []string{
				"testing/...", "net/http/httptest",
				"go.uber.org/goleak", "pgregory.net/rapid", "github.com/coder/websocket/...",
			},
			why: "it is for tests, and has no place in the binary",
		},
	}
}

// breaks returns why a package must not import another, or "" if it may.
func breaks(rules []rule, from, imported string) string {
	for _, r := range rules {
		if matches(r.in, from) && !matches(r.except, from) &&
			matches(r.forbid, imported) && !matches(r.allow, imported) {
			return r.why
		}
	}
	return ""
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parent, below := strings.CutSuffix(pattern, "/...")
		return name == parent || below && strings.HasPrefix(name, parent+"/")
	})
}
