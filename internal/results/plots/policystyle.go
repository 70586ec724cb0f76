package plots

import (
	"hash/fnv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/results/records"
)

// PolicyStyle returns the look of a policy by its name. That of one with other parameters, or under another name, has
// the colour of the policy, and a mark that depends on the name it goes by.
func PolicyStyle(policy, name, kind string) Style {
	style := Style{Width: lineWidth}
	switch {
	case isReference(policy, kind):
		return referenceStyle(policy, kind)
	case name == policy:
		style.Color, style.Marker = palette[policyColor(policy)], markers[policyMarker(policy)]
	default:
		style.Color, style.Marker = palette[policyColor(policy)], markers[hashOf(name)%len(markers)]
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

// isReference reports whether other policies are compared with this one.
func isReference(policy, kind string) bool {
	return kind == records.Offline || kind == records.Bound || roleOf(policy).Unlimited
}

// roleOf returns the role of a policy; that of a policy that is not in this program is empty.
func roleOf(policy string) records.Role {
	r, _ := records.RoleOf(policy)
	return r
}

// ReferenceStyle returns the look of a line with which others are compared.
func ReferenceStyle() Style {
	return referenceStyle(records.ReferencePolicy(), records.Offline)
}

func referenceStyle(policy, kind string) Style {
	style := Style{Color: ink, Width: 1.6}
	for _, length := range roleOf(policy).Dashes {
		style.Dashes = append(style.Dashes, vg.Length(length))
	}
	if kind == records.Bound {
		style.Color, style.Dashes = bound, []vg.Length{1.5, 3}
	}
	if style.Dashes == nil {
		style.Dashes = dashes[1+hashOf(policy)%(len(dashes)-1)]
	}
	return style
}

func policyColor(policy string) int {
	if color := roleOf(policy).Color; color > 0 {
		return color - 1
	}
	return hashOf(policy) % len(palette)
}

func policyMarker(policy string) int {
	if mark := roleOf(policy).Mark; mark > 0 {
		return mark - 1
	}
	return hashOf(policy) / len(palette) % len(markers)
}

// hashOf returns a number that depends on a name alone.
func hashOf(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() >> 1)
}
