package ofprompts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Beside is a replay beside what a log says of the same prompts.
type Beside struct {
	Outcome  audit.Outcome
	Settings string   // as Settings returns it
	Parted   []Parted // the prompts where they differ most, these first
}

// Parted is a prompt of which server and replay found different tokens, all as the server counts them.
type Parted struct {
	Prompt     int   `json:"prompt"` // from 1
	Tokens     int64 `json:"tokens"`
	Measured   int64 `json:"measured"`
	Replayed   int64 `json:"replayed"`
	Difference int64 `json:"difference"` // measured - replayed
}

// Nearest returns which of some records is to be held beside its log: of the policy that comes first and follows no
// future, the one whose token hit ratio is nearest to what the log says. ok is false if none can be.
func Nearest(recs []records.Record) (at int, ok bool) {
	label, best := "", math.Inf(1)
	for i := range recs {
		r := &recs[i]
		if !r.Competes() || !r.Has(metric.LoggedTokenHitRatio) || !r.Has(prefix.TokenHitRatio) ||
			label != "" && r.Label != label {
			continue
		}
		apart := math.Abs(r.Float(prefix.TokenHitRatio) - r.Float(metric.LoggedTokenHitRatio))
		if label = r.Label; apart < best {
			at, best, ok = i, apart, true
		}
	}
	return at, ok
}

// mostFitted is up to how many blocks of prompts a capacity is looked for that nobody has named.
const mostFitted = 1 << 20

// Compare replays a cell on a trace, prompt by prompt, of which the first warm up and do not count. If the capacity is
// open, it looks for the one that is nearest to the log. ok is false for a cell whose prompts cannot be told apart.
func Compare(ctx context.Context, t *traces.Trace, c sim.Cell, warmup int, open bool) (b Beside, ok bool, err error) {
	if c.Model != nil || c.Router != nil || !cache.Can[cache.Replica](c.Cache.Entry) || len(t.Starts) > 0 {
		return b, false, nil
	}
	l := &Log{Load: func(context.Context, workload.Workload) (*traces.Trace, error) { return t, nil }}
	s := Setup{Cell: c}
	said := Settings(c)
	if open && warmup == 0 && t.SampleRate == 1 && len(t.Objects) <= mostFitted {
		f, err := l.fit(ctx, s, t)
		if err != nil {
			return b, false, err
		}
		s = s.scaled(f.Units)
		said = Settings(s.Cell) + ", the nearest capacity"
	}
	seen, err := l.replay(ctx, s)
	if err != nil {
		return b, false, err
	}
	seen.warmup = warmup
	return Beside{Outcome: seen.outcome(), Parted: seen.parted(), Settings: said}, true, nil
}

// Settings names what is replayed: "118 GiB with vllm".
func Settings(c sim.Cell) string {
	amount := show.Capacity(c.Capacity.Amount, c.Capacity.Unit())
	if c.Capacity.Unit() != show.Bytes {
		amount = show.Counted(c.Capacity.Amount, "block")
	}
	return amount + " with " + c.Policy.Name()
}

// parted returns the prompts where server and replay differ.
func (s *seen) parted() (all []Parted) {
	for i := range s.hits {
		if !s.says(i) {
			continue
		}
		if tokens, measured, replayed := s.item(i); measured != replayed {
			all = append(all, Parted{i + 1, tokens, measured, replayed, measured - replayed})
		}
	}
	slices.SortStableFunc(all, func(a, b Parted) int {
		return cmp.Compare(max(b.Difference, -b.Difference), max(a.Difference, -a.Difference))
	})
	return all
}

// Sentence says what the log measured and what the replay found.
func (b Beside) Sentence() string {
	o := b.Outcome
	apart := int64(math.Round(float64(o.Apart) / float64(max(1, o.Items))))
	return fmt.Sprintf("measured %.1f%%, replayed %.1f%% at %s, %s apart per prompt (why: cachesim audit)",
		100*o.HitRatio(), 100*o.ReplayedRatio(), b.Settings, show.Counted(apart, "token"))
}

// mostParted is how many prompts are listed.
const mostParted = 10

// Where says at which prompts they part.
func (b Beside) Where() string {
	if len(b.Parted) == 0 {
		return "Server and replay agree on each prompt"
	}
	text := "They part most at prompt"
	if len(b.Parted) > 1 {
		text += "s"
	}
	for k, p := range b.Parted[:min(3, len(b.Parted))] {
		server, replay := "", ""
		if k > 0 {
			text += ","
		} else {
			server, replay = " on the server", " in the replay"
		}
		text += fmt.Sprintf(" %s (%s%s and %s%s, of %s)", show.Count(int64(p.Prompt)), show.Count(p.Measured), server,
			show.Count(p.Replayed), replay, show.Counted(p.Tokens, "token"))
	}
	return text
}

// WriteCSV writes the prompts where they part most.
func (b Beside) WriteCSV(w io.Writer) error {
	return tabular.EachCSV(b.Parted[:min(mostParted, len(b.Parted))])(w)
}
