package proxy

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var errUnknownEncoding = errors.New("no decoder for this content encoding")

// maxWindow is the largest zstd window that is decoded, in bytes: what
// RFC 9659 lets a sender of HTTP content use.
const maxWindow = 8 << 20

// codecs are the content encodings that Pleat can read, gzip and zstd, with
// their decoders kept for reuse. The zero value is ready for use.
type codecs struct{ gzips, zstds sync.Pool }

// open returns a decoder that reads from r. Its Close gives it back and
// leaves r open.
func (c *codecs) open(encoding string, r io.Reader) (io.ReadCloser, error) {
	switch encoding {
	case "gzip", "x-gzip":
		return c.openGzip(r)
	case "zstd":
		return c.openZstd(r)
	}
	return nil, errUnknownEncoding
}

func (c *codecs) openGzip(r io.Reader) (io.ReadCloser, error) {
	d, ok := c.gzips.Get().(*gzip.Reader)
	if !ok {
		d = new(gzip.Reader)
	}
	if err := d.Reset(r); err != nil {
		c.gzips.Put(d)
		return nil, err
	}
	return &decoder{d, func() { c.gzips.Put(d) }}, nil
}

func (c *codecs) openZstd(r io.Reader) (io.ReadCloser, error) {
	d, ok := c.zstds.Get().(*zstd.Decoder)
	if !ok {
		var err error
		// One decoder at a time means no goroutine to look after.
		d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
	}
	if err := d.Reset(r); err != nil {
		return nil, err
	}
	return &decoder{d, func() {
		if d.Reset(nil) == nil {
			c.zstds.Put(d)
		}
	}}, nil
}

type decoder struct {
	io.Reader
	giveBack func()
}

func (d *decoder) Close() error {
	d.giveBack()
	return nil
}

// narrowEncodings returns what of an Accept-Encoding header both the client
// and Pleat can read, in the client's order and with its weights, or
// "identity" if there is nothing. A wildcard stands for what Pleat reads and
// the header does not name.
func narrowEncodings(header []string) string {
	var kept []string
	var gzipNamed, zstdNamed, wildcard bool
	for item := range strings.SplitSeq(strings.Join(header, ","), ",") {
		item = strings.TrimSpace(item)
		name, weight, _ := strings.Cut(item, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		gzipNamed = gzipNamed || name == "gzip"
		zstdNamed = zstdNamed || name == "zstd"
		switch {
		case refused(weight):
		case name == "gzip" || name == "zstd":
			kept = append(kept, item)
		case name == "*":
			wildcard = true
		}
	}
	if wildcard && !gzipNamed {
		kept = append(kept, "gzip")
	}
	if wildcard && !zstdNamed {
		kept = append(kept, "zstd")
	}
	if len(kept) == 0 {
		return "identity"
	}
	return strings.Join(kept, ", ")
}

// refused reports whether the parameter is q=0, in any of its spellings.
func refused(weight string) bool {
	name, value, _ := strings.Cut(weight, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q <= 0
}
