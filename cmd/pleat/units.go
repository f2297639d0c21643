package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Sizes in bytes.
const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// within says which end of the range a number misses.
func within[T int | int64 | time.Duration](n, least, most T) error {
	switch {
	case n < least:
		return errors.New("too small")
	case n > most:
		return errors.New("too large")
	}
	return nil
}

// parseSize reads a number of bytes, bare or in KiB, MiB or GiB.
func parseSize(text string) (int64, error) {
	digits, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"KiB": kib, "MiB": mib, "GiB": gib} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = strings.TrimSpace(d), bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n > maxSize/unit || n < -maxSize/unit):
		return 0, errors.New("out of range")
	case err != nil:
		return 0, errors.New("not a whole number of bytes, KiB, MiB or GiB")
	}
	return n * unit, nil
}

// maxSize is the largest number of bytes that is read at all; ranges end far
// below.
const maxSize = 1 << 60

// spellSize writes a number of bytes in its largest whole unit.
func spellSize(n int64) string {
	switch {
	case n%gib == 0 && n > 0:
		return strconv.FormatInt(n/gib, 10) + "GiB"
	case n%mib == 0 && n > 0:
		return strconv.FormatInt(n/mib, 10) + "MiB"
	case n%kib == 0 && n > 0:
		return strconv.FormatInt(n/kib, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// spell writes a duration without the zeros that time.Duration adds: 1h, not
// 1h0m0s.
func spell(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
