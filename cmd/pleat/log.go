package main

import (
	"context"
	"io"
	"log/slog"
)

// newLogger returns the logger that the configuration asks for.
func newLogger(c LogConfig, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // cannot be: the option allows slog's own words only
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// proxyLogger is the logger of the relay, whose access lines are at level info
// where all went well and above it where not. With log.access off only the
// latter are left.
func proxyLogger(c LogConfig, log *slog.Logger) *slog.Logger {
	if c.Access {
		return log
	}
	return slog.New(atLeast{log.Handler(), slog.LevelWarn})
}

// atLeast is a handler that drops what is below a level.
type atLeast struct {
	slog.Handler

	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}
