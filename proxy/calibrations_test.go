package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pleat-proxy/pleat/compaction"
)

func TestCalibrationsAreShown(t *testing.T) {
	list := []compaction.Calibration{
		{Upstream: "llm.test:8000", Model: "local", Ratio: 1.7, Samples: 5},
		{Upstream: "llm.test:8000", Model: "new", Samples: 1},
	}
	c := NewCalibrations(func() []compaction.Calibration { return list })
	want := `
# HELP pleat_calibration_ratio Tokens that an upstream counts for one that Pleat counts, where Pleat can only estimate.
# TYPE pleat_calibration_ratio gauge
pleat_calibration_ratio{model="local",upstream="llm.test:8000"} 1.7
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	for i := range 3 * maxCalibrations {
		list = append(list, compaction.Calibration{Upstream: "u", Model: fmt.Sprint(i, "\xff"), Ratio: 1})
	}
	if n := testutil.CollectAndCount(c); n != maxCalibrations {
		t.Errorf("%d series, want %d", n, maxCalibrations)
	}
}
