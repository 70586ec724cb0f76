package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

func TestLongReplaysAreAnnounced(t *testing.T) {
	laru := must.Get(policies.Registry.Parse("laru"))(t)
	gbm := must.Get(predict.Registry.Parse("gbm"))(t)
	const requests = 10_000_000
	duration := func(c Cell) time.Duration {
		if c.Predictor == nil {
			return requests * usualTime
		}
		return c.Predictor.Entry.Duration(gbm.Params, requests)
	}
	learned, plain := Cell{Parts: Parts{Policy: laru, Predictor: &gbm}},
		Cell{Parts: Parts{Policy: policies.Known("lru")}}
	note := LongNote([]Cell{learned, plain, learned}, 1, duration, requests)
	each := fmt.Sprintf("(laru with gbm: %.2g us per request)", 1e6*duration(learned).Seconds()/requests)
	for _, want := range []string{"about ", " min: 3 replays of 10,000,000 requests ", each} {
		if !strings.Contains(note, want) {
			t.Errorf("%q lacks %q", note, want)
		}
	}
	if note := LongNote([]Cell{plain, plain}, 1, duration, requests); note != "" {
		t.Errorf("two seconds are announced: %s", note)
	}
	if one, two := LongNote([]Cell{learned, learned}, 1, duration, requests),
		LongNote([]Cell{learned, learned}, 2, duration, requests); one == two {
		t.Errorf("two at a time take as long as one: %s", two)
	}
}

func TestAboutTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "1 min", 2*time.Hour - time.Minute: "119 min", 2 * time.Hour: "2 h", 50 * time.Hour: "50 h",
	} {
		if got := aboutTime(d); got != want {
			t.Errorf("%v is about %s, want %s", d, got, want)
		}
	}
}
