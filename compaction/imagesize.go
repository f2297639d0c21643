package compaction

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
)

// encoded is data in base64, of which pieces are decoded as they are needed.
type encoded []byte

// escapedHead is how much is unescaped of data that is spelled with JSON
// escapes (some write every slash as \/), in bytes.
const escapedHead = 8 << 10

// encodedData returns the data of a JSON string, given with its quotes: what
// follows the comma of a data: URL, or all of it.
func encodedData(raw []byte) encoded {
	if len(raw) < 2 {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if head := raw[:min(len(raw), escapedHead)]; bytes.IndexByte(head, '\\') >= 0 {
		for len(head) > 0 && head[len(head)-1] == '\\' {
			head = head[:len(head)-1]
		}
		raw = bytes.ReplaceAll(head, []byte(`\/`), []byte("/"))
	}
	if bytes.HasPrefix(raw, []byte("data:")) {
		comma := bytes.IndexByte(raw[:min(len(raw), wordBytes)], ',')
		if comma < 0 {
			return nil
		}
		raw = raw[comma+1:]
	}
	return encoded(raw)
}

// size is about how many bytes the data has.
func (e encoded) size() int { return len(e) / 4 * 3 }

// at decodes n bytes of the data, from an offset on; nil if they are not there.
func (e encoded) at(offset, n int) []byte {
	from, to := offset/3*4, (offset+n+2)/3*4
	if offset < 0 || to > len(e) {
		return nil
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(to-from))
	got, err := base64.StdEncoding.Decode(out, e[from:to])
	skip := offset % 3
	if err != nil || got < skip+n {
		return nil
	}
	return out[skip : skip+n]
}

// imageHead is how many bytes tell the size of all kinds of images but JPEG.
const imageHead = 30

// maxSide is the longest side of a PNG image, in pixels (W3C, PNG, 11.2.1).
const maxSide = 1<<31 - 1

// imageSize reads width and height, in pixels, from the head of a PNG, GIF, WebP
// or JPEG file. The image itself is not decoded. Zero: not known.
func (e encoded) imageSize() (width, height int) {
	little, big := binary.LittleEndian, binary.BigEndian
	h := e.at(0, imageHead)
	if h == nil {
		return 0, 0
	}
	switch {
	case string(h[:8]) == "\x89PNG\r\n\x1a\n" && string(h[12:16]) == "IHDR":
		return int(big.Uint32(h[16:]) & maxSide), int(big.Uint32(h[20:]) & maxSide)
	case string(h[:4]) == "GIF8":
		return int(little.Uint16(h[6:])), int(little.Uint16(h[8:]))
	case string(h[:2]) == "\xff\xd8":
		return e.jpegSize()
	case string(h[:4]) == "RIFF" && string(h[8:12]) == "WEBP":
		return webpSize(h)
	}
	return 0, 0
}

// webpSize reads the first chunk of a WebP file (RFC 9649): lossy, lossless or
// extended.
func webpSize(h []byte) (width, height int) {
	little := binary.LittleEndian
	switch string(h[12:16]) {
	case "VP8 ":
		return int(little.Uint16(h[26:]) & 0x3fff), int(little.Uint16(h[28:]) & 0x3fff)
	case "VP8L":
		bits := little.Uint32(h[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(little.Uint32(h[24:])&0xffffff) + 1, int(little.Uint32(h[26:])>>8) + 1
	}
	return 0, 0
}

// maxSegments bounds how many segments of a JPEG file are passed for the one
// that tells its size. Cameras write a dozen.
const maxSegments = 64

// jpegSize looks for the frame header of a JPEG file (ITU T.81, B.2.2) behind
// the segments that cameras put before it.
func (e encoded) jpegSize() (width, height int) {
	offset := 2
	for range maxSegments {
		h := e.at(offset, 9)
		if h == nil || h[0] != 0xff {
			return 0, 0
		}
		switch kind := h[1]; {
		case kind == 0xff: // padding
			offset++
		case kind == 0x01 || kind >= 0xd0 && kind <= 0xd7: // stand alone
			offset += 2
		case kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc:
			return int(binary.BigEndian.Uint16(h[7:])), int(binary.BigEndian.Uint16(h[5:]))
		default:
			offset += 2 + int(binary.BigEndian.Uint16(h[2:]))
		}
	}
	return 0, 0
}
