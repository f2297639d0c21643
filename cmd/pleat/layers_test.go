package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// edge is one import of one file.
type edge struct{ file, from, imported string }

// readEdges returns the imports of all files of a source tree but the tests',
// whatever their build constraints. Where os is imported for its errors alone
// (os.ErrDeadlineExceeded is what a connection past its deadline reports), that
// is none.
func readEdges(t *testing.T, tree fs.FS) []edge {
	t.Helper()
	var edges []edge
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if base == "testdata" || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) == ".go" && !strings.HasSuffix(base, "_test.go") {
			edges = append(edges, fileEdges(t, tree, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

func fileEdges(t *testing.T, tree fs.FS, name string) []edge {
	t.Helper()
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var edges []edge
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if own, ok := strings.CutPrefix(imported, module); ok && (own == "" || own[0] == '/') {
			imported = "." + own
		}
		if imported != "os" || !errorsAlone(file) {
			edges = append(edges, edge{name, "./" + path.Dir(name), imported})
		}
	}
	return edges
}

// errorsAlone reports whether a file that imports os takes nothing of it but
// errors.
func errorsAlone(file *ast.File) bool {
	alone, used := true, false
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "os" {
				used = true
				alone = alone && strings.HasPrefix(selector.Sel.Name, "Err")
			}
		}
		return true
	})
	return used && alone
}

func TestErrorsOfOSAreNoImportOfIt(t *testing.T) {
	tests := map[string]int{
		"var err = os.ErrDeadlineExceeded":                                              0,
		"var err, file = os.ErrClosed, os.Stdout":                                       1,
		"func read() { _, _ = os.ReadFile(os.Args[0]) }":                                1,
		"type options struct{ os string }\nfunc (o options) x() string { return o.os }": 1,
	}
	for code, want := range tests {
		tree := fstest.MapFS{"proxy/a.go": {Data: []byte("package a\n\nimport \"os\"\n\n" + code + "\n")}}
		if got := readEdges(t, tree); len(got) != want {
			t.Errorf("%s: imports %v, want %d", code, got, want)
		}
	}
}

func TestLayers(t *testing.T) {
	edges := readEdges(t, os.DirFS("../.."))
	for _, e := range edges {
		if why := breaks(layers(), e.from, e.imported); why != "" {
			t.Errorf("%s imports %s: %s", e.file, e.imported, why)
		}
	}
	if !slices.ContainsFunc(edges, func(e edge) bool {
		return e.from == "./store/memstore" && e.imported == "./store"
	}) {
		t.Error("the import of store by store/memstore was not seen: the tree was not read")
	}
}

// TestLayersFindPlantedImports plants imports in a tree and expects just those
// that break a rule to be found, and each rule to be broken by one of them.
func TestLayersFindPlantedImports(t *testing.T) {
	tests := []struct {
		file, imported string
		breaks         bool
	}{
		{"cmd/pleat/a.go", module + "/proxy", false},
		{"cmd/pleat/a.go", module + "/store/memstore", false},
		{"cmd/pleat/a.go", module + "/proxy/scripted", false},
		{"cmd/pleat/a.go", "os/signal", false},
		{"cmd/pleat/a.go", module + "/store/storetest", true},
		{"cmd/pleat/a.go", "net/http/httptest", true},
		{"cmd/pleat/a.go", "github.com/redis/go-redis/v9", true},

		{"proxy/a.go", module + "/compaction", false},
		{"proxy/a.go", "github.com/go-chi/chi/v5", false},
		{"proxy/a.go", "github.com/prometheus/client_golang/prometheus", false},
		{"proxy/a.go", "net/http/httputil", false},
		{"proxy/a.go", module + "/cmd/pleat", true},
		{"proxy/a.go", module + "/compaction/tokens", true},
		{"proxy/a.go", module + "/proxy/scripted", true},
		{"proxy/a.go", "os", true},
		{"proxy/a_test.go", "os", false},
		{"proxy/a_test.go", module + "/proxy/scripted", false},
		{"proxy/testdata/a.go", "os", false},
		{"proxy/scripted/a.go", module + "/compaction/tokens", false},
		{"proxy/scripted/a.go", module + "/compaction", true},

		{"compaction/a.go", module + "/store", false},
		{"compaction/a.go", module + "/compaction/window", false},
		{"compaction/a.go", "net/http", false},
		{"compaction/a.go", module + "/proxy", true},
		{"compaction/a.go", module + "/store/memstore", true},
		{"compaction/a.go", module + "/compaction/openai", true},
		{"compaction/a.go", "net/http/httputil", true},
		{"compaction/a.go", "github.com/prometheus/client_golang/prometheus", true},
		{"compaction/a.go", "github.com/spf13/cobra", true},
		{"compaction/a.go", "github.com/pkoukk/tiktoken-go", true},
		{"compaction/a.go", "charm.land/catwalk/pkg/embedded", true},
		{"compaction/openai/a.go", module + "/compaction", false},
		{"compaction/tokens/a.go", "github.com/pkoukk/tiktoken-go", false},
		{"compaction/tokens/a.go", module + "/compaction", true},
		{"compaction/window/a.go", "charm.land/catwalk/pkg/embedded", false},
		{"compaction/window/a.go", module + "/compaction/tokens", true},
		{"compaction/overflow/a.go", module + "/store", true},

		{"store/a.go", "time", false},
		{"store/a.go", module + "/compaction", true},
		{"store/memstore/a.go", "net/http", true},
		{"store/memstore/a.go", module + "/store/redisstore", true},
		{"store/redisstore/a.go", module + "/store", false},
		{"store/redisstore/a.go", "github.com/redis/go-redis/v9", false},
		{"store/redisstore/a.go", "os", true},
		{"store/redisstore/a.go", module + "/store/redisstore/redistest", true},
		{"store/redisstore/a_test.go", module + "/store/redisstore/redistest", false},
		{"store/redisstore/redistest/a.go", "os/exec", false},
		{"store/redisstore/redistest/a.go", "github.com/redis/go-redis/v9", false},
		{"store/redisstore/redistest/a.go", "testing", false},
		{"store/storetest/a.go", "testing", false},
	}
	unbroken := layers()
	for _, test := range tests {
		tree := fstest.MapFS{test.file: {Data: []byte("package a\n\nimport _ " + strconv.Quote(test.imported) + "\n")}}
		broken := false
		for _, e := range readEdges(t, tree) {
			broken = broken || breaks(layers(), e.from, e.imported) != ""
			unbroken = slices.DeleteFunc(unbroken, func(r rule) bool {
				return breaks([]rule{r}, e.from, e.imported) != ""
			})
		}
		if broken != test.breaks {
			t.Errorf("%s imports %s: breaks a rule is %t, want %t", test.file, test.imported, broken, test.breaks)
		}
	}
	for _, r := range unbroken {
		t.Errorf("no import was planted against this rule: %v must not import %v", r.in, r.forbid)
	}
}
