package compare

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/peers"
)

// Source says where the results of a run are, and what they do not say themselves.
type Source struct {
	Path string // of a file or a folder; "-" for standard input
	Name string // of the run; "" for one made of Path
	peers.Options
}

var options = []string{"name", "trace", "capacity"}

// optionsOf matches a path with options: caffeine.csv:trace=oltp,capacity=1000.
var optionsOf = regexp.MustCompile(`^(.+?):(\w+=.*)$`)

// ParseSource parses PATH or PATH:OPTIONS. Options are name=TEXT, which names the run in tables, and, for results that
// do not say them, trace=NAME and capacity=N (objects) or 64MiB (bytes).
func ParseSource(text string) (s Source, err error) {
	parts := optionsOf.FindStringSubmatch(text)
	if parts == nil || exists(text) {
		return Source{Path: text}, nil
	}
	s.Path = parts[1]
	for option := range strings.SplitSeq(parts[2], ",") {
		key, value, ok := strings.Cut(option, "=")
		if !ok || value == "" {
			return s, fmt.Errorf("%q: option %q has no value; want KEY=VALUE, for example trace=oltp", text, option)
		}
		switch key {
		case "name":
			s.Name = value
		case "trace":
			s.Trace = value
		case "capacity":
			err = s.setCapacity(value)
		default:
			err = suggest.Unknown("option", key, options)
		}
		if err != nil {
			return s, fmt.Errorf("%q: %w", text, err)
		}
	}
	return s, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// setCapacity parses 1000, which counts objects, or 64MiB.
func (s *Source) setCapacity(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		s.CapacityUnit = records.Objects
	} else if n, err = capacity.ParseBytes(text); err == nil {
		s.CapacityUnit = records.Bytes
	} else {
		return fmt.Errorf("capacity %w; or a number of objects", err)
	}
	if n <= 0 {
		return fmt.Errorf("capacity %q: want at least 1", text)
	}
	s.Capacity = n
	return nil
}

// result is a record, with how exact it is.
type result struct {
	peers.Row
	run *Run
}

type Run struct {
	Name    string
	Notes   []string // how the source was read
	path    string
	results []*result
	pool    []*result // results before --only policy, among which a baseline policy is found
	theirs  bool      // of another simulator
}

func (r *Run) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *Run) add(name string, recs []records.Record) {
	for _, note := range []string{records.WithoutDigest(name, recs), records.Incomplete(name, recs)} {
		if note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	for i := range recs {
		r.results = append(r.results, &result{Row: peers.Row{Record: recs[i]}, run: r})
	}
}

func (r *Run) addTheirs(name string, theirs *peers.Results) {
	r.theirs = true
	for _, note := range theirs.Notes() {
		r.note("%s: %s", name, note)
	}
	for i := range theirs.Rows {
		r.results = append(r.results, &result{Row: theirs.Rows[i], run: r})
	}
}

// recordsOf returns the records of all results of runs.
func recordsOf(runs ...*Run) (recs []records.Record) {
	for _, r := range runs {
		for _, res := range r.results {
			recs = append(recs, res.Record)
		}
	}
	return recs
}

// tracesOf returns the names of the traces of results, without repetitions, in order of first appearance.
func tracesOf(results []*result) []string {
	names := records.Distinct(results, func(res *result) string { return res.Trace })
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// nameTraces gives the results of this program the name of the trace that the source was given.
func (r *Run) nameTraces(name string) error {
	if found := tracesOf(r.results); len(found) > 1 {
		return fmt.Errorf("%s: trace=%s names one trace, and its results are on %d: %s", r.path, name, len(found),
			suggest.List(found))
	}
	for _, res := range r.results {
		res.Trace = name
	}
	return nil
}

var errNothing = errors.New("no results")
