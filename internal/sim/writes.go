package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/traces"
)

// Tally is what a replay counted.
type Tally = feed.Tally

// checkLabels rejects parts whose hits cannot be counted by labels.
func checkLabels(c Cell, t *traces.Trace) error {
	switch {
	case t.Labels == nil:
		return nil
	case c.Model != nil:
		return fmt.Errorf("--by %s: the model %s serves requests on a clock of its own, and does not count their hits by "+
			"labels; remove the model", t.Labels.Column, c.Model.Name())
	case c.Router != nil:
		return fmt.Errorf("--by %s: hits on several nodes are not counted by labels; remove --nodes", t.Labels.Column)
	case cache.ServesHeads(c.Cache):
		return fmt.Errorf("--by %s: the heads of a language model have no labels", t.Labels.Column)
	}
	return nil
}

// checkWrites rejects parts that cannot replay what writes, deletions and times to live do in a trace.
func checkWrites(c Cell, t *traces.Trace) error {
	if len(t.Removals) == 0 && !t.Fills() && t.Written.Passing == 0 {
		return nil
	}
	what := fmt.Sprintf("cannot follow what takes objects out of a cache, or fills it (%s: %s)", t.Name, t.Written.Text())
	const instead = "read the trace with --writes count, without deletions (the option ops=accesses of its format) and " +
		"without times to live"
	switch {
	case c.Model != nil:
		return fmt.Errorf("model %s serves requests on a clock of its own, and %s; remove the model, or %s",
			c.Model.Name(), what, instead)
	case !cache.Can[cache.Dropping](c.Cache.Entry):
		return fmt.Errorf("cache %s serves groups of requests as a whole, and %s; use the exact cache, or %s",
			c.Cache.Name(), what, instead)
	}
	return nil
}
