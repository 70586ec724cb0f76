package auditing

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// longLog is a log of which the first half of the requests are to object 0 and hit, and which is read once more as a
// sample without that object.
type longLog struct{ Inputs }

func (longLog) Quiet() bool { return true }

func (longLog) Load(_ *cobra.Command, w workload.Workload, _ read.Options) (*traces.Trace, error) {
	const n = 2 * mostRequests
	t := &traces.Trace{Name: "long.log", Objects: make([]uint32, n), Served: make([]stream.Served, n), NumObjects: n}
	for pos := range n {
		t.Served[pos] = stream.ServedHit
		if pos >= n/2 {
			t.Objects[pos], t.Served[pos] = uint32(pos), stream.ServedMiss
		}
	}
	if w.SampleRate > 0 {
		t.Objects, t.Served = t.Objects[n/2:], t.Served[n/2:]
	}
	return t, nil
}

// TestTheWholeLogIsCounted: what a long log says is counted before a sample of it is taken.
func TestTheWholeLogIsCounted(t *testing.T) {
	f := &flags{Inputs: longLog{}}
	sample, s, err := f.load(&cobra.Command{}, audit.Setup{}, read.Options{})
	must.Do(t, err)
	if len(sample.Objects) != mostRequests || s.Workload.SampleRate != 0.5 {
		t.Errorf("%d requests at rate %g", len(sample.Objects), s.Workload.SampleRate)
	}
	if f.said.HitRatio() != 0.5 || f.said.Units != 2*mostRequests {
		t.Errorf("the log says %g of %d", f.said.HitRatio(), f.said.Units)
	}
}
