package claims

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// Input is the data that claims are checked against.
type Input struct {
	Records    []records.Record
	Groups     map[string][]string          // names for sets of policies
	References map[string]results.Published // by name
	Absent     map[string]string            // policies that are not in the experiment, with the reason
	Without    map[string]string            // traces that are not replayed, with the reason
	// AtOneCapacity has the policies that an experiment runs at one of its capacities: they count at all of them.
	AtOneCapacity []string
}

// Predefined groups. They contain no bounds, because bounds are not policies.
const (
	groupAll     = "all"
	groupOnline  = "online"
	groupOffline = "offline"
)

var predefined = []string{groupAll, groupOnline, groupOffline}

// IsPredefinedGroup reports whether a name means a group in every experiment.
func IsPredefinedGroup(name string) bool { return slices.Contains(predefined, name) }

// Dimensions that every record has, in the order in which points are described; axes follow.
var fixedDimensions = []string{records.DimTrace, records.DimCapacity, records.DimSeed}

const (
	traceDimension = iota
	capacityDimension
	seedDimension
)

// Data is the input, indexed once for many claims. It must not be used by several goroutines at once.
type Data struct {
	in         Input
	dimensions []dimension
	labels     []string
	labelOf    map[string]int
	kinds      []string // of the labels, as in records
	groups     []string // groupOnline or groupOffline for each label; "" for bounds and for caches without bounds
	cells      [][]cell // of each label
	columns    map[string][]float64
	random     *rand.Rand // draws the values of columns in place of the measured ones; nil for the measured ones
	measured   *Data      // if random
}

// dimension is a dimension with its occurring places.
type dimension struct {
	name    string
	places  []records.Value
	placeOf map[string]int32
}

// cell contains the records of one policy at one trace, capacity and place on every axis: one for each seed.
type cell struct {
	spot  spot
	axes  []coordinate
	recs  []int32
	seeds []int32 // places on the dimension seed, one for each record
}

// spot is a trace and a capacity, or anywhere for a policy that counts at all capacities.
type spot struct{ trace, capacity int32 }

type coordinate struct {
	dimension int
	place     int32
}

func NewData(in Input) *Data {
	d := &Data{in: in, labelOf: map[string]int{}, columns: map[string][]float64{}}
	for _, n := range fixedDimensions {
		d.dimension(n)
	}
	type key struct {
		label int
		spot  spot
		axes  string
	}
	cellOf := map[key]int{}
	axesOf := map[string][]coordinate{}
	for i := range in.Records {
		r := &in.Records[i]
		k := key{d.label(r), spot{d.place(traceDimension, r), d.place(capacityDimension, r)}, r.Axes}
		if slices.Contains(in.AtOneCapacity, r.Label) {
			k.spot.capacity = anywhere
		}
		at, ok := cellOf[k]
		if !ok {
			if _, ok := axesOf[r.Axes]; !ok {
				axesOf[r.Axes] = d.axes(r)
			}
			at = len(d.cells[k.label])
			cellOf[k] = at
			d.cells[k.label] = append(d.cells[k.label], cell{spot: k.spot, axes: axesOf[r.Axes]})
		}
		c := &d.cells[k.label][at]
		c.recs = append(c.recs, int32(i))
		c.seeds = append(c.seeds, d.place(seedDimension, r))
	}
	return d
}

func (d *Data) label(r *records.Record) int {
	at, ok := d.labelOf[r.Label]
	if !ok {
		at = len(d.labels)
		d.labelOf[r.Label] = at
		d.labels = append(d.labels, r.Label)
		d.kinds, d.groups = append(d.kinds, r.Kind), append(d.groups, "")
		d.cells = append(d.cells, nil)
	}
	switch { // a policy that knows the future with any of its parts counts as offline with all of them
	case r.Kind == records.Offline || r.Foresees() != "":
		d.groups[at] = groupOffline
	case r.Competes() && d.groups[at] == "":
		d.groups[at] = groupOnline
	}
	return at
}

// dimension returns the index of the dimension with that name; it is added if necessary.
func (d *Data) dimension(name string) int {
	at := d.find(name)
	if at < 0 {
		at = len(d.dimensions)
		d.dimensions = append(d.dimensions, dimension{name: name, placeOf: map[string]int32{}})
	}
	return at
}

// find returns the index of the dimension with that name, -1 if there is none.
func (d *Data) find(name string) int {
	return slices.IndexFunc(d.dimensions, func(dim dimension) bool { return dim.name == name })
}

// place returns a record's place on a dimension that it has.
func (d *Data) place(dim int, r *records.Record) int32 {
	v, _ := r.Dim(d.dimensions[dim].name)
	return d.dimensions[dim].place(v)
}

// place returns the index of a place. On axes, equal numbers are the same place, however they are written; capacities
// are distinguished by their text, because 1% is another number of objects on every trace.
func (dim *dimension) place(v records.Value) int32 {
	key := v.Text
	if v.IsNumber && dim.name != records.DimCapacity {
		key = strconv.FormatFloat(v.Number, 'g', -1, 64)
	}
	at, ok := dim.placeOf[key]
	if !ok {
		at = int32(len(dim.places))
		dim.placeOf[key] = at
		dim.places = append(dim.places, v)
	}
	return at
}

func (d *Data) axes(r *records.Record) (all []coordinate) {
	for _, axis := range records.AxisNames([]records.Record{*r}) {
		dim := d.dimension(axis)
		all = append(all, coordinate{dim, d.place(dim, r)})
	}
	slices.SortFunc(all, func(a, b coordinate) int { return cmp.Compare(a.dimension, b.dimension) })
	return all
}

// column returns a metric for every record, NaN if it is null.
func (d *Data) column(metric string) []float64 {
	if column, ok := d.columns[metric]; ok {
		return column
	}
	var column []float64
	if d.random != nil {
		column = d.draw(metric)
	} else {
		column = make([]float64, len(d.in.Records))
		for i := range d.in.Records {
			x, ok := d.in.Records[i].Metric(metric)
			if !ok {
				x = math.NaN()
			}
			column[i] = x
		}
	}
	d.columns[metric] = column
	return column
}

// policy returns the label of a policy, ignoring differences in spacing; -1 if it has no records.
func (d *Data) policy(name string) int {
	if at, ok := d.labelOf[name]; ok {
		return at
	}
	return slices.IndexFunc(d.labels, func(label string) bool { return withoutSpaces(label) == withoutSpaces(name) })
}

func withoutSpaces(text string) string { return strings.ReplaceAll(text, " ", "") }

// group returns the labels of a predefined group, in the order of the records.
func (d *Data) group(name string) (labels []int) {
	for at := range d.labels {
		if d.groups[at] == name || name == groupAll && d.kinds[at] != records.Bound {
			labels = append(labels, at)
		}
	}
	return labels
}
