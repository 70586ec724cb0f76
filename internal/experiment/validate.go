package experiment

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// validate rejects an experiment that cannot run, or that mentions something that does not exist. The error gives the
// line.
func (f *File) validate() error {
	for _, check := range []func() error{
		f.checkHead, f.checkTraces, f.checkPolicies, f.checkParts, f.checkGroups, f.checkSize, f.checkCells, f.checkMetrics,
		f.checkReferences, f.checkFigures, f.checkTables, f.checkClaims, f.checkQuick,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

var (
	experimentName = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)
	traceName      = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	fileName       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
)

const maxNameLength = 100

// required returns an error for the first key without a value; keys and values alternate.
func (f *File) required(path []any, keysAndValues ...string) error {
	for i := 0; i < len(keysAndValues); i += 2 {
		if strings.TrimSpace(keysAndValues[i+1]) == "" {
			owner := "the experiment"
			if len(path) > 0 {
				owner = pathText(path)
			}
			return f.errorAt(fmt.Errorf("%s has no %s; add one", owner, keysAndValues[i]), append(path, keysAndValues[i])...)
		}
	}
	return nil
}

func (f *File) checkHead() error {
	if err := f.required(nil, "name", f.Name, "title", f.Title, "source", f.Source); err != nil {
		return err
	}
	switch {
	case !experimentName.MatchString(f.Name) || len(f.Name) > maxNameLength:
		return f.errorAt(fmt.Errorf("name %q: want letters, digits and -", f.Name), "name")
	case len(f.Traces) == 0:
		return f.errorAt(fmt.Errorf("the experiment has no traces; add some, for example traces: [{name: oltp, file: "+
			"oltp.lis}]"), "traces")
	case len(f.Policies) == 0:
		return f.errorAt(fmt.Errorf("the experiment has no policies; add some, for example policies: [lru, arc]"),
			"policies")
	case f.Bytes && f.UnitSize:
		return f.errorAt(fmt.Errorf("bytes and unit-size exclude each other: one counts sizes, the other ignores them"),
			"unit-size")
	case f.Warmup < 0:
		return f.errorAt(fmt.Errorf("warmup %d: want a number of requests, at least 0", f.Warmup), "warmup")
	}
	if _, err := f.window(); err != nil {
		return f.errorAt(err, "series")
	}
	return nil
}

func (f *File) checkTraces() error {
	seen := map[string]bool{}
	for i, t := range f.Traces {
		if err := f.required([]any{"traces", i}, "name", t.Name); err != nil {
			return err
		}
		if seen[t.Name] {
			return f.errorAt(fmt.Errorf("two traces are called %s; give one of them another name", t.Name), "traces", i)
		}
		seen[t.Name] = true
		if err := f.checkTrace(t); err != nil {
			return f.errorAt(fmt.Errorf("trace %s: %w", t.Name, err), "traces", i)
		}
		if err := f.checkAxes(t.With, t.Name, "traces", i); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) checkTrace(t Trace) error {
	given := 0
	for _, is := range []bool{t.File != "", len(t.Files) > 0, t.Generate != ""} {
		if is {
			given++
		}
	}
	switch {
	case !traceName.MatchString(t.Name) || len(t.Name) > maxNameLength:
		return fmt.Errorf("want letters, digits, - and _ in its name")
	case given != 1:
		return fmt.Errorf("want exactly one of file, files and generate")
	case slices.Contains(t.paths(), "") || slices.ContainsFunc(t.paths(),
		func(path string) bool { return strings.Contains(path, "\n") }):
		return fmt.Errorf("want the path of a file, without line breaks")
	case slices.Contains(t.paths(), "-"):
		return fmt.Errorf("standard input cannot be read once for every cell; give the name of a file")
	case t.Generate != "" && (t.Format != "" || t.Merge || t.PerFile || t.Writes != ""):
		return fmt.Errorf("format, merge, per-file and writes are for files, not for a generator")
	case t.Merge && t.PerFile:
		return fmt.Errorf("merge and per-file exclude each other")
	case t.Warmup < 0:
		return fmt.Errorf("warmup %d: want a number of requests, at least 0", t.Warmup)
	case t.PerFile && max(f.Warmup, t.Warmup) > 0:
		return fmt.Errorf("per-file: each file starts with an empty cache, so there is nothing to warm up; remove warmup")
	case t.Tenants == "" && len(f.Allocators) > 0 && !f.replayedBy(t, cache.HasPools):
		return fmt.Errorf("allocators divide the capacity among tenants; add tenants by column, prefix or file, or for " +
			"serving nodes caches with pools")
	case t.Limit < 0 || t.Limit > 0 && t.With[axisLimit] != nil:
		return fmt.Errorf("limit: want a number of requests, at least 1, given once")
	case t.Sample < 0 || t.Sample > 1 || t.Sample > 0 && t.With[axisSample] != nil:
		return fmt.Errorf("sample: want a share above 0, and up to 1, given once")
	}
	w := t.Workload()
	w.Generator = t.Generate
	if err := w.Check(); err != nil {
		return err
	}
	for name := range t.With {
		if t.Generate == "" && name != axisLimit && name != axisSample {
			return fmt.Errorf("with: %w", suggest.Unknown("parameter of files", name, []string{axisLimit, axisSample}))
		}
	}
	return nil
}

// checkAxes rejects parameters that cannot be axes. Whether the trace or policy has them shows later, when it is
// created.
func (f *File) checkAxes(with map[string]Values, owner string, path ...any) error {
	for _, name := range sortedKeys(with) {
		refuse := func(format string, args ...any) error {
			return f.errorAt(fmt.Errorf("%s: with: %s: %w", owner, name, fmt.Errorf(format, args...)), append(path, "with",
				name)...)
		}
		if name == records.DimSeed {
			return refuse("is not an axis; write the experiment's seeds under seeds")
		}
		seen := make(map[string]bool, len(with[name]))
		for _, value := range with[name] {
			place := axisValue(value)
			switch {
			case strings.ContainsAny(value, ",=\n") || strings.TrimSpace(value) != value || value == "":
				return refuse("%q cannot be a place on an axis; write it in parentheses after the name, or use no commas, = or "+
					"spaces", value)
			case seen[place]:
				return refuse("%s appears twice", value)
			}
			seen[place] = true
		}
	}
	return nil
}

// axisValue returns the same text for all texts that mean one place on an axis, such as 0.1 and 0.10.
func axisValue(value string) string {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(x+0, 'g', -1, 64) // -0 + 0 is 0
}

func (f *File) checkPolicies() error {
	seen := map[string]bool{}
	for i, p := range f.Policies {
		if err := f.required([]any{"policies", i}, "policy", p.Policy); err != nil {
			return err
		}
		label := p.Label()
		switch {
		case seen[label]:
			return f.errorAt(fmt.Errorf("two policies are called %s; give one of them another name under as",
				label), "policies", i)
		case strings.ContainsFunc(label, func(c rune) bool { return c < ' ' }) || strings.TrimSpace(label) != label ||
			len(label) > maxNameLength:
			return f.errorAt(fmt.Errorf("the name %q of a policy: want one line of at most %d letters, without spaces around it",
				label, maxNameLength), "policies", i)
		}
		seen[label] = true
		if err := f.checkAxes(p.With, "policy "+label, "policies", i); err != nil {
			return err
		}
	}
	for _, label := range sortedKeys(f.Absent) {
		if seen[label] {
			return f.errorAt(fmt.Errorf("%s is absent, but it is one of the policies", label), "absent", label)
		}
		if strings.TrimSpace(f.Absent[label]) == "" {
			return f.errorAt(fmt.Errorf("absent: %s has no reason; say why it is missing", label), "absent", label)
		}
	}
	return nil
}

func (f *File) checkGroups() error {
	for _, name := range sortedKeys(f.Groups) {
		if _, isPolicy := policies.Registry.Find(name); isPolicy || slices.Contains(f.labels(), name) {
			return f.errorAt(fmt.Errorf("group %s has the name of a policy; choose another name", name), "groups", name)
		}
		if claims.IsPredefinedGroup(name) {
			return f.errorAt(fmt.Errorf("group %s has the name of a built-in group; choose another name",
				name), "groups", name)
		}
		if len(f.Groups[name]) == 0 {
			return f.errorAt(fmt.Errorf("group %s is empty", name), "groups", name)
		}
		for i, label := range f.Groups[name] {
			if err := f.checkPolicyName(label); err != nil {
				return f.errorAt(fmt.Errorf("group %s: %w", name, err), "groups", name, i)
			}
		}
	}
	return nil
}

// checkPolicyName rejects a name that is neither a policy of the experiment nor declared absent.
func (f *File) checkPolicyName(label string) error {
	if known := append(f.labels(), sortedKeys(f.Absent)...); !slices.Contains(known, label) && len(f.Changes) == 0 {
		return suggest.Unknown("policy", label, known)
	}
	return nil
}

// checkSize rejects an experiment with more than maxCells cells, before they are created.
func (f *File) checkSize() error {
	perSeed, once := 0.0, 0.0 // policies that run for each seed, and policies that run once
	for i, p := range f.Policies {
		spec, err := p.spec(firstPlace(p.With))
		if err != nil {
			return f.errorAt(err, "policies", i)
		}
		all, steady := countPlaces(p.With), countPlaces(p.With) // steady: without random choices
		for _, kind := range partKinds {
			if kind.Default == "" && (kind.AskedBy == nil || kind.AskedBy(spec.Entry)) {
				n, random := f.countChosen(kind, kind.chosen(&p))
				all, steady = all*n, steady*(n-random)
			}
		}
		if spec.Entry.Random {
			steady = 0
		}
		once += steady
		perSeed += all - steady
	}
	seeds := float64(len(f.seeds()))
	cells, workloads, capacities := 0.0, 0.0, 0
	for i, t := range f.Traces {
		specs, err := f.capacitiesOf(i)
		if err != nil {
			return err
		}
		each := once + perSeed*seeds
		if t.dependsOnSeed(firstPlace(t.With)) {
			each = (once + perSeed) * seeds
		}
		served := slices.DeleteFunc(slices.Clone(f.Caches), func(p Part) bool { return !t.isServedBy(p.Label()) })
		cells += countParts(served) * countPlaces(t.With) * float64(max(1, len(specs))) * each
		workloads += countPlaces(t.With)
		capacities = max(capacities, 1, len(specs))
	}
	if cells > maxCells {
		return f.errorAt(fmt.Errorf("the experiment has %.0f cells, more than %d: %.0f traces, %d capacities, %.0f "+
			"policies, %.0f seeds, with their axes; split it, or remove some", cells, maxCells, workloads, capacities,
			once+perSeed, seeds))
	}
	return nil
}

// countParts returns the number of parts of a kind at all places on their axes; it is 1 without parts.
func countParts(parts []Part) float64 {
	n := 0.0
	for _, p := range parts {
		n += countPlaces(p.With)
	}
	return max(1, n)
}

// countChosen is countParts for the parts of a kind with the given names, or for all without names; random counts the
// parts that make random choices.
func (f *File) countChosen(kind partKind, names Values) (all, random float64) {
	for _, p := range *kind.of(f) {
		if len(names) > 0 && !slices.Contains(names, p.Label()) {
			continue
		}
		n := countPlaces(p.With)
		all += n
		if kind.IsRandom(p.Use) {
			random += n
		}
	}
	return max(1, all), random
}

func countPlaces(with map[string]Values) float64 {
	n := 1.0
	for _, values := range with {
		n = min(n*float64(len(values)), math.MaxFloat32)
	}
	return n
}

func firstPlace(with map[string]Values) []setting {
	for axes := range places(with) {
		return axes
	}
	return nil
}

// checkCells combines every trace and policy at every place on their axes.
func (f *File) checkCells() error {
	for i, t := range f.Traces {
		specs, err := f.capacitiesOf(i)
		if err != nil {
			return err
		}
		if f.replayedBy(t, sim.HasOwnCapacity) || !capacity.NeedBytes(specs, f.modeOf(t)) {
			continue // capacities that differ from the caches' are an error of the plan
		}
		if f.UnitSize {
			return f.errorAt(fmt.Errorf("trace %s: its capacities count bytes, but unit-size ignores sizes; write numbers of "+
				"objects, or remove unit-size", t.Name), "unit-size")
		}
		if t.Generate == "" {
			continue
		}
		if spec, err := gen.Parse(t.Generate, ""); err == nil && !spec.HasSizes() && t.With["size"] == nil {
			return f.errorAt(fmt.Errorf("trace %s: its capacities count bytes, but its objects have no sizes; add some, for "+
				"example size=fixed(bytes=1)", t.Name), "traces", i)
		}
	}
	_, err := f.count()
	if err == nil && len(f.Only) > 0 {
		_, err = f.Cells(CellOptions{})
	}
	return err
}
