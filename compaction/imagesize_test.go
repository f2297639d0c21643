package compaction

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// picture encodes an empty image of that size as the standard library does.
func picture(t testing.TB, format string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch m := image.NewGray(image.Rect(0, 0, width, height)); format {
	case "png":
		err = png.Encode(&b, m)
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withSegments puts segments before the first of a JPEG file, as cameras do.
func withSegments(file []byte, n, size int) []byte {
	out := append([]byte{}, file[:2]...)
	for range n {
		out = append(out, 0xff, 0xe1)
		out = binary.BigEndian.AppendUint16(out, uint16(size))
		out = append(out, make([]byte, size-2)...)
	}
	return append(out, file[2:]...)
}

// webp is the head of a WebP file whose first chunk is of that kind.
func webp(kind string, payload ...byte) []byte {
	out := append([]byte("RIFF\x00\x00\x00\x00WEBP"), kind...)
	return append(append(append(out, 0, 0, 0, 0), payload...), make([]byte, 30)...)
}

func dataOf(media string, file []byte) string {
	return `"data:` + media + ";base64," + base64.StdEncoding.EncodeToString(file) + `"`
}

func TestImageSize(t *testing.T) {
	tests := map[string]struct {
		file          []byte
		width, height int
	}{
		"png":              {picture(t, "png", 1234, 567), 1234, 567},
		"gif":              {picture(t, "gif", 321, 1), 321, 1},
		"jpeg":             {picture(t, "jpeg", 799, 601), 799, 601},
		"jpeg of a camera": {withSegments(picture(t, "jpeg", 4032, 3024), 3, 65_000), 4032, 3024},
		"webp, lossy":      {webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x20, 3, 0x90, 1), 800, 400},
		"webp, lossless":   {webp("VP8L", 0x2f, 0xff, 0xc0, 0x3f, 0), 256, 256},
		"webp, extended":   {webp("VP8X", 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0), 640, 480},

		"nothing":            {nil, 0, 0},
		"something else":     {[]byte("%PDF-1.7 and then some more of it"), 0, 0},
		"a png without size": {picture(t, "png", 10, 10)[:20], 0, 0},
		"a jpeg cut off":     {withSegments(picture(t, "jpeg", 10, 10), 1, 5000)[:3000], 0, 0},
		"a jpeg of segments": {withSegments(picture(t, "jpeg", 10, 10), 1000, 4), 0, 0},
		"no length in jpeg":  {append([]byte{0xff, 0xd8, 0xff, 0xe0}, make([]byte, 64)...), 0, 0},
	}
	for name, test := range tests {
		plain := dataOf("image/x", test.file)
		for spelling, raw := range map[string]string{"plain": plain, "escaped": strings.ReplaceAll(plain, "/", `\/`)} {
			if spelling == "escaped" && name == "jpeg of a camera" {
				continue // its size stands behind what is unescaped
			}
			if w, h := encodedData([]byte(raw)).imageSize(); w != test.width || h != test.height {
				t.Errorf("%s, %s: %d by %d, want %d by %d", name, spelling, w, h, test.width, test.height)
			}
		}
	}
}

// TestImagesInRequests: lesson 85. What an image costs is a matter of its size in
// pixels and of the model, not of how many characters its data have.
func TestImagesInRequests(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	url := dataOf("image/png", append(picture(t, "png", 800, 400), make([]byte, 3<<20)...))
	part := func(members string) string {
		return userSays(`[{"type":"text","text":"Look"},{"type":"image_url","image_url":` + members + `}]`)
	}
	bare := strings.Trim(strings.TrimPrefix(url, `"data:image/png;base64,`), `"`)
	tests := []struct {
		model, message string
		want           int // of the image
	}{
		{"gpt-4o", part(`{"url":` + url + `}`), 425},
		{"gpt-4o", part(url), 425},
		{"gpt-4o", part(`{"url":` + url + `,"detail":"low"}`), 85},
		{"gpt-4o", part(`{"url":"https://a.test/800x400.png"}`), 765},
		{"gpt-4.1-mini", part(`{"url":` + url + `}`), 527}, // 25 · 13 · 1.62
		{"claude-sonnet-4-5", part(`{"url":` + url + `}`), 427},
		{"gemini-2.5-flash", part(`{"url":` + url + `}`), 516},
		{"gpt-4o", userSays(`[{"type":"text","text":"Look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + bare + `"}}]`), 425},
	}
	for _, test := range tests {
		e := counter.For(test.model)
		text := tokens.MessageOverhead + e.Count("user") + e.Count("Look")
		if got := countedFor(t, test.model, test.message).tokens(0, e) - text; got != test.want {
			t.Errorf("%s: %d tokens for the image, want %d", test.model, got, test.want)
		}
	}
}

func TestSoundInRequests(t *testing.T) {
	counter, err := testCounter()
	if err != nil {
		t.Fatal(err)
	}
	wav := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"), 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0)
	wav = append(wav, make([]byte, 20*16_000-len(wav))...) // twenty seconds at 8 kHz
	data := base64.StdEncoding.EncodeToString(wav)
	for model, want := range map[string]int{"gpt-4o-audio-preview": 200, "gemini-2.5-flash": 640} {
		e := counter.For(model)
		message := userSays(`[{"type":"input_audio","input_audio":{"data":"` + data + `","format":"wav"}}]`)
		if got := countedFor(t, model, message).tokens(0, e) - tokens.MessageOverhead - e.Count("user"); got != want {
			t.Errorf("%s: %d tokens, want %d", model, got, want)
		}
	}
}

// FuzzImageSize: no data make it panic, read far or claim the impossible.
func FuzzImageSize(f *testing.F) {
	for _, format := range []string{"png", "gif", "jpeg"} {
		f.Add(dataOf("image/x", picture(f, format, 7, 9)))
	}
	f.Add(dataOf("image/webp", webp("VP8X", 1, 2, 3, 4, 5, 6, 7)))
	f.Add(`"data:image/png;base64,\/\/\/8=\\`)
	f.Add(strconv.Quote("iVBORw0KGgo"))
	f.Fuzz(func(t *testing.T, raw string) {
		if w, h := encodedData([]byte(raw)).imageSize(); w < 0 || h < 0 {
			t.Errorf("%d by %d", w, h)
		}
	})
}

// BenchmarkImageSize: the data themselves are not read.
func BenchmarkImageSize(b *testing.B) {
	raw := []byte(dataOf("image/jpeg", append(withSegments(picture(b, "jpeg", 640, 480), 4, 60_000), make([]byte, 20<<20)...)))
	b.ReportAllocs()
	for b.Loop() {
		if w, _ := encodedData(raw).imageSize(); w != 640 {
			b.Fatal(w)
		}
	}
}
