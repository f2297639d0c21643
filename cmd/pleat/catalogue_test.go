package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-proxy/pleat/compaction/window"
)

const catalogueURL = "https://catalogue.example/models.json?token=hunter2"

// catalogueOf is a catalogue that says of the model m that it reads so much.
func catalogueOf(total int) string { return fmt.Sprintf(`{"m": {"max_input_tokens": %d}}`, total) }

// mirror answers requests from a script, one after the other, and notes them.
// What is asked beyond the script fails.
type mirror struct {
	answers []mirrorAnswer
	asked   []string // when it was asked, and with which ETag
	begun   time.Time
}

type mirrorAnswer struct {
	status int
	etag   string
	body   string
}

func (o *mirror) RoundTrip(r *http.Request) (*http.Response, error) {
	n := len(o.asked)
	o.asked = append(o.asked, strings.TrimSpace(spell(time.Since(o.begun))+" "+r.Header.Get("If-None-Match")))
	if n >= len(o.answers) || o.answers[n].status == 0 {
		return nil, errors.New("no route to host")
	}
	a := o.answers[n]
	return &http.Response{
		StatusCode: a.status, Status: fmt.Sprint(a.status, " ", http.StatusText(a.status)), Header: http.Header{"Etag": {a.etag}},
		Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

// keeperOf is a keeper whose catalogue's words can be read off the resolver.
func keeperOf(
	t *testing.T, source, cache string, transport http.RoundTripper,
) (*catalogueKeeper, *window.Resolver, *lockedBuffer) {
	t.Helper()
	r, err := window.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := new(lockedBuffer)
	c := WindowsConfig{Catalogue: source, CatalogueCache: cache}
	return newCatalogueKeeper(c, r, transport, slog.New(slog.NewTextHandler(log, nil))), r, log
}

// expectWindow holds what is believed of m.
func expectWindow(t *testing.T, r *window.Resolver, when string, total int) {
	t.Helper()
	if l := r.Lookup("m"); l.Total != total || total > 0 && l.Source != window.SourceFile {
		t.Errorf("%s: m has %+v, want %d", when, l, total)
	}
}

// during runs the keeper in a bubble for a while of its clock.
func during(k *catalogueKeeper, d time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { k.run(ctx); close(done) }()
	time.Sleep(d) //nolint:forbidigo // the clock of a bubble
	synctest.Wait()
	cancel()
	<-done
}

func TestCatalogueIsFetchedOnceADay(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "below", "catalogue")
	synctest.Test(t, func(t *testing.T) {
		o := &mirror{begun: time.Now(), answers: []mirrorAnswer{
			{200, `"v1"`, catalogueOf(1000)}, {304, `"v1"`, ""}, {200, `"v2"`, catalogueOf(2000)},
		}}
		k, r, log := keeperOf(t, catalogueURL, cache, o)
		k.restore()
		expectWindow(t, r, "before the first fetch", 0)
		during(k, time.Hour)
		expectWindow(t, r, "after the first fetch", 1000)

		// A restart takes what was kept and waits for the day to end.
		k, r, log2 := keeperOf(t, catalogueURL, cache, o)
		k.restore()
		expectWindow(t, r, "after a restart", 1000)
		during(k, 46*time.Hour)
		expectWindow(t, r, "confirmed", 1000)

		// So does one after the catalogue was confirmed: the day begins anew then.
		k, r, _ = keeperOf(t, catalogueURL, cache, o)
		k.restore()
		during(k, 3*time.Hour)
		expectWindow(t, r, "replaced", 2000)
		if want := []string{"0s", `24h "v1"`, `48h "v1"`}; !slices.Equal(o.asked, want) {
			t.Errorf("asked %q, want %q", o.asked, want)
		}
		for _, log := range []*lockedBuffer{log, log2} {
			if strings.Contains(log.String(), "WARN") || strings.Contains(log.String(), "hunter2") {
				t.Errorf("log: %s", log)
			}
		}
		data, err := os.ReadFile(cache)
		if err != nil || strings.Contains(string(data), "hunter2") || !strings.HasSuffix(string(data), catalogueOf(2000)) {
			t.Errorf("kept: %s, %v", data, err)
		}
	})
}

// TestWrongCatalogueNeverCounts: whatever the URL answers, the last good
// catalogue stays, and that is said once.
func TestWrongCatalogueNeverCounts(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "catalogue")
	synctest.Test(t, func(t *testing.T) {
		o := &mirror{begun: time.Now(), answers: []mirrorAnswer{
			{200, `"v1"`, catalogueOf(1000)},
			{200, `"v2"`, `<html>wrong</html>`}, // fetched, so not again for a day
			{500, "", ""}, {500, "", ""}, {},    // then after a minute, and after a restart
			{200, `"v3"`, catalogueOf(3000)},
		}}
		k, r, log := keeperOf(t, catalogueURL, cache, o)
		k.restore()
		during(k, 48*time.Hour+2*time.Minute) // up to the second failure
		expectWindow(t, r, "while it fails", 1000)
		if n := strings.Count(log.String(), "in_use=\"the last good one\""); n != 2 {
			t.Errorf("%d complaints, want 2:\n%s", n, log)
		}
		if strings.Contains(log.String(), "hunter2") {
			t.Error("the log shows a key")
		}

		k, r, _ = keeperOf(t, catalogueURL, cache, o)
		k.restore()
		expectWindow(t, r, "after a restart amid failures", 1000)
		during(k, 2*time.Hour)
		expectWindow(t, r, "well again", 3000)
		want := []string{"0s", `24h "v1"`, `48h "v1"`, `48h1m "v1"`}
		if !slices.Equal(o.asked[:4], want) {
			t.Errorf("asked %q, want %q first", o.asked, want)
		}
	})
}

func TestFirstFetchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &mirror{begun: time.Now(), answers: []mirrorAnswer{{}, {403, "", ""}, {200, "", catalogueOf(1000)}}}
		k, r, log := keeperOf(t, catalogueURL, filepath.Join(t.TempDir(), "catalogue"), o)
		k.restore()
		during(k, 10*time.Minute)
		expectWindow(t, r, "at last", 1000)
		if want := []string{"0s", "1m", "3m"}; !slices.Equal(o.asked, want) {
			t.Errorf("asked %q, want %q", o.asked, want)
		}
		for _, want := range []string{"no route to host", "the built-in one", "403 Forbidden", "can be used again"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
		}
	})
}

func TestCatalogueFileIsFollowed(t *testing.T) {
	dir := t.TempDir()
	path, cache := filepath.Join(dir, "models.json"), filepath.Join(dir, "catalogue")
	write := func(data string) {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		write(catalogueOf(1000))
		k, r, log := keeperOf(t, path, cache, nil)
		k.restore()
		expectWindow(t, r, "at the start", 1000)
		write(catalogueOf(20000))
		during(k, 2*time.Minute)
		expectWindow(t, r, "changed", 20000)
		write("{ cut off")
		during(k, time.Hour)
		expectWindow(t, r, "corrupt", 20000)
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, log)
		}
		if n := strings.Count(log.String(), "a new catalogue"); n != 2 {
			t.Errorf("it was read %d times, want 2:\n%s", n, log)
		}

		k, r, log = keeperOf(t, path, cache, nil) // a restart meets the corrupt file
		k.restore()
		expectWindow(t, r, "corrupt from the start", 20000)
		if !strings.Contains(log.String(), "the last good one") {
			t.Errorf("log: %s", log)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		during(k, time.Hour)
		expectWindow(t, r, "vanished", 20000)
		if n := strings.Count(log.String(), "no such file"); n != 1 {
			t.Errorf("%d complaints, want 1:\n%s", n, log)
		}
		write(catalogueOf(300))
		during(k, 2*time.Minute)
		expectWindow(t, r, "back again", 300)
	})
}

// TestWrongCacheNeverCounts: what is kept may be anybody's, or half of it.
func TestWrongCacheNeverCounts(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "catalogue")
	good := catalogueCache(cache)
	if err := good.save(catalogueURL, keptCatalogue{data: []byte(catalogueOf(1000))}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data   string
		source string
		warns  bool
	}{
		"good":                {string(whole), catalogueURL, false},
		"another source's":    {string(whole), catalogueURL + "2", false},
		"empty":               {"", catalogueURL, true},
		"half":                {string(whole[:len(whole)-5]), catalogueURL, true},
		"half a head":         {string(whole[:10]), catalogueURL, true},
		"another program's":   {catalogueOf(7), catalogueURL, true},
		"with strange fields": {"{\"source\": 7}\n" + catalogueOf(7), catalogueURL, true},
	} {
		if err := os.WriteFile(cache, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		k, r, log := keeperOf(t, c.source, cache, nil)
		k.restore()
		want := 0
		if name == "good" {
			want = 1000
		}
		expectWindow(t, r, name, want)
		if warned := strings.Contains(log.String(), "level=WARN"); warned != c.warns {
			t.Errorf("%s: warned is %t:\n%s", name, warned, log)
		}
	}
}

// TestCatalogueThatCannotBeKept is used all the same.
func TestCatalogueThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		o := &mirror{begun: time.Now(), answers: []mirrorAnswer{{200, `"v1"`, catalogueOf(1000)}, {304, "", ""}}}
		k, r, log := keeperOf(t, catalogueURL, filepath.Join(dir, "file", "catalogue"), o)
		k.restore()
		during(k, 25*time.Hour)
		expectWindow(t, r, "fetched", 1000)
		if !strings.Contains(log.String(), "not kept on disk") || len(o.asked) != 2 {
			t.Errorf("asked %q:\n%s", o.asked, log)
		}
	})
}

// TestCacheIsWrittenWhole: nothing but the file itself is left in its directory.
func TestCacheIsWrittenWhole(t *testing.T) {
	dir := t.TempDir()
	c := catalogueCache(filepath.Join(dir, "catalogue"))
	for range 3 {
		if err := c.save(catalogueURL, keptCatalogue{ETag: `"x"`, data: []byte(catalogueOf(1000))}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	kept, err := c.load(catalogueURL)
	if err != nil || kept.ETag != `"x"` || string(kept.data) != catalogueOf(1000) {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestServeWithAWrongCatalogue: it never stops Pleat, and the log says so.
func TestServeWithAWrongCatalogue(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.json")
	if err := os.WriteFile(wrong, []byte("no catalogue"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, catalogue := range []string{wrong, dir, filepath.Join(dir, "absent.json"), "http://127.0.0.1:1/refused.json"} {
		p := startPleat(t, jsonUpstream(t), "--catalogue="+catalogue, "--catalogue-cache="+filepath.Join(dir, "kept"))
		if res := p.postChat(t, chatBody); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", catalogue, res.Status)
		}
		p.stopAndWait()
		if !isURL(catalogue) && !strings.Contains(p.log.String(), "the catalogue cannot be used") { // a fetch may come later
			t.Errorf("%s: the log does not say so:\n%s", catalogue, p.log)
		}
	}
}
