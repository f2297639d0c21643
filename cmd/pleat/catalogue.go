package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/compaction/window"
)

// When a catalogue is looked at again.
const (
	catalogueLife    = 24 * time.Hour  // a URL is not fetched again before
	catalogueRetry   = time.Minute     // after a fetch that failed; doubled with each, to catalogueLife
	cataloguePoll    = time.Minute     // how often a file is looked at for a change
	catalogueTimeout = 2 * time.Minute // of one fetch
	maxCatalogue     = 64 * mib
)

// catalogueKeeper keeps a catalogue file in use: it reads or fetches it, keeps
// the last good one on disk, and stays with that when a new one is wrong.
type catalogueKeeper struct {
	source string // a path or a URL
	cache  catalogueCache
	use    func(*window.Catalogue)
	client *http.Client
	log    *slog.Logger

	kept  keptCatalogue // what is in use, without its data
	seen  fileState     // of the source, where it is a file
	grief string        // the last failure that was told, so that it is told once
}

// newCatalogueKeeper returns nil where no catalogue is configured.
func newCatalogueKeeper(
	c WindowsConfig, r *window.Resolver, transport http.RoundTripper, log *slog.Logger,
) *catalogueKeeper {
	if c.Catalogue == "" {
		return nil
	}
	return &catalogueKeeper{
		source: c.Catalogue, cache: newCatalogueCache(c.CatalogueCache), use: r.SetCatalogue,
		client: &http.Client{Transport: transport, Timeout: catalogueTimeout},
		log:    log.With("catalogue", withoutSecrets(c.Catalogue)),
	}
}

// isURL tells a catalogue's URL from a path.
func isURL(source string) bool { return strings.Contains(source, "://") }

// restore takes the last good catalogue from disk, and a file's content if it
// is good.
func (k *catalogueKeeper) restore() {
	kept, err := k.cache.load(k.source)
	if err == nil {
		err = k.take(kept)
	}
	switch {
	case err == nil:
		k.log.Info("the catalogue is in use as it was kept", "models", k.kept.models, "fetched", k.kept.Fetched)
	case !errors.Is(err, os.ErrNotExist):
		k.log.Warn("the kept catalogue cannot be used", "cause", cause(err))
	}
	if !isURL(k.source) {
		k.reread()
	}
}

// run looks for a newer catalogue until ctx ends.
func (k *catalogueKeeper) run(ctx context.Context) {
	if !isURL(k.source) {
		for sleep(ctx, cataloguePoll) {
			k.reread()
		}
		return
	}
	retry := catalogueRetry
	wait := min(time.Until(k.kept.Fetched.Add(catalogueLife)), catalogueLife)
	for sleep(ctx, wait) {
		switch err := k.fetch(ctx); {
		case err == nil:
			wait, retry = catalogueLife, catalogueRetry
		case ctx.Err() != nil:
			return
		default:
			k.complain(err)
			wait, retry = retry, min(2*retry, catalogueLife)
			if _, wrong := errors.AsType[catalogueError](err); wrong {
				wait, retry = catalogueLife, catalogueRetry // it was fetched, whatever it is
			}
		}
	}
}

// fileState is what tells whether a file has changed.
type fileState struct {
	size     int64
	modified time.Time
	problem  string
}

// reread reads the source's file if it has changed since it was last looked at.
func (k *catalogueKeeper) reread() {
	var now fileState
	info, err := os.Stat(k.source)
	if err == nil {
		now = fileState{size: info.Size(), modified: info.ModTime()}
	} else {
		now = fileState{problem: err.Error()}
	}
	if now == k.seen {
		return
	}
	k.seen = now
	data, err := readCatalogue(k.source)
	if err != nil {
		k.complain(cause(err))
		return
	}
	if err := k.replace(keptCatalogue{Fetched: info.ModTime(), data: data}); err != nil {
		k.complain(err)
	}
}

// readCatalogue reads a file of bearable size.
func readCatalogue(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator says which file
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return bounded(file)
}

func bounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCatalogue+1))
	if err == nil && len(data) > maxCatalogue {
		err = errors.New("larger than " + spellSize(maxCatalogue))
	}
	return data, err
}

// fetch asks the source's URL for a catalogue that is newer than the one in use.
func (k *catalogueKeeper) fetch(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.source, http.NoBody)
	if err != nil {
		return errors.New("no request can be made for it")
	}
	r.Header.Set("User-Agent", userAgent())
	if k.kept.ETag != "" {
		r.Header.Set("If-None-Match", k.kept.ETag)
	}
	res, err := k.client.Do(r)
	if err != nil {
		return reachError(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	now := time.Now()
	switch {
	case res.StatusCode == http.StatusNotModified && k.kept.models > 0:
		return k.confirm(now)
	case res.StatusCode != http.StatusOK:
		return errors.New("the answer was " + res.Status)
	}
	data, err := bounded(res.Body)
	if err != nil {
		return reachError(err)
	}
	return k.replace(keptCatalogue{ETag: res.Header.Get("ETag"), Fetched: now, data: data})
}

// confirm notes that the catalogue in use is still the newest.
func (k *catalogueKeeper) confirm(now time.Time) error {
	k.kept.Fetched = now
	k.soothe()
	kept, err := k.cache.load(k.source)
	if err != nil {
		return nil //nolint:nilerr // it is not on disk, which was told when it was to be written
	}
	kept.Fetched = now
	k.save(kept)
	return nil
}

// catalogueError is a catalogue that arrived and is of no use.
type catalogueError struct{ error }

// replace uses a new catalogue if it is good, and keeps it on disk.
func (k *catalogueKeeper) replace(kept keptCatalogue) error {
	if err := k.take(kept); err != nil {
		return catalogueError{err}
	}
	k.soothe()
	k.log.Info("a new catalogue is in use", "models", k.kept.models)
	k.save(kept)
	return nil
}

// take uses a catalogue if it is good.
func (k *catalogueKeeper) take(kept keptCatalogue) error {
	c, err := window.ParseCatalogue(kept.data)
	if err != nil {
		return err
	}
	k.use(c)
	k.kept = kept
	k.kept.data, k.kept.models = nil, c.Len()
	return nil
}

func (k *catalogueKeeper) save(kept keptCatalogue) {
	if err := k.cache.save(k.source, kept); err != nil {
		k.log.Warn("the catalogue is in use but not kept on disk", "cause", err)
	}
}

// complain tells of a failure, once until something else happens.
func (k *catalogueKeeper) complain(err error) {
	if err.Error() == k.grief {
		return
	}
	k.grief = err.Error()
	fallback := "the built-in one"
	if k.kept.models > 0 {
		fallback = "the last good one"
	}
	k.log.Warn("the catalogue cannot be used", "cause", err, "in_use", fallback)
}

// soothe ends a complaint.
func (k *catalogueKeeper) soothe() {
	if k.grief != "" {
		k.log.Info("the catalogue can be used again")
	}
	k.grief = ""
}
