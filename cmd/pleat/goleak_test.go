package main

import (
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pleat-proxy/pleat/store/redisstore"
)

// actAsPleat is the variable that makes the test binary the real program: tests
// that kill a Pleat need a process of its own.
const actAsPleat = "PLEAT_TEST_ACT_AS_PLEAT"

func TestMain(m *testing.M) {
	if os.Getenv(actAsPleat) != "" {
		os.Exit(start())
	}
	redisstore.SendClientLog(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}
