package compaction

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if underRace {
		_ = flag.Set("rapid.checks", "15") // the command line still has the last word
	}
	goleak.VerifyTestMain(m)
}
