package plots

import (
	"hash/fnv"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/records"
)

// PolicyStyle returns the look of a policy by its name. With other parameters, or under another name, it keeps the
// colour of the policy and has a mark that depends on that name.
func PolicyStyle(policy, name, kind string) Style {
	style := Style{Width: lineWidth}
	switch {
	case isReference(policy, kind):
		return referenceStyle(policy, kind)
	case name == policy:
		// the mark by what of the hash does not choose the colour
		mark := hashOf(policy) / len(palette) % len(markers)
		if own := roleOf(policy).Mark; own > 0 {
			mark = own - 1
		}
		style.Color, style.Marker = palette[policyColor(policy)], markers[mark]
	default:
		style.Color, style.Marker = palette[policyColor(policy)], markers[hashOf(name)%len(markers)]
	}
	return style
}

// isReference reports whether other policies are compared with this one.
func isReference(policy, kind string) bool {
	return kind == records.Offline || kind == records.Bound || roleOf(policy).Unlimited
}

// roleOf returns the role of a policy; an empty one for a policy that is not in this program.
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
	if style.Dashes == nil { // not dashes[0], which is solid as the lines of other policies
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

// hashOf returns a number that depends on a name alone. Without its top bit it is positive where int has 32 bits, too.
func hashOf(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() >> 1)
}
