package redisstore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// headerBytes come before a value's content: one byte that says how the
	// content is written, and the time to live that the value was put with, in
	// milliseconds, big-endian in five bytes (34 years). The lookup script reads
	// them.
	headerBytes = 1 + lifeBytes
	lifeBytes   = 5
	maxLife     = time.Duration(1<<40-1) * time.Millisecond

	formPlain = 1 // the content as it is
	formZstd  = 2 // one Zstandard frame

	// compressAbove is the content, in bytes, that compression is tried on.
	// Summaries in JSON shrink to about a half.
	compressAbove = 256

	// maxValue bounds the content of a value, in bytes: a fold's is tens of
	// kilobytes.
	maxValue = 16 << 20

	// window is how far back compression looks, in bytes. It bounds what an
	// encoder takes.
	window = 128 << 10
)

// codec writes and reads values. It is safe for concurrent use.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (*codec, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("redis: zstd: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxValue),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("redis: zstd: %w", err)
	}
	return &codec{encoder, decoder}, nil
}

func (c *codec) close() {
	// Without a writer there is nothing to flush.
	_ = c.encoder.Close()
	c.decoder.Close()
}

// encode returns what is stored for a value, which it does not keep.
func (c *codec) encode(value []byte, life time.Duration) ([]byte, error) {
	if len(value) > maxValue {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are stored", ErrValue, len(value), maxValue)
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(milliseconds(min(life, maxLife)))) //nolint:gosec // it is at least 1
	out := append(make([]byte, 0, headerBytes+len(value)), formPlain)
	out = append(out, ms[len(ms)-lifeBytes:]...)
	if len(value) > compressAbove {
		out = c.encoder.EncodeAll(value, out)
		if len(out) < headerBytes+len(value) {
			out[0] = formZstd
			return out, nil
		}
	}
	return append(out[:headerBytes], value...), nil
}

// decode undoes encode.
func (c *codec) decode(stored string) (value []byte, life time.Duration, err error) {
	if len(stored) < headerBytes {
		return nil, 0, fmt.Errorf("%w: %d bytes", ErrValue, len(stored))
	}
	var ms int64
	for _, b := range []byte(stored[1:headerBytes]) {
		ms = ms<<8 | int64(b)
	}
	life = time.Duration(ms) * time.Millisecond
	content := []byte(stored[headerBytes:])
	switch stored[0] {
	case formPlain:
		return content, life, nil
	case formZstd:
		value, err := c.decoder.DecodeAll(content, nil)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrValue, err)
		}
		return value, life, nil
	default:
		return nil, 0, fmt.Errorf("%w: form %d", ErrValue, stored[0])
	}
}
