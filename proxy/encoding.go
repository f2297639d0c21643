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
// the header does not name. A client that refuses identity has its refusal
// kept; if nothing else is left, the header is returned whole: what comes is
// then relayed unread.
func narrowEncodings(header []string) string {
	whole := strings.Join(header, ",")
	var kept []string
	var refusal string
	var wildcard bool
	named := map[string]bool{}
	for item := range strings.SplitSeq(whole, ",") {
		item = strings.TrimSpace(item)
		name, weight, _ := strings.Cut(item, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		no := refused(weight)
		switch {
		case no && (name == "identity" || name == "*" && !named["identity"]):
			refusal = item
		case name == "identity":
			refusal = "" // it is named, so a refusal of all others is none of it
		case name == "*":
			wildcard = !no
		case !no && (name == "gzip" || name == "zstd"):
			kept = append(kept, item)
		}
		named[name] = true
	}
	for _, name := range []string{"gzip", "zstd"} {
		if wildcard && !named[name] {
			kept = append(kept, name)
		}
	}
	switch {
	case len(kept) > 0 && refusal != "":
		return strings.Join(append(kept, refusal), ", ")
	case len(kept) > 0:
		return strings.Join(kept, ", ")
	case refusal != "":
		return whole
	}
	return "identity"
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
