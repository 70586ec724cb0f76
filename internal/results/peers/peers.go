// Package peers reads the results of other simulators, so that their hit ratios can be compared with ours: the lines
// that libCacheSim prints, the CSV reports of Caffeine's simulator, and other tables with named columns. A policy that
// this program has, too, gets its name here; others keep theirs.
package peers

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// Options say what a file does not.
type Options struct {
	Trace        string // "" if the file names it
	Capacity     int64  // 0 if the file has it
	CapacityUnit string // "" if the file has it, or if capacities count objects
}

// Row is a result of another simulator. Its trace is "" and its capacity 0 if neither the file nor the options say it.
type Row struct {
	records.Record
	// Spread is how far the capacity may be from the number in the file, which was rounded to a unit; 0 if it is exact.
	Spread int64
	// Rounding is how far the values of metrics may be from the numbers in the file; those from counts are exact.
	Rounding map[string]float64
}

// Results are the rows of a file.
type Results struct {
	Rows   []Row
	Format string // what the file was recognised as
	// Combined says that the file repeats one metric of other reports of the same simulation.
	Combined bool
	// Sized says that the capacity is that in the name of the file.
	Sized    bool
	Near     []string // policies that are not exactly ours
	Unknown  []string // policies that we do not have
	Unused   []string // columns without a use here
	Others   int      // lines without a result
	Replaced int      // lines that a later one replaces
}

// Add adds the results of another file of the same program.
func (r *Results) Add(other *Results) {
	r.Rows = append(r.Rows, other.Rows...)
	if r.Format = cmp.Or(r.Format, other.Format); r.Format != other.Format {
		r.Format = "results of other simulators"
	}
	r.Sized = r.Sized || other.Sized
	r.Others, r.Replaced = r.Others+other.Others, r.Replaced+other.Replaced
	for _, lists := range []struct {
		to   *[]string
		from []string
	}{{&r.Near, other.Near}, {&r.Unknown, other.Unknown}, {&r.Unused, other.Unused}} {
		for _, name := range lists.from {
			addTo(lists.to, name)
		}
	}
}

// addTo adds a name to a list that does not have it.
func addTo(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// Notes says what was recognised, mapped, assumed or left out.
func (r *Results) Notes() (notes []string) {
	note := func(condition bool, format string, args ...any) {
		if condition {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(true, "%s, %s", r.Format, show.Counted(len(r.Rows), "row"))
	note(r.Sized, "the capacity is the number in the file's name")
	note(len(r.Unused) > 0, "columns without a use here: %s", suggest.List(r.Unused))
	note(r.Others > 0, "%s without a result", show.Counted(r.Others, "other line"))
	note(r.Replaced > 0, "%s replaced by a later one of the same trace, policy and capacity",
		show.Counted(r.Replaced, "line"))
	note(len(r.Near) > 0, "policies whose rules are not exactly ours: %s", suggest.List(r.Near))
	note(len(r.Unknown) > 0, "policies that are not among ours: %s", suggest.List(r.Unknown))
	return notes
}

// Parse recognises and reads the results in data. It is an error if they have no known form; the name of the file
// begins all errors.
func Parse(name string, data []byte, o Options) (*Results, error) {
	r, err := parse(name, data, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.nameTheirs()
	return r, nil
}

func parse(name string, data []byte, o Options) (*Results, error) {
	if !utf8.Valid(data) {
		return nil, errUnknown(data)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("empty; want %s", wanted)
	case hasResultLine(data):
		return parseLines(data, o)
	}
	return parseTable(name, data, o)
}

const wanted = "records of this program (JSON lines, CSV or Parquet), the lines that libCacheSim prints, a CSV " +
	"report of Caffeine's simulator, or CSV with a column policy"

// UnknownError says that data have no form that this package knows.
type UnknownError struct{ begin []byte }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("it begins with %q; want %s", e.begin, wanted)
}

// errUnknown quotes the first line, or its beginning.
func errUnknown(data []byte) error {
	line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	const most = 60
	if line = bytes.TrimRight(line, "\r"); len(line) > most {
		line = append(slices.Clone(line[:most]), "..."...)
	}
	return &UnknownError{line}
}

// newRow returns a row without values. A policy is as the file has it.
func newRow(policy string, o Options) Row {
	row := Row{Record: records.Record{
		Trace: o.Trace, Policy: policy, Label: policy, Kind: records.Online, Cache: "exact", SampleRate: 1,
		CapacityUnit: records.Objects,
	}}
	if o.CapacityUnit != "" {
		row.CapacityUnit = o.CapacityUnit
	}
	row.Capacity = o.Capacity
	return row
}

// setRounded sets a value that may differ from what the file has by rounding.
func (r *Row) setRounded(m metric.Metric, x, rounding float64) {
	if r.Rounding == nil {
		r.Rounding = map[string]float64{}
	}
	r.Set(m, x)
	r.Rounding[m.Name] = rounding
}

func (r *Row) setMisses(requests, misses int64) {
	r.SetInt(metric.Requests, requests)
	r.SetInt(metric.Misses, misses)
	r.SetInt(metric.Hits, requests-misses)
	r.Set(metric.HitRatio, metric.Divide(float64(requests-misses), float64(requests)))
}

// nameTheirs gives the rows the names of our policies. If two of theirs have one of ours, the second keeps its name.
func (r *Results) nameTheirs() {
	taken := map[string]string{} // their name by our label
	for i := range r.Rows {
		row := &r.Rows[i]
		theirs := row.Policy
		ours, known := lookUp(theirs, row.CapacityUnit)
		if first, isTaken := taken[ours.label]; isTaken && first != theirs {
			known = false
		} else if known {
			taken[ours.label] = theirs
		}
		switch {
		case !known:
			addTo(&r.Unknown, theirs)
			if knowsFuture(theirs) {
				row.Kind = records.Offline
			}
			continue
		case ours.near:
			addTo(&r.Near, theirs)
		}
		row.Label = ours.label
		row.Policy, _, _ = strings.Cut(ours.label, "(")
		row.Kind = ours.kind
	}
}

// ours is a policy of this program that has another name elsewhere.
type ours struct {
	label string // with parameters, as records have it
	near  bool   // the same policy, with details that give other counts
	kind  string
}

func same(label string) ours    { return ours{label: label, kind: records.Online} }
func near(label string) ours    { return ours{label: label, kind: records.Online, near: true} }
func offline(label string) ours { return ours{label: label, kind: records.Offline} }

// policies are the names of others for policies of this program, in lower case. docs/references.md says which have
// equal counts; tests there hold them.
var policies = map[string]ours{
	// libCacheSim
	"lru": same("lru"), "fifo": same("fifo"), "clock": same("clock"), "clock-2": same("clock(bits=2)"),
	"sieve": same("sieve"), "lfu": same("lfu"), "twoq": same("2q"), "gdsf": same("gdsf"),
	"arc": same("arc"), "s2lru(50:50)": same("slru"), "s4lru(25:25:25:25)": same("slru(segments=4)"),
	"s3fifo-0.1000-2": same("s3fifo"), "belady": offline("opt"),
	"lirs":       same("lirs(stack=2,rule=libcachesim)"),
	"beladysize": {label: "belady-size", kind: records.Offline, near: true},
	"random":     near("random"), "randomtwo": near("2-random(low=1,items=1)"), "lhd": near("lhd"),
	"lecar": near("lecar"), "cacheus": near("cacheus"), "lfuda": near("lfu-da"),
	"hyperbolic": near("hyperbolic(leeway=1)"), "size": same("size(ties=heap)"), "cr_lfu": same("cr-lfu"),
	"lru_prob_0.500000": near("lru-prob"), "sr_lru": near("sr-lru"),
	"fifo_merge_frequency": near("fifo-merge"),
	"wtinylfu-w0.01-slru":  near("w-tinylfu"), "wtinylfu-w0.10-slru": near("w-tinylfu(window=0.1)"),

	// Caffeine's simulator
	"linked.lru": same("lru"), "linked.fifo": same("fifo"), "linked.mru": same("mru"), "linked.lfu": same("lfu"),
	"linked.sieve": same("sieve"), "linked.clock": same("clock(rule=caffeine)"),
	"linked.multiqueue":   same("mq(lifetime=75,ghost=0.5)"),
	"linked.segmentedlru": same("slru(protected=0.8,rule=caffeine)"),
	"linked.s4lru":        same("slru(segments=4,rule=caffeine)"),
	"linked.lru_tinylfu":  near("tinylfu(rule=simulator)"),
	"two-queue.twoqueue":  same("2q"), "two-queue.s3fifo": same("s3fifo(rule=caffeine)"),
	"adaptive.arc": same("arc(int=true)"), "adaptive.car": same("car(int=true)"), "adaptive.cacheus": near("cacheus"),
	"irr.lirs": same("lirs(nonresident=2,rule=caffeine)"), "greedy-dual.gdsf": same("gdsf(rule=caffeine)"),
	"irr.lirs2": same("lirs2"), "greedy-dual.camp": same("camp"), "greedy-dual.gdwheel": same("gdwheel(cost=one)"),
	"sketch.windowtinylfu (1%)": near("w-tinylfu(rule=simulator)"), "sampled.random": near("random"),
	"opt.clairvoyant": offline("opt-bypass"), "opt.unbounded": same("infinite"),

	// as papers write them
	"s3-fifo": near("s3fifo"), "s3fifo": near("s3fifo"), "2q": near("2q"), "lru-k": near("lru-k"), "min": offline("opt"),
	"opt": offline("opt"), "w-tinylfu": near("w-tinylfu"), "tinylfu": near("tinylfu"), "slru": near("slru"),
	"lfu-da": near("lfu-da"), "car": near("car"), "mq": near("mq"), "mru": same("mru"),
}

// inBytes are the policies of libCacheSim that have other rules where capacities count bytes.
var inBytes = map[string]ours{
	"arc":                same("arc(rule=libcachesim)"),
	"s2lru(50:50)":       same("slru(rule=libcachesim)"),
	"s4lru(25:25:25:25)": same("slru(segments=4,rule=libcachesim)"),
	"hyperbolic":         near("hyperbolic(leeway=1,sized=false)"),
}

// lookUp returns our policy for a name in another program's results.
func lookUp(name, unit string) (o ours, ok bool) {
	name = strings.ToLower(name)
	if o, ok = inBytes[name]; ok && unit == records.Bytes {
		return o, true
	}
	o, ok = policies[name]
	return o, ok
}

// knowsFuture reports whether a name is that of a policy which sees the whole trace.
func knowsFuture(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "belady") || strings.Contains(name, "clairvoyant")
}
