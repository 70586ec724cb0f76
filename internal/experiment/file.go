// Package experiment turns an experiment, a file or a Design in memory, into independent cells and replays them. A cell
// is one policy at one capacity on one trace from one seed. The packages below it keep the results in a folder, and
// make tables, figures and checked claims of them.
package experiment

// File is an experiment as it stands in a YAML file. configs/ holds those of the papers; docs/experiments.md describes
// every key.
type File struct {
	Name   string `yaml:"name"`            // letters, digits and -
	Title  string `yaml:"title"`           // one line
	Source string `yaml:"source"`          // paper and figure
	About  string `yaml:"about,omitempty"` // what differs from the source, and why

	Traces   []Trace  `yaml:"traces"`
	Caches   []Part   `yaml:"caches,omitempty"` // what a hit is; default: exact
	Policies []Policy `yaml:"policies"`
	// Predictors are those with each of which the policies are run that ask one.
	Predictors []Part `yaml:"predictors,omitempty"`
	// what to load besides what is asked for; default: nothing
	Prefetchers []Part `yaml:"prefetchers,omitempty"`
	// of the capacity among the tenants of the traces; default: none
	Allocators []Part `yaml:"allocators,omitempty"`
	// of the time that requests take; default: hits are counted and nothing else
	Models []Part `yaml:"models,omitempty"`
	// Capacities are written as for --capacity. A trace may have its own.
	Capacities Capacities `yaml:"capacities,omitempty"`
	Bytes      bool       `yaml:"bytes,omitempty"`     // bare numbers and shares count bytes
	UnitSize   bool       `yaml:"unit-size,omitempty"` // every object has size 1
	Warmup     int        `yaml:"warmup,omitempty"`    // requests
	// Series is a window, "10000" requests or "1h", and maybe names, for what is kept over the time of the replays.
	Series Values `yaml:"series,omitempty"`
	Seeds  Seeds  `yaml:"seeds,omitempty"` // default: 0 alone
	// Optimum adds the offline optimum under the same rules at every point, so that records have competitive ratios.
	// Default true.
	Optimum *bool  `yaml:"optimum,omitempty"`
	Metrics Values `yaml:"metrics,omitempty"` // those that the report's table of records shows; default hit_ratio, misses

	Groups     map[string][]string `yaml:"groups,omitempty"` // names for sets of policies, for claims and figures
	References []Reference         `yaml:"references,omitempty"`
	Figures    []Figure            `yaml:"figures,omitempty"`
	Tables     []Table             `yaml:"tables,omitempty"`
	Claims     []Claim             `yaml:"claims,omitempty"`
	// Absent says why policies that claims speak of are not in the experiment; such claims are not checkable here.
	Absent map[string]string `yaml:"absent,omitempty"`
	Quick  *Quick            `yaml:"quick,omitempty"`

	// TracesIn is the folder in which trace files are looked for; default the folder of the experiment file.
	TracesIn string `yaml:"traces-in,omitempty"`
	// Only restricts the cells as --only does, "policy=lru,arc"; figures and claims see no other records. Policies, traces
	// and capacities that are left out so stay in the lists above.
	Only Values `yaml:"only,omitempty"`
	// Changes says how this experiment differs from the one it was made from: "--quick", "--set seeds=3". Where there are
	// any, figures, references and claims may speak of traces, policies and places that are no longer here.
	Changes Values `yaml:"changes,omitempty"`

	source source
}

// ShownMetrics returns the metrics that the report's table of records shows.
func (f *File) ShownMetrics() []string {
	if len(f.Metrics) == 0 {
		return []string{"hit_ratio", "misses"}
	}
	return f.Metrics
}

// Trace is a workload: files or a generator.
type Trace struct {
	Name  string `yaml:"name"`
	File  string `yaml:"file,omitempty"`  // relative to the folder of the experiment file or to $CACHESIM_TRACES
	Files Values `yaml:"files,omitempty"` // several, one after another
	// a generator, "zipf(objects=10000)"; the seed is that of the cell unless it is written here
	Generate string `yaml:"generate,omitempty"`
	// With are further parameters of the generator, and sample and limit. Each is an axis of that name, even where it has
	// one value.
	With       map[string]Values `yaml:"with,omitempty"`
	Format     string            `yaml:"format,omitempty"` // as for --input-format
	Merge      bool              `yaml:"merge,omitempty"`
	PerFile    bool              `yaml:"per-file,omitempty"`
	Tenants    string            `yaml:"tenants,omitempty"` // as for --tenant
	Limit      int               `yaml:"limit,omitempty"`
	Sample     Number            `yaml:"sample,omitempty"`     // a share of the objects, by hashed keys
	Embeddings string            `yaml:"embeddings,omitempty"` // of queries, as for --embeddings
	Capacities Capacities        `yaml:"capacities,omitempty"` // instead of those of the experiment
	Caches     Values            `yaml:"caches,omitempty"`     // names of those it is replayed in; default: all
}

// Policy is a policy with parameters; in YAML a text alone is its Policy.
type Policy struct {
	Policy string `yaml:"policy"` // "s3fifo(small=0.1)"
	// its name in figures, tables and claims; default: as written
	As string `yaml:"as,omitempty"`
	// further parameters; each is an axis of that name, even where it has one value
	With       map[string]Values `yaml:"with,omitempty"`
	Predictors Values            `yaml:"predictors,omitempty"` // names of those it is run with; default: all
}

// Values is one value or a list of them, as texts.
type Values []string

// Capacities is a list of capacities and ranges, or one text with commas.
type Capacities []string

// Seeds is a list of seeds; a number n alone stands for 0 to n-1.
type Seeds []uint64

// Reference holds numbers that others published, beside which ours are shown.
type Reference struct {
	Name   string `yaml:"name"` // in figures, tables and claims
	Source string `yaml:"source"`
	Metric string `yaml:"metric"`
	// the difference up to which ours agree: half of the last printed digit, say; default 0
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

// Figure is a plot of records.
type Figure struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title,omitempty"`
	// a dimension: capacity, or an axis; capacity_share too; with Along a metric; or time, for what series keep of Y
	X string `yaml:"x"`
	Y string `yaml:"y"` // a metric
	// a dimension: the lines go from place to place on it, X against Y
	Along      string            `yaml:"along,omitempty"`
	Lines      string            `yaml:"lines,omitempty"` // one line per place on this dimension; default policy
	Panels     string            `yaml:"panels,omitempty"`
	Log        Values            `yaml:"log,omitempty"`  // x, y
	Only       map[string]Values `yaml:"only,omitempty"` // dimension to places, or names of groups for policy
	References Values            `yaml:"references,omitempty"`
	XLabel     string            `yaml:"x-label,omitempty"`
	YLabel     string            `yaml:"y-label,omitempty"`
}

// Table is a table of one metric.
type Table struct {
	Name    string            `yaml:"name"`
	Title   string            `yaml:"title,omitempty"`
	Rows    string            `yaml:"rows,omitempty"`    // a dimension; default policy
	Columns string            `yaml:"columns,omitempty"` // a dimension; default capacity
	Cells   string            `yaml:"cells"`             // a metric
	Panels  string            `yaml:"panels,omitempty"`  // one table per place on this dimension; default trace
	Only    map[string]Values `yaml:"only,omitempty"`
	Against string            `yaml:"against,omitempty"` // the name of a Reference whose numbers stand beside ours
}

// Claim is what the source states, in a form that can be checked; package claims reads it.
type Claim struct {
	Claim  string `yaml:"claim"`            // "hit_ratio(arc) > hit_ratio(lru) where trace = oltp"
	Stated string `yaml:"stated,omitempty"` // the number or the words of the source
	At     string `yaml:"at,omitempty"`     // where it stands there
	Note   string `yaml:"note,omitempty"`
}

// Quick is a version of the experiment that takes at most a minute. What is not set stays as it is.
type Quick struct {
	Traces     Values     `yaml:"traces,omitempty"` // names of those that stay
	Policies   Values     `yaml:"policies,omitempty"`
	Capacities Capacities `yaml:"capacities,omitempty"` // for all traces
	Seeds      Seeds      `yaml:"seeds,omitempty"`
	Limit      int        `yaml:"limit,omitempty"` // requests of each trace
	Set        Values     `yaml:"set,omitempty"`   // as for --set: key=value
}
