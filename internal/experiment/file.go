package experiment

import (
	"cmp"

	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// File is an experiment as written in a YAML file. configs/ contains the papers'; docs/experiments.md describes
// every key.
type File struct {
	Name   string `yaml:"name"`            // letters, digits and -
	Title  string `yaml:"title"`           // one line
	Source string `yaml:"source"`          // paper and figure
	About  string `yaml:"about,omitempty"` // what differs from the source, and why

	Traces   []Trace  `yaml:"traces"`
	Caches   []Part   `yaml:"caches,omitempty"` // what counts as a hit; default: exact
	Policies []Policy `yaml:"policies"`
	// Predictors are the predictors with which each policy that uses one runs.
	Predictors []Part `yaml:"predictors,omitempty"`
	Rules      []Part `yaml:"rules,omitempty"` // reuse rules with which each policy that uses one runs
	// Retrievers find the tokens that a step of a language model asks for; default: that of the policy.
	Retrievers  []Part `yaml:"retrievers,omitempty"`
	Prefetchers []Part `yaml:"prefetchers,omitempty"` // what to load besides requested objects; default: nothing
	// of the capacity among the tenants of the traces; default: none
	Allocators []Part `yaml:"allocators,omitempty"`
	Routers    []Part `yaml:"routers,omitempty"`    // of prompts to nodes, with the number of these; default: one node
	Admissions []Part `yaml:"admissions,omitempty"` // for writes to tiers of storage; default: everything
	Models     []Part `yaml:"models,omitempty"`     // of the time that requests take; default: hits are only counted
	// Capacities are in the format of --capacity. A trace may have its own.
	Capacities Capacities `yaml:"capacities,omitempty"`
	Bytes      bool       `yaml:"bytes,omitempty"`     // bare numbers and shares count bytes
	UnitSize   bool       `yaml:"unit-size,omitempty"` // every object has size 1
	Warmup     int        `yaml:"warmup,omitempty"`    // requests
	// Series is a window, "10000" requests or "1h", with optional names, of the series to keep.
	Series Values `yaml:"series,omitempty"`
	Seeds  Seeds  `yaml:"seeds,omitempty"` // default: only 0
	// Optimum adds the offline optimum under the same rules at every point, so that records have competitive ratios. The
	// default is true.
	Optimum *bool  `yaml:"optimum,omitempty"`
	Metrics Values `yaml:"metrics,omitempty"` // columns of the report's table of records; default hit_ratio, misses

	Groups     map[string][]string `yaml:"groups,omitempty"` // names of sets of policies, for claims and figures
	References []Reference         `yaml:"references,omitempty"`
	Figures    []Figure            `yaml:"figures,omitempty"`
	Tables     []Table             `yaml:"tables,omitempty"`
	Claims     []Claim             `yaml:"claims,omitempty"`
	// SettledBy says what would settle the claims about its source that are not met: an experiment, or what is needed.
	SettledBy string `yaml:"settled-by,omitempty"`
	// Absent says why policies that claims mention are not in the experiment; such claims cannot be checked.
	Absent map[string]string `yaml:"absent,omitempty"`
	// Without says of traces that claims mention why they are not replayed.
	Without map[string]string `yaml:"without,omitempty"`
	Quick   *Quick            `yaml:"quick,omitempty"`

	// TracesIn is the folder to search for trace files; the default is the folder of the experiment file.
	TracesIn string `yaml:"traces-in,omitempty"`
	// Only restricts the cells as --only does, "policy=lru,arc"; figures and claims see no other records. Excluded
	// policies, traces and capacities stay in the lists above.
	Only Values `yaml:"only,omitempty"`
	// Unmet are names of claims that are preconditions and are not met, or not yet. Cells that only claims use which hang
	// on them are left out.
	Unmet Values `yaml:"unmet,omitempty"`
	// Changes says how this experiment differs from its file: "--quick", "--set seeds=3". After changes, figures,
	// references and claims may mention traces, policies and places that no longer exist.
	Changes Values `yaml:"changes,omitempty"`
	// Origin is the name of the file that the experiment was first read from, without its folder; "" if it is built in.
	Origin string `yaml:"origin,omitempty"`

	source source
}

// ShownMetrics returns the metrics in the report's table of records.
func (f *File) ShownMetrics() []string {
	if len(f.Metrics) == 0 {
		return []string{"hit_ratio", "misses"}
	}
	return f.Metrics
}

type Trace struct {
	Name  string `yaml:"name"`
	File  string `yaml:"file,omitempty"`  // relative to the folder of the experiment file or to $CACHESIM_TRACES
	Files Values `yaml:"files,omitempty"` // several, one after another
	// a generator, "zipf(objects=10000)"; its seed is the cell's unless it is given here
	Generate string `yaml:"generate,omitempty"`
	// With are further parameters of the generator, and sample and limit. Each is an axis of that name, even if it has
	// only one value.
	With map[string]Values `yaml:"with,omitempty"`
	// SHA256 is the checksum that the files must have, in hexadecimal: of one file its own, of several that of their
	// digests. Source says where they can be had, under which Licence; Share, that this allows to pass copies on.
	SHA256  string `yaml:"sha256,omitempty"`
	Source  string `yaml:"source,omitempty"`
	Licence string `yaml:"licence,omitempty"`
	Share   bool   `yaml:"share,omitempty"`
	Format  string `yaml:"format,omitempty"` // as for --input-format
	Merge   bool   `yaml:"merge,omitempty"`
	PerFile bool   `yaml:"per-file,omitempty"`
	Tenants string `yaml:"tenants,omitempty"` // as for --tenant
	By      string `yaml:"by,omitempty"`      // as for --by
	Writes  string `yaml:"writes,omitempty"`  // as for --writes
	KV      string `yaml:"kv,omitempty"`      // of prompts, as for --kv
	Answers string `yaml:"answers,omitempty"` // of prompts, as for --answers
	// ObjectSizes are sizes that the files do not state, as for --object-size, and ObjectOverhead what each object takes
	// beside its size, as for --object-overhead.
	ObjectSizes    Values `yaml:"object-sizes,omitempty"`
	ObjectOverhead string `yaml:"object-overhead,omitempty"`

	Limit      int        `yaml:"limit,omitempty"`
	Warmup     int        `yaml:"warmup,omitempty"`     // requests, instead of those of the experiment
	Sample     Number     `yaml:"sample,omitempty"`     // a share of the objects, by hashed key
	Embeddings string     `yaml:"embeddings,omitempty"` // of queries, as for --embeddings
	Capacities Capacities `yaml:"capacities,omitempty"` // instead of those of the experiment
	Caches     Values     `yaml:"caches,omitempty"`     // names of the caches that replay it; default: all
}

// Policy is a policy with parameters; in YAML, a plain text is its Policy.
type Policy struct {
	Policy string `yaml:"policy"`       // "s3fifo(small=0.1)"
	As     string `yaml:"as,omitempty"` // its name in figures, tables and claims; default: as written
	// further parameters; each is an axis of that name, even if it has only one value
	With map[string]Values `yaml:"with,omitempty"`
	// Names of the parts that it runs with; default: all. With one only, it counts at every place on the axis of these
	// parts.
	Predictors  Values `yaml:"predictors,omitempty"`
	Rules       Values `yaml:"rules,omitempty"`
	Retrievers  Values `yaml:"retrievers,omitempty"`
	Prefetchers Values `yaml:"prefetchers,omitempty"`
	Allocators  Values `yaml:"allocators,omitempty"`
	Routers     Values `yaml:"routers,omitempty"`
	Admissions  Values `yaml:"admissions,omitempty"`
	Models      Values `yaml:"models,omitempty"`
	Caches      Values `yaml:"caches,omitempty"`
	// Capacities are those of the experiment that it runs at; default: all.
	Capacities Capacities `yaml:"capacities,omitempty"`
}

type Values []string

// Capacities is a list of capacities and ranges, or one text with commas.
type Capacities []string

// Seeds is a list of seeds; a number n alone stands for 0 to n-1.
type Seeds []uint64

// Reference contains published numbers, which are shown next to ours.
type Reference struct {
	Name   string `yaml:"name"` // in figures, tables and claims
	Source string `yaml:"source"`
	Metric string `yaml:"metric"`
	// the difference up to which ours agree, such as half of the last printed digit; default 0
	Within Number  `yaml:"within,omitempty"`
	Points []Point `yaml:"points"`
}

// Point is one published number, or several along the one dimension that has a list: {trace: oltp, policy: lru,
// capacity: [250, 500], values: [16.47%, 23.45%]}.
type Point struct {
	At     map[string]Values `yaml:",inline"` // dimension to place
	Values Numbers           `yaml:"values"`
}

// Number is a number; in YAML 5% is 0.05.
type Number float64

// Numbers is one number or a list.
type Numbers []Number

type Figure struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title,omitempty"`
	// a dimension: capacity, or an axis; capacity_share too; with Along a metric; or time, for the series of Y
	X string `yaml:"x"`
	Y string `yaml:"y,omitempty"` // a metric; with Color a dimension; with Values a dimension, or "" for lines
	// a metric: the figure is a heat map, whose cells are the places on X and Y
	Color string `yaml:"color,omitempty"`
	// names of lines, or of the colour of a heat map, to values as claims compare them, instead of a metric
	Values map[string]string `yaml:"values,omitempty"`
	// dimensions: each line connects the places on the first of them that it has, X against Y
	Along      Values            `yaml:"along,omitempty"`
	Lines      string            `yaml:"lines,omitempty"` // one line per place on this dimension; default policy
	Panels     string            `yaml:"panels,omitempty"`
	Log        Values            `yaml:"log,omitempty"`  // x, y; color
	Only       map[string]Values `yaml:"only,omitempty"` // dimension to places, or names of groups for policy
	References Values            `yaml:"references,omitempty"`
	XLabel     string            `yaml:"x-label,omitempty"`
	YLabel     string            `yaml:"y-label,omitempty"`
	From       float64           `yaml:"from,omitempty"`      // over time: requests or seconds that are not drawn
	Style      string            `yaml:"style,omitempty"`     // as for --figure, without log: width=3.3in,font=8pt
	Highlight  Values            `yaml:"highlight,omitempty"` // policies that are drawn strong and above the others
}

// Metric returns the metric whose values the figure shows.
func (f *Figure) Metric() string { return cmp.Or(f.Color, f.Y) }

type Table struct {
	Name    string            `yaml:"name"`
	Title   string            `yaml:"title,omitempty"`
	Rows    string            `yaml:"rows,omitempty"`    // a dimension; default policy
	Columns string            `yaml:"columns,omitempty"` // a dimension; default capacity
	Cells   string            `yaml:"cells"`             // a metric
	Panels  string            `yaml:"panels,omitempty"`  // one table per place on this dimension; default trace
	Only    map[string]Values `yaml:"only,omitempty"`
	Against string            `yaml:"against,omitempty"` // the name of a Reference whose numbers are shown next to ours
}

// Claim is a statement of the source in a form that can be checked.
type Claim = claims.Sentence

// Quick is a version of the experiment for CI and for a first look. Unset fields stay as they are.
type Quick struct {
	Traces Values `yaml:"traces,omitempty"` // names of the traces that stay, besides those with samples
	// Samples take the place of traces of the same names.
	Samples    []Trace           `yaml:"samples,omitempty"`
	Without    map[string]string `yaml:"without,omitempty"` // why traces that claims mention have no sample
	Policies   Values            `yaml:"policies,omitempty"`
	Capacities Capacities        `yaml:"capacities,omitempty"` // for all traces
	Seeds      Seeds             `yaml:"seeds,omitempty"`
	Limit      int               `yaml:"limit,omitempty"` // requests of each trace
	Set        Values            `yaml:"set,omitempty"`   // as for --set: key=value
}
