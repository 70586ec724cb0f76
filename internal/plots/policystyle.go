package plots

import (
	"hash/fnv"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/records"
)

// Colours by what they are called, as indices of palette.
const (
	blue = iota
	vermilion
	green
	purple
	orange
	sky
	indigo
	wine
	olive
	brown
)

// Markers by their shapes, as indices of markers.
const (
	circle = iota
	box
	triangle
	cross
	ring
	plus
	square
)

// policyLooks are the colours and marks of the policies, which are their own in every figure. Those that are compared
// most differ in colour; no two have the same of both.
var policyLooks = map[string]struct{ color, marker int }{
	"lru": {blue, circle}, "mru": {blue, cross}, "lru-stack": {blue, plus},
	"arc": {vermilion, box}, "laru": {vermilion, triangle}, "cacheus": {vermilion, plus},
	"s3fifo": {green, triangle}, "tinylfu": {green, cross}, "fpb": {green, circle}, "fpb-binary": {green, ring},
	"fpb-marking": {green, plus}, "lru-k": {green, box},
	"sieve": {purple, cross}, "hyperbolic": {purple, circle}, "slru": {purple, triangle}, "guard": {purple, square},
	"w-tinylfu": {orange, ring}, "lfu-da": {orange, circle}, "predictive-marker": {orange, box},
	"robust-ftp": {orange, triangle},
	"lirs":       {sky, plus}, "2q": {sky, box}, "blindoracle-lru": {sky, circle}, "follow-robust": {sky, triangle},
	"lhd": {indigo, square}, "lmarker": {indigo, box}, "gdsf": {indigo, cross},
	"rac": {wine, circle}, "car": {wine, box}, "trust-doubt": {wine, plus},
	"clock": {olive, box}, "marker": {olive, circle}, "mq": {olive, triangle}, "marker-or-lru": {olive, cross},
	"lnonmarker": {olive, plus}, "lecar": {olive, square}, "topic-lru": {olive, ring},
	"fifo": {brown, triangle}, "random": {brown, circle}, "ttl": {brown, cross}, "uniform": {brown, ring},
	"hf": {brown, box}, "topic-lfu": {brown, plus}, "lfu": {brown, square},
}

// referenceDashes tell apart what policies are held against, which is black.
var referenceDashes = map[string][]vg.Length{
	"opt": {6, 3}, "opt-bypass": {6, 2, 1.5, 2}, "opt-marking": {10, 3}, "belady-size": {8, 3},
	"farthest-similar": {7, 3}, "farthest-similar-bypass": {7, 2, 1.5, 2}, "infinite": {1, 2},
}

var (
	black = color.NRGBA{A: 0xff}
	grey  = color.NRGBA{0x70, 0x70, 0x70, 0xff}
)

// PolicyStyle returns the look of a policy by its name. That of one with other parameters, or under another name, has
// the colour of the policy, and a mark and dashes that depend on the name it goes by.
func PolicyStyle(policy, name, kind string) Style {
	style := Style{Width: lineWidth}
	switch {
	case isReference(policy, kind):
		return referenceStyle(policy, kind)
	case name == policy:
		style.Color, style.Marker = palette[policyColor(policy)], markers[policyMarker(policy)]
	default:
		h := hashOf(name)
		style.Color, style.Marker = palette[policyColor(policy)], markers[h%len(markers)]
		style.Dashes = dashes[1+h/len(markers)%(len(dashes)-1)]
	}
	return style
}

// policyStyle returns the look of a line of a record. What was published of a policy that is not replayed has no more
// than its label.
func policyStyle(r *records.Record, name string) Style {
	policy := r.Policy
	if policy == "" {
		policy, _, _ = strings.Cut(r.Label, " (")
	}
	return PolicyStyle(policy, name, r.Kind)
}

// isReference reports whether a policy is what others are held against.
func isReference(policy, kind string) bool {
	return kind == "offline" || kind == "bound" || policy == "infinite"
}

// ReferenceStyle returns the look of a line that others are held against.
func ReferenceStyle() Style { return referenceStyle("opt", "offline") }

func referenceStyle(policy, kind string) Style {
	style := Style{Color: black, Width: 1.6, Dashes: referenceDashes[policy]}
	if kind == "bound" {
		style.Color, style.Dashes = grey, []vg.Length{1.5, 3}
	}
	if style.Dashes == nil {
		style.Dashes = dashes[1+hashOf(policy)%(len(dashes)-1)]
	}
	return style
}

func policyColor(policy string) int {
	if look, ok := policyLooks[policy]; ok {
		return look.color
	}
	return hashOf(policy) % len(palette)
}

func policyMarker(policy string) int {
	if look, ok := policyLooks[policy]; ok {
		return look.marker
	}
	return hashOf(policy) / len(palette) % len(markers)
}

// hashOf returns a number that depends on a name alone.
func hashOf(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() >> 1)
}
