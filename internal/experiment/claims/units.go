package claims

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// unit is the unit of a value, which determines its format and the meaning of a tolerance.
type unit int

const (
	anyUnit unit = iota // the claim alone does not tell
	plain               // 1.083
	share               // 34.82%
	count               // 94,823
)

func unitOfName(name string) unit {
	m, ok := metric.Lookup(name)
	switch {
	case m.Unit == metric.Share || name == records.DimCapacityShare || name == "sample_rate":
		return share
	case m.Unit == metric.Count || m.Unit == metric.Bytes || records.IsSetting(name):
		return count
	case ok:
		return plain
	}
	return anyUnit
}

// unitOf returns the unit of an expression as far as the claim tells it.
func unitOf(x expr) unit {
	switch x := x.(type) {
	case number:
		if x.isShare() {
			return share
		}
	case figure:
		return unitOfName(x.name)
	case fixed:
		return unitOf(x.of)
	case name:
		return unitOfName(string(x))
	case operation:
		return unitOfOperation(x.op, unitOf(x.left), unitOf(x.right))
	case negation:
		return unitOf(x.of)
	case over:
		if x.isPlace() {
			return anyUnit
		}
		return unitOf(x.of)
	case call:
		if x.changesUnit() {
			return plain
		}
		return unitOfAll(x.arguments)
	}
	return anyUnit
}

// isPlace reports whether the value is one of the dimension, not of what is taken over it.
func (x over) isPlace() bool { return x.take == "argmin" || x.take == "argmax" }

// changesUnit reports whether the value has another unit than the argument.
func (x call) changesUnit() bool {
	return x.function == "sqrt" || x.function == "ln" || x.function == "log2"
}

func unitOfOperation(op byte, left, right unit) unit {
	switch {
	case op == '+' || op == '-':
		return common(left, right)
	case op == '/' && left == right && left != anyUnit:
		return plain
	case op == '/' && right != anyUnit && right != plain:
		return anyUnit
	case left == anyUnit || left == plain:
		return right
	case right == anyUnit || right == plain:
		return left
	}
	return anyUnit
}

// common is the unit of values that are compared or added: a ratio compared with 105% is written as a percentage too.
func common(a, b unit) unit {
	if a == anyUnit || a == plain && b == share {
		return b
	}
	return a
}

func unitOfAll(all []expr) unit {
	u := anyUnit
	for _, x := range all {
		u = common(u, unitOf(x))
	}
	return u
}

// write formats x with the usual number of digits in papers, plus extra.
func (u unit) write(x float64, extra int) string {
	switch {
	case math.Abs(x) >= 1e15:
		return strconv.FormatFloat(x, 'g', 4+extra, 64)
	case u == share:
		return strconv.FormatFloat(x*100, 'f', 2+extra, 64) + "%"
	case x == math.Trunc(x):
		return show.Count(int64(x))
	case u == count || math.Abs(x) >= 1000:
		whole := math.Trunc(x)
		digits := strconv.FormatFloat(math.Abs(x-whole), 'f', 1+extra, 64)
		if digits[0] == '1' || x < 0 { // rounded up to the next whole number, or -0.4, whose whole part has no sign
			return strconv.FormatFloat(x, 'f', 1+extra, 64)
		}
		return show.Count(int64(whole)) + digits[1:]
	}
	return strconv.FormatFloat(x, 'g', 4+extra, 64)
}

// maxExtra limits the digits that are added to show a difference between values.
const maxExtra = 9

// writeAll formats values that are shown together: different values look different.
func (u unit) writeAll(values []float64) []string {
	texts := make([]string, len(values))
	for extra := range maxExtra {
		alike := false
		for i, x := range values {
			texts[i] = u.write(x, extra)
			alike = alike || i > 0 && texts[i] == texts[i-1] && records.CompareNumbers(x, values[i-1]) != 0
		}
		if !alike {
			break
		}
	}
	return texts
}

// writeDifference formats a positive number so that it does not look like 0.
func (u unit) writeDifference(x float64) string {
	text := u.write(x, 0)
	for extra := 1; extra < maxExtra && !strings.ContainsAny(text, "123456789"); extra++ {
		text = u.write(x, extra)
	}
	return text
}

// Unit names the unit of the values that the claim compares, for people: "%", "points" for differences of such, "ms",
// "misses", "x" for how many times as much; "" if the claim alone does not tell.
func (c *Claim) Unit() string {
	operands := c.says.operands()
	if unitOfAll(operands) == share && !slices.ContainsFunc(operands, isDifference) {
		return "%"
	}
	for _, x := range operands {
		if isDifference(x) {
			return "points"
		}
		if name := nameOfUnit(x); name != "" {
			return name
		}
	}
	return ""
}

// isDifference reports whether a value is by how much two shares differ.
func isDifference(x expr) bool {
	switch x := x.(type) {
	case over:
		return isDifference(x.of)
	case operation:
		return x.op == '-' && nameOfUnit(x.left) == "%" && nameOfUnit(x.right) == "%"
	}
	return false
}

// times is the unit of a quotient of values of one unit.
const times = "x"

// nameOfUnit is the unit of an expression, for people.
func nameOfUnit(x expr) string {
	switch x := x.(type) {
	case figure:
		return nameOfMetric(x.name)
	case fixed:
		return nameOfUnit(x.of)
	case name:
		return nameOfMetric(string(x))
	case operation:
		left, right := nameOfUnit(x.left), nameOfUnit(x.right)
		if x.op == '-' && (isOne(x.left) && right == times || left == times && isOne(x.right)) {
			return "%" // 1 - misses(arc) / misses(lru)
		}
		return nameOfOperation(x.op, left, right)
	case negation:
		return nameOfUnit(x.of)
	case over:
		if x.isPlace() {
			return ""
		}
		return nameOfUnit(x.of)
	case call:
		if x.changesUnit() {
			return ""
		}
		for _, argument := range x.arguments {
			if name := nameOfUnit(argument); name != "" {
				return name
			}
		}
	}
	return ""
}

func isOne(x expr) bool {
	n, ok := x.(number)
	return ok && n.value == 1
}

func nameOfMetric(name string) string {
	m, _ := metric.Lookup(name) // also one whose labels are places of a dimension
	switch {
	case m.Name == "":
		return ""
	case m.Unit == metric.Share:
		return "%"
	case m.Unit == metric.Ratio:
		return times
	case m.Unit == metric.Count:
		return strings.ReplaceAll(name, "_", " ")
	case m.Unit == metric.Bytes:
		return "B"
	case m.Unit == metric.PerSecond:
		return "/s"
	}
	return string(m.Unit)
}

func nameOfOperation(op byte, left, right string) string {
	switch {
	case op == '/' && left == right && left != "":
		return times
	case op == '/' && (left == "" || left == times):
		return ""
	case (op == '+' || op == '-') && (left == times || right == times) && left != right:
		return ""
	case left == "" || left == times:
		return right
	case right == "" || right == times || left == right && op != '*':
		return left
	case op == '/':
		return left + "/" + right
	}
	return "" // a product of two units
}
