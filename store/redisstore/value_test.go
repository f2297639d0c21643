package redisstore

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func TestCodec(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	text := []byte(foldText(1))
	values := map[string][]byte{
		"empty": {}, "short": []byte("a"), "text": text, "noise": noise(1000), "large": bytes.Repeat(text, 100),
	}
	for name, value := range values {
		for _, life := range []time.Duration{time.Millisecond, time.Second, 720 * time.Hour, maxLife} {
			stored, err := c.encode(value, life)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(stored) > headerBytes+len(value) {
				t.Errorf("%s grew from %d to %d bytes", name, len(value), len(stored))
			}
			got, left, err := c.decode(string(stored))
			if err != nil || !bytes.Equal(got, value) || left != life {
				t.Errorf("%s: %d bytes for %v came back as %d for %v, %v", name, len(value), life, len(got), left, err)
			}
		}
	}
	if stored, err := c.encode(text, time.Hour); err != nil || len(stored) > len(text)*2/3 {
		t.Errorf("a fold of %d bytes is stored in %d, %v", len(text), len(stored), err)
	}
}

// noise does not compress.
func noise(n int) []byte {
	out := make([]byte, n)
	state := uint32(1)
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = byte(state >> 24)
	}
	return out
}

func TestCodecRefuses(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	bomb, err := c.encode(make([]byte, maxValue), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.encode(make([]byte, maxValue+1), time.Hour); !errors.Is(err, ErrValue) {
		t.Errorf("a value above the bound: %v", err)
	}
	for _, stored := range []string{
		"", "x", "\x01\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00a", "\x03\x00\x00\x00\x00\x00a", "\x02\x00\x00\x00\x00\x00a",
		string(bomb[:len(bomb)-1]),
	} {
		if _, _, err := c.decode(stored); !errors.Is(err, ErrValue) {
			t.Errorf("decode(%.10q): %v, want %v", stored, err, ErrValue)
		}
	}
}
