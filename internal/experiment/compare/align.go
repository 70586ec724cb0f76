package compare

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// nameRuns gives each run a name of its own: the one that the user gave it, or else the end of its path.
func nameRuns(runs []*Run) {
	paths := func(parts int) (names []string) {
		for _, r := range runs {
			if r.Name != "" {
				names = append(names, r.Name)
			} else {
				names = append(names, endOf(r.path, parts))
			}
		}
		return names
	}
	names := paths(1)
	for parts := 2; parts < 8 && len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names); parts++ {
		names = paths(parts)
	}
	for i, r := range runs {
		if r.Name = names[i]; slices.Contains(names[:i], r.Name) {
			r.Name = fmt.Sprintf("%s (%d)", r.Name, i+1)
		}
	}
}

// endOf returns the last parts of a path, without the ending of a file. The file in a folder that run -o wrote is
// called like the folder.
func endOf(path string, parts int) string {
	if path == "-" {
		return "stdin"
	}
	path = filepath.ToSlash(filepath.Clean(path))
	if abs, err := filepath.Abs(path); err == nil && strings.HasPrefix(path, ".") {
		path = filepath.ToSlash(abs)
	}
	all := strings.Split(path, "/")
	last := len(all) - 1
	if last > 0 && all[last-1] != "" && slices.Contains(records.FileNames(), all[last]) {
		all = all[:last]
	} else {
		all[last] = strings.TrimSuffix(all[last], filepath.Ext(all[last]))
	}
	return strings.Join(all[max(0, len(all)-parts):], "/")
}

// align completes the results of other simulators from the runs that they are compared with: traces and capacities that
// they omit or round, and our policies with other parameters. It notes what it adds.
func align(runs []*Run) error {
	for _, r := range runs {
		if !r.theirs {
			continue
		}
		var others []*result
		for _, other := range runs {
			if other != r {
				others = append(others, other.results...)
			}
		}
		a := aligner{r, others}
		a.traces()
		a.capacities()
		a.policies()
		a.seeds()
		if err := r.checkComplete(); err != nil {
			return err
		}
	}
	return nil
}

type aligner struct {
	*Run
	others []*result // of the other runs
}

// compressed are the endings that a trace has in one program's results and not in another's.
var compressed = []string{".zst", ".gz", ".xz", ".bz2", ".lz4", ".br"}

func plainName(trace string) string {
	if slices.Contains(compressed, filepath.Ext(trace)) {
		return strings.TrimSuffix(trace, filepath.Ext(trace))
	}
	return trace
}

// traces names the traces as the others do. A trace without a name is the only one of the others.
func (a aligner) traces() {
	names := tracesOf(a.others)
	byPlainName := map[string]string{}
	for _, name := range slices.Backward(names) { // the first of several stays
		byPlainName[plainName(name)] = name
	}
	renamed := map[string]string{}
	for _, theirs := range tracesOf(a.results) {
		name, ok := byPlainName[plainName(theirs)]
		if ok && name != theirs && !slices.Contains(names, theirs) {
			renamed[theirs] = name
		}
	}
	if len(names) == 1 && slices.ContainsFunc(a.results, func(res *result) bool { return res.Trace == "" }) {
		renamed[""] = names[0]
		a.note("%s: no trace is named; taken to be %s", a.path, names[0])
	}
	for _, res := range a.results {
		if name, ok := renamed[res.Trace]; ok {
			res.Trace = name
		}
	}
	delete(renamed, "")
	if len(renamed) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(renamed)))
		text := fmt.Sprintf("%s: %s is taken to be %s", a.path, first, renamed[first])
		if more := len(renamed) - 1; more > 0 {
			text += fmt.Sprintf(", and %s likewise", show.Counted(more, "more trace"))
		}
		a.note("%s", text)
	}
}

// size identifies the capacities of one unit on one trace.
type size struct{ trace, unit string }

// capacities replaces rounded capacities by the only ones of the others that they may be.
func (a aligner) capacities() {
	exact := map[size]map[int64]bool{}
	for _, o := range a.others {
		at := size{o.Trace, o.CapacityUnit}
		if exact[at] == nil {
			exact[at] = map[int64]bool{}
		}
		if o.Spread == 0 {
			exact[at][o.Capacity] = true
		}
	}
	moved := 0
	for _, res := range a.results {
		if res.Spread == 0 {
			continue
		}
		var near []int64
		for capacity := range exact[size{res.Trace, res.CapacityUnit}] {
			if max(capacity-res.Capacity, res.Capacity-capacity) < res.Spread {
				near = append(near, capacity)
			}
		}
		if len(near) == 1 {
			res.Capacity, res.Spread = near[0], 0
			moved++
		}
	}
	if moved > 0 {
		a.note("%s: capacities are rounded; in %s they are taken to be the only ones elsewhere that fit", a.path,
			show.Counted(moved, "row"))
	}
}

// policies gives a policy the parameters that the others have, if each side has it with one set of parameters.
func (a aligner) policies() {
	theirs, ours := labelsByPolicy(a.results), labelsByPolicy(a.others)
	var noted []string
	for _, res := range a.results {
		if len(theirs[res.Policy]) != 1 || len(ours[res.Policy]) != 1 || ours[res.Policy][0] == res.Label {
			continue
		}
		if text := fmt.Sprintf("%s with %s", res.Label, ours[res.Policy][0]); !slices.Contains(noted, text) {
			noted = append(noted, text)
		}
		res.Label = ours[res.Policy][0]
	}
	if len(noted) > 0 {
		a.note("%s: policies with other parameters are compared: %s", a.path, suggest.List(noted))
	}
}

func labelsByPolicy(results []*result) map[string][]string {
	labels := map[string][]string{}
	for _, same := range records.GroupBy(results, func(res *result) string { return res.Policy }) {
		labels[same[0].Policy] = labelsOf(same)
	}
	return labels
}

// seeds gives policies with random choices the seed that the others have, if it is only one.
func (a aligner) seeds() {
	seeds := map[string][]uint64{} // by label
	for _, same := range records.GroupBy(a.others, func(o *result) string { return o.Label }) {
		seeds[same[0].Label] = records.Distinct(same, func(o *result) uint64 { return o.Seed })
	}
	for _, res := range a.results {
		if of := seeds[res.Label]; len(of) == 1 && sim.DependsOnSeed(&res.Record) {
			res.Seed = of[0]
		}
	}
}

func (r *Run) checkComplete() error {
	for _, res := range r.results {
		switch {
		case res.Trace == "":
			return fmt.Errorf("%s does not say of which trace its results are; say it: %s:trace=NAME", r.path, r.path)
		case res.Capacity == 0:
			return fmt.Errorf("%s does not say at which capacity its results are; say it: %s:capacity=1000 for objects, "+
				"%s:capacity=64MiB for bytes", r.path, r.path, r.path)
		}
	}
	return nil
}
