package compaction

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// attachment is what a part that is no text says of the data that it carries.
type attachment struct {
	name     string // the part's type, e.g. "image_url"
	media    string // media type or format, e.g. "image/png" or "wav"
	filename string
	detail   string // of an image: "low", "high" or "auto"
	inline   bool   // the data itself stands in the part
	data     encoded
}

// wordBytes bounds each word of an attachment, in bytes.
const wordBytes = 128

// attachment reads what the part says of its data, in its own members and in
// those of the objects among them.
func (p part) attachment(body []byte) attachment {
	var a attachment
	s := scanner{text: body, limit: maxDepth}
	s.again(p.span)
	if s.peek() == '{' {
		_ = s.object(func(key []byte) error { // it was read once already
			if s.peek() != '{' {
				return a.read(&s, key)
			}
			return s.object(func(key []byte) error { return a.read(&s, key) })
		})
	}
	return a
}

func (a *attachment) read(s *scanner, key []byte) error {
	at, err := s.ifString()
	if err != nil || at.len() == 0 {
		return err
	}
	raw := at.in(s.text)
	switch string(key) {
	case "type":
		if a.name == "" {
			a.name = short(raw)
		}
	case "format", "media_type", "mime_type":
		a.media = short(raw)
	case "filename", "file_name":
		a.filename = short(raw)
	case "detail":
		a.detail = short(raw)
	case "data", "file_data":
		a.inline, a.data = true, encodedData(raw)
	}
	if media, ok := dataURL(raw); ok {
		a.inline, a.data = true, encodedData(raw)
		if media != "" {
			a.media = media
		}
	}
	return nil
}

// short returns the text of a JSON string if it is short.
func short(raw []byte) string {
	if len(raw) > wordBytes {
		return ""
	}
	return string(decoded(raw))
}

// dataURL reports whether a JSON string is a data: URL (RFC 2397), and the
// media type that it names. The data is not looked at.
func dataURL(raw []byte) (media string, ok bool) {
	const scheme = `"data:`
	if !bytes.HasPrefix(raw, []byte(scheme)) {
		return "", false
	}
	head := raw[len(scheme):min(len(raw), wordBytes)]
	if i := bytes.IndexAny(head, ";,"); i >= 0 {
		media = string(appendDecoded(nil, head[:i]))
	}
	return media, true
}

// tokens is what the data cost a model. An image counts by its size, sound by
// its length, a file by about as many pages as it has bytes for: the encoded
// data are no text, whatever their length. Data that only a URL or an id names
// count as an image of 1024 by 1024, a minute, a page.
func (a *attachment) tokens(k kind, m tokens.Media) int {
	switch k {
	case kindImage:
		width, height := a.data.imageSize()
		return m.Image(width, height, a.detail)
	case kindAudio:
		return a.seconds() * m.AudioSecond()
	default:
		return a.pages() * tokens.FileTokens
	}
}

// About how many bytes a second of sound takes, by what the format is mostly
// used at: 16-bit mono at 24 kHz, 128 and 32 kbit/s, and half of a CD's rate.
const (
	secondPCM  = 48_000
	secondMP3  = 16_000
	secondOpus = 4_000
	secondFLAC = 88_200
	minute     = 60
)

// seconds is how long sound lasts, at least one second; a minute if it is
// elsewhere.
func (a *attachment) seconds() int {
	if len(a.data) == 0 {
		return minute
	}
	rate := secondMP3
	switch strings.TrimPrefix(a.media, "audio/") {
	case "wav", "x-wav", "wave":
		rate = secondPCM
		if h := a.data.at(0, 32); h != nil && string(h[:4]) == "RIFF" {
			// The average bytes a second, which the format chunk states.
			if n := binary.LittleEndian.Uint32(h[28:]); n > 0 && n < 1<<24 {
				rate = int(n)
			}
		}
	case "pcm16", "pcm", "aiff":
		rate = secondPCM
	case "opus", "ogg", "webm":
		rate = secondOpus
	case "flac":
		rate = secondFLAC
	}
	return max(1, (a.data.size()+rate/2)/rate)
}

// Bytes to a page of a file, about the mean of PDF files that hold text and
// pictures, and the most pages that a file is taken for: makers take a hundred.
const (
	pageBytes = 100_000
	maxPages  = 100
)

func (a *attachment) pages() int {
	return min(1+a.data.size()/pageBytes, maxPages)
}
