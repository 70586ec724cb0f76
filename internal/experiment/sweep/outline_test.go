package sweep_test

import (
	"testing"
	"time"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// TestOutlineTakesNoTime: what an experiment would run is known from its file alone, without its traces, in less than a
// second.
func TestOutlineTakesNoTime(t *testing.T) {
	t.Setenv(workload.Env, t.TempDir())
	for _, name := range brief.SampleLong(8, configs.Names()...) {
		file := must.Get(experiment.Load(name))(t)
		full, _ := configs.Cells(name)
		begin := processor.Time()
		s := must.Get(sweep.Outline(file, t.TempDir(), "version"))(t)
		if took := processor.Time() - begin; took > time.Second {
			t.Errorf("%s: %s", name, took)
		}
		if len(s.Cells) != full {
			t.Errorf("%s: %d cells, want %d", name, len(s.Cells), full)
		}
	}
}
