package experiment

import (
	"cmp"
	"errors"
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

// checker checks an experiment and keeps the first error, which gives the line.
type checker struct {
	*File
	err error
}

// path is where a value of the experiment is: keys and list indices.
type path []any

func (p path) sub(steps ...any) path { return append(slices.Clip(p), steps...) }

// at keeps an error about the value at a path.
func (c *checker) at(at path, err error) {
	if err != nil && c.err == nil {
		c.err = c.errorAt(err, at...)
	}
}

// refuse keeps an error if a condition holds.
func (c *checker) refuse(is bool, at path, format string, args ...any) {
	if is {
		c.at(at, fmt.Errorf(format, args...))
	}
}

// keep keeps an error that has its place.
func (c *checker) keep(err error) { c.err = cmp.Or(c.err, err) }

// required refuses the first key without a value; keys and values alternate.
func (c *checker) required(at path, keysAndValues ...string) {
	owner := cmp.Or(pathText(at), "the experiment")
	for i := 0; i < len(keysAndValues); i += 2 {
		c.refuse(strings.TrimSpace(keysAndValues[i+1]) == "", at.sub(keysAndValues[i]), "%s has no %s; add one", owner,
			keysAndValues[i])
	}
}

// distinct refuses a name that was seen before. hint says where another name goes.
func (c *checker) distinct(seen map[string]bool, what, name, hint string, at path) {
	c.refuse(seen[name], at, "two %s are called %s; give one of them another name%s", what, name, hint)
	seen[name] = true
}

// known refuses a name that does not exist, except in a changed experiment.
func (c *checker) known(kind, name string, exist []string, at path) {
	if !slices.Contains(exist, name) && len(c.Changes) == 0 {
		c.at(at, suggest.Unknown(kind, name, exist))
	}
}

// validate rejects an experiment that cannot run, or that mentions something that does not exist.
func (f *File) validate() error {
	c := &checker{File: f}
	for _, check := range []func(){
		c.head, c.traces, c.without, c.policies, c.parts, c.groups, c.size, c.cells, c.metrics, c.references, c.figures,
		c.tables, c.claims, func() { c.keep(f.checkQuick()) },
	} {
		if check(); c.err != nil {
			return c.err
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

func (c *checker) head() {
	c.required(nil, "name", c.Name, "title", c.Title, "source", c.Source)
	c.refuse(!experimentName.MatchString(c.Name) || len(c.Name) > maxNameLength, path{"name"},
		"name %q: want letters, digits and -", c.Name)
	c.refuse(len(c.Traces) == 0, path{"traces"},
		"the experiment has no traces; add some, for example traces: [{name: oltp, file: oltp.lis}]")
	c.refuse(len(c.Policies) == 0, path{"policies"},
		"the experiment has no policies; add some, for example policies: [lru, arc]")
	c.refuse(c.Bytes && c.UnitSize, path{"unit-size"},
		"bytes and unit-size exclude each other: one counts sizes, the other ignores them")
	c.refuse(c.Warmup < 0, path{"warmup"}, "warmup %d: want a number of requests, at least 0", c.Warmup)
	_, err := c.window()
	c.at(path{"series"}, err)
}

func (c *checker) traces() {
	seen := map[string]bool{}
	for i, t := range c.Traces {
		at := path{"traces", i}
		c.required(at, "name", t.Name)
		c.distinct(seen, "traces", t.Name, "", at)
		if err := c.checkTrace(t); err != nil {
			c.at(at, fmt.Errorf("trace %s: %w", t.Name, err))
		}
		c.parameters(t.With, t.Name, at)
	}
}

var checksum = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

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
	case t.Generate != "" && (t.SHA256 != "" || t.Source != "" || t.Licence != "" || t.Share):
		return fmt.Errorf("sha256, source, licence and share are for files, not for a generator")
	case t.SHA256 != "" && !checksum.MatchString(t.SHA256):
		return fmt.Errorf("sha256: %.80q is no checksum; want 64 hexadecimal digits, as sha256sum prints them", t.SHA256)
	case t.Share && t.Licence == "":
		return fmt.Errorf("share: which licence allows to pass the files on? Name it under licence")
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

// parameters refuses parameters that cannot be axes. Whether the trace or policy has them shows later, when it is
// created.
func (c *checker) parameters(with map[string]Values, owner string, at path) {
	for _, name := range sortedKeys(with) {
		if err := axisError(name, with[name]); err != nil {
			c.at(at.sub("with", name), fmt.Errorf("%s: with: %s: %w", owner, name, err))
		}
	}
}

// axisError says why values cannot be the places on an axis.
func axisError(name string, values Values) error {
	if name == records.DimSeed {
		return errors.New("is not an axis; write the experiment's seeds under seeds")
	}
	seen := make(map[string]bool, len(values))
	for _, value := range values {
		place := axisValue(value)
		switch {
		case strings.ContainsAny(value, ",=\n") || strings.TrimSpace(value) != value || value == "":
			return fmt.Errorf("%q cannot be a place on an axis; write it in parentheses after the name, or use no commas, = or "+
				"spaces", value)
		case seen[place]:
			return fmt.Errorf("%s appears twice", value)
		}
		seen[place] = true
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

func (c *checker) policies() {
	seen := map[string]bool{}
	for i, p := range c.Policies {
		at, label := path{"policies", i}, p.Label()
		c.required(at, "policy", p.Policy)
		c.distinct(seen, "policies", label, " under as", at)
		c.refuse(strings.ContainsFunc(label, func(r rune) bool { return r < ' ' }) || strings.TrimSpace(label) != label ||
			len(label) > maxNameLength, at,
			"the name %q of a policy: want one line of at most %d letters, without spaces around it", label, maxNameLength)
		c.parameters(p.With, "policy "+label, at)
	}
	for _, label := range sortedKeys(c.Absent) {
		at := path{"absent", label}
		c.refuse(seen[label], at, "%s is absent, but it is one of the policies", label)
		c.refuse(strings.TrimSpace(c.Absent[label]) == "", at, "absent: %s has no reason; say why it is missing", label)
	}
}

// without refuses reasons why traces are left out that say nothing, or are about traces that are replayed.
func (c *checker) without() {
	for _, name := range sortedKeys(c.Without) {
		at := path{"without", name}
		c.refuse(slices.Contains(c.traceNames(), name), at,
			"%s is under without, but it is replayed; traces names those that stay", name)
		c.refuse(strings.TrimSpace(c.Without[name]) == "", at, "without: %s has no reason; say why it is missing", name)
	}
}

// parts refuses parts that cannot be distinguished, or whose names cannot be places on an axis.
func (c *checker) parts() {
	for _, kind := range partKinds {
		parts := *kind.of(c.File)
		seen := map[string]bool{}
		for i, p := range parts {
			at, label := path{kind.Plural, i}, p.Label()
			c.required(at, "use", p.Use)
			c.distinct(seen, kind.Plural, label, " under as", at)
			c.parameters(p.With, kind.Name+" "+label, at)
			c.refuse(len(parts) > 1 && axisError(kind.Name, Values{label}) != nil, at, "the name %q cannot be a place on the "+
				"axis %s; choose a simple one: {use: %[1]q, as: NAME}", label, kind.Name)
		}
		if c.err == nil {
			_, err := c.partVariants(kind)
			c.keep(err)
		}
	}
	for i, p := range c.Policies {
		at := path{"policies", i}
		for _, kind := range partKinds {
			c.partNames(kind, kind.chosen(&p), at)
		}
		specs, err := p.capacities()
		c.at(at.sub("capacities"), err)
		for _, spec := range specs {
			c.known("capacity", spec.String(), c.placesOn(records.DimCapacity), at.sub("capacities"))
		}
	}
	for i, t := range c.Traces {
		c.partNames(cacheKind, t.Caches, path{"traces", i})
	}
}

// partNames refuses names of parts that do not exist; at leads to the key of their kind.
func (c *checker) partNames(kind partKind, names Values, at path) {
	for _, name := range names {
		c.known(kind.Name, name, labelsOf(*kind.of(c.File)), at.sub(kind.Plural))
	}
}

func (c *checker) groups() {
	for _, name := range sortedKeys(c.Groups) {
		at := path{"groups", name}
		_, isPolicy := policies.Registry.Find(name)
		c.refuse(isPolicy || slices.Contains(c.labels(), name), at,
			"group %s has the name of a policy; choose another name", name)
		c.refuse(claims.IsPredefinedGroup(name), at, "group %s has the name of a built-in group; choose another name", name)
		c.refuse(len(c.Groups[name]) == 0, at, "group %s is empty", name)
		exist := append(c.labels(), sortedKeys(c.Absent)...)
		for i, label := range c.Groups[name] {
			if !slices.Contains(exist, label) && len(c.Changes) == 0 {
				c.at(at.sub(i), fmt.Errorf("group %s: %w", name, suggest.Unknown("policy", label, exist)))
			}
		}
	}
}

// size refuses an experiment with more than maxCells cells, before they are created.
func (c *checker) size() {
	perSeed, once := 0.0, 0.0 // policies that run for each seed, and policies that run once
	for i, p := range c.Policies {
		spec, err := p.spec(firstPlace(p.With))
		if err != nil {
			c.at(path{"policies", i}, err)
			return
		}
		all, steady := countPlaces(p.With), countPlaces(p.With) // steady: without random choices
		for _, kind := range partKinds {
			if kind.Default == "" && (kind.AskedBy == nil || kind.AskedBy(spec.Entry)) {
				n, random := c.countChosen(kind, kind.chosen(&p))
				all, steady = all*n, steady*(n-random)
			}
		}
		if spec.Entry.Random {
			steady = 0
		}
		once += steady
		perSeed += all - steady
	}
	seeds := float64(len(c.seeds()))
	cells, workloads, capacities := 0.0, 0.0, 0
	for i, t := range c.Traces {
		specs, err := c.capacitiesOf(i)
		c.keep(err)
		each := once + perSeed*seeds
		if t.dependsOnSeed(firstPlace(t.With)) {
			each = (once + perSeed) * seeds
		}
		served := slices.DeleteFunc(slices.Clone(c.Caches), func(p Part) bool { return !t.isServedBy(p.Label()) })
		cells += countParts(served) * countPlaces(t.With) * float64(max(1, len(specs))) * each
		workloads += countPlaces(t.With)
		capacities = max(capacities, 1, len(specs))
	}
	c.refuse(cells > maxCells, nil, "the experiment has %.0f cells, more than %d: %.0f traces, %d capacities, %.0f "+
		"policies, %.0f seeds, with their axes; split it, or remove some", cells, maxCells, workloads, capacities,
		once+perSeed, seeds)
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

// firstPlace returns the first of places.
func firstPlace(with map[string]Values) (first []setting) {
	for _, name := range sortedKeys(with) {
		if len(with[name]) == 0 {
			return nil
		}
		first = append(first, setting{name, with[name][0]})
	}
	return first
}

// cells combines every trace and policy at every place on their axes.
func (c *checker) cells() {
	for i, t := range c.Traces {
		specs, err := c.capacitiesOf(i)
		c.keep(err)
		if c.replayedBy(t, sim.HasOwnCapacity) || !capacity.NeedBytes(specs, c.modeOf(t)) {
			continue // capacities that differ from the caches' are an error of the plan
		}
		c.refuse(c.UnitSize, path{"unit-size"}, "trace %s: its capacities count bytes, but unit-size ignores sizes; write "+
			"numbers of objects, or remove unit-size", t.Name)
		if t.Generate == "" {
			continue
		}
		spec, err := gen.Parse(t.Generate, "")
		c.refuse(err == nil && !spec.HasSizes() && t.With["size"] == nil, path{"traces", i}, "trace %s: its capacities "+
			"count bytes, but its objects have no sizes; add some, for example size=fixed(bytes=1)", t.Name)
	}
	if c.err != nil {
		return
	}
	_, err := c.count()
	if err == nil && len(c.Only) > 0 {
		_, err = c.Cells(CellOptions{})
	}
	c.keep(err)
}
