package compaction

import "bytes"

// attachment is what a part that is no text says of the data that it carries.
type attachment struct {
	name     string // the part's type, e.g. "image_url"
	media    string // media type or format, e.g. "image/png" or "wav"
	filename string
	detail   string // of an image: "low", "high" or "auto"
	inline   bool   // the data itself stands in the part
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
		a.inline = true
	}
	if media, ok := dataURL(raw); ok {
		a.inline = true
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
