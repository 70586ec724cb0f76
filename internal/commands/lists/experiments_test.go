package lists

import (
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// unplannable is an experiment that no one can plan: its policy and its generator do not exist.
const unplannable = `
title: t
source: s
policies: [no-such-policy]
capacities: [no number]
traces:
- {name: a, generate: no-such-generator}
- {name: b, file: no-such-file}
- {name: c, generate: no-such-generator, with: {size: [1, 2]}}
claims:
- claim: no claim
- {claim: another, note: n}
quick: {traces: [a, b]}
`

// A list plans no cells: it has what the file says and the numbers of configs/cells.tsv. Planning all experiments takes
// seconds.
func TestListsPlanNothing(t *testing.T) {
	full, quick := configs.Cells("classic-block")
	for _, test := range []struct {
		quick  bool
		cells  int
		traces []string
	}{{false, full, []string{"a", "c"}}, {true, quick, []string{"a"}}} {
		l := must.Get(newExperimentJSON("classic-block", []byte(unplannable), test.quick))(t)
		if l.Title != "t" || l.Source != "s" || l.Claims != 2 || l.Cells != test.cells || l.Cells == 0 ||
			!slices.Equal(l.Traces, test.traces) || !slices.Equal(l.MissingTraces, []string{"b"}) {
			t.Errorf("quick %v: %+v", test.quick, l)
		}
	}
}

// Every experiment is listed with what its file says.
func TestExperimentsAreListed(t *testing.T) {
	list := must.Get(Experiments(configs.Papers(), false))(t)
	for i, item := range list.Items {
		l := item.JSON.(experimentJSON)
		if l.Name != configs.Papers()[i] || l.Title == "" || l.Source == "" || l.Cells == 0 || l.Claims == 0 ||
			l.Seconds == 0 || l.QuickSeconds == 0 || l.MeasuredOn == "" || len(l.Traces)+len(l.MissingTraces) == 0 {
			t.Errorf("%+v", l)
		}
		var whole struct {
			Title  string     `yaml:"title"`
			Source string     `yaml:"source"`
			Claims []struct{} `yaml:"claims"`
		}
		must.Do(t, yaml.Unmarshal(configs.Text(l.Name), &whole))
		if l.Title != whole.Title || l.Source != whole.Source || l.Claims != len(whole.Claims) {
			t.Errorf("%+v, but its file has %d claims, the title %q and the source %q", l, len(whole.Claims), whole.Title,
				whole.Source)
		}
	}
}

func TestMinutesHaveTwoDigits(t *testing.T) {
	for seconds, want := range map[float64]string{0: "", 1: "<0.1", 6: "0.1", 90: "1.5", 596: "9.9", 599: "10",
		3780: "63"} {
		if got := minutes(seconds); got != want {
			t.Errorf("%v s: %q, want %q", seconds, got, want)
		}
	}
}
