package proxy

import (
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/pleat-proxy/pleat/compaction"
)

// maxInflated is how many bytes of a compressed response are inflated for
// reading its usage. An answer that is longer is relayed all the same.
const maxInflated = 64 << 20

// tap is a response's body that is read in passing: every byte goes to the
// caller as it came, and a copy to a scanner that keeps only the few numbers
// that it looks for. Nothing that the scanner meets can fail the response.
type tap struct {
	io.ReadCloser

	scan    *responseScanner
	inflate *pushDecoder // nil for a body that is not compressed
}

func newTap(res *http.Response, c *codecs) *tap {
	t := &tap{ReadCloser: res.Body, scan: new(responseScanner)}
	encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding")))
	if encoding != "" && encoding != "identity" {
		t.inflate = newPushDecoder(c, encoding, t.scan.write)
	}
	return t
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		t.look(p[:n])
	}
	return n, err
}

// look shows bytes to the scanner. Should it ever panic, it sees no more.
func (t *tap) look(p []byte) {
	if t.scan == nil {
		return
	}
	defer func() {
		if recover() != nil {
			t.scan = nil
		}
	}()
	if t.inflate != nil {
		t.inflate.write(p)
		return
	}
	t.scan.write(p)
}

// finish ends the reading and returns the usage that the response stated.
func (t *tap) finish() compaction.Usage {
	if t.inflate != nil {
		t.inflate.close()
	}
	if t.scan == nil {
		return compaction.Usage{}
	}
	return t.scan.doc.usage
}

// pushDecoder is a decoder that is handed its input instead of asking for it.
// It is a coroutine: it runs only inside write and close, on the caller's
// time, and so needs neither a lock nor a bound on what waits for it.
type pushDecoder struct {
	in   []byte
	next func() (struct{}, bool)
	stop func()
}

func newPushDecoder(c *codecs, encoding string, out func([]byte)) *pushDecoder {
	d := new(pushDecoder)
	d.next, d.stop = iter.Pull(func(yield func(struct{}) bool) {
		source := readerFunc(func(p []byte) (int, error) {
			for len(d.in) == 0 {
				if !yield(struct{}{}) {
					return 0, io.EOF
				}
			}
			n := copy(p, d.in)
			d.in = d.in[n:]
			return n, nil
		})
		decoder, err := c.open(encoding, source)
		if err != nil {
			return
		}
		defer func() { _ = decoder.Close() }() // always nil
		_, _ = io.Copy(writerFunc(out), io.LimitReader(decoder, maxInflated))
	})
	return d
}

// write decodes what p completes. After the stream's end, or an error in it,
// it does nothing.
func (d *pushDecoder) write(p []byte) {
	d.in = p
	d.next()
	d.in = nil
}

func (d *pushDecoder) close() { d.stop() }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
