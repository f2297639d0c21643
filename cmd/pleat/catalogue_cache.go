package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// catalogueCache is the file in which the last good catalogue is kept: a line
// that says what it is, and below it the catalogue as it came. Whole files are
// put in its place, so that replicas may share it. "" is no file.
type catalogueCache string

// newCatalogueCache returns the configured file, else one in the user's cache
// directory, else none: a container may have neither.
func newCatalogueCache(path string) catalogueCache {
	if path != "" {
		return catalogueCache(path)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return catalogueCache(filepath.Join(dir, "pleat", "catalogue"))
}

// keptCatalogue is a catalogue and where it comes from.
type keptCatalogue struct {
	Source  string    `json:"source"` // a hash: a URL may hold a key
	ETag    string    `json:"etag,omitempty"`
	Fetched time.Time `json:"fetched"`

	data   []byte
	models int
}

func hashed(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:16])
}

// load returns what is kept of the source, or an error that is
// os.ErrNotExist where nothing is.
func (c catalogueCache) load(source string) (keptCatalogue, error) {
	var kept keptCatalogue
	if c == "" {
		return kept, os.ErrNotExist
	}
	file, err := readCatalogue(string(c))
	if err != nil {
		return kept, err
	}
	head, data, found := bytes.Cut(file, []byte("\n"))
	if !found || json.Unmarshal(head, &kept) != nil {
		return keptCatalogue{}, errors.New("not a file that Pleat wrote")
	}
	if kept.Source != hashed(source) {
		return keptCatalogue{}, os.ErrNotExist // another catalogue's
	}
	kept.data = data
	return kept, nil
}

// save puts the catalogue in the file's place: whoever reads meets the old one
// or the new one, never a part.
func (c catalogueCache) save(source string, kept keptCatalogue) error {
	if c == "" {
		return errors.New("there is no cache directory (catalogue_cache names a file)")
	}
	kept.Source = hashed(source)
	head, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	dir := filepath.Dir(string(c))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cause(err)
	}
	file, err := os.CreateTemp(dir, filepath.Base(string(c))+".*.tmp")
	if err != nil {
		return cause(err)
	}
	_, err = file.Write(append(append(head, '\n'), kept.data...))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), string(c))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // nothing more can be done about it
	}
	return err
}
