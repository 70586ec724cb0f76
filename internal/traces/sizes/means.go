package sizes

import (
	"math"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Mean is the sum of sizes, and of how many.
type Mean struct{ sum, n float64 }

func (m *Mean) add(other Mean) { m.sum, m.n = m.sum+other.sum, m.n+other.n }

// rounded returns the mean in whole bytes.
func (m Mean) rounded() int64 { return int64(m.sum/m.n + 0.5) }

// Means give an object without a size the mean of similar objects: those with a key of the same pattern, or else of the
// same type, or else all. The mean, not the median, makes totals right: a cache of a number of bytes holds the sum of
// sizes.
//
// Means are rounded so that the sum over the objects that get them is right: up or down in turns.
type Means struct {
	patterns map[string]*group
	types    [stream.ValueTypes]group
	all      group
	text     []byte
}

// group are objects that are like each other.
type group struct {
	Mean
	carried float64 // what was lost by rounding so far
}

// mostPatterns bounds the patterns that are told apart. Keys of further ones count by their type.
const mostPatterns = 1 << 16

// NewMeans returns Means of no objects.
func NewMeans() *Means { return &Means{patterns: map[string]*group{}} }

// Add adds an object whose size is known.
func (m *Means) Add(key []byte, of stream.ValueType, size float64) {
	one := Mean{size, 1}
	m.all.add(one)
	if of != stream.ValueUnknown {
		m.types[of].add(one)
	}
	m.text = AppendPattern(m.text[:0], key)
	g := m.patterns[string(m.text)]
	if g == nil {
		if len(m.patterns) == mostPatterns {
			return
		}
		g = &group{}
		m.patterns[string(m.text)] = g
	}
	g.add(one)
}

// Of returns a size for an object, and where it comes from: Pattern, Type, All, or Unknown if no size is known at all.
func (m *Means) Of(key []byte, of stream.ValueType) (int64, traces.SizeOrigin) {
	m.text = AppendPattern(m.text[:0], key)
	switch g := m.patterns[string(m.text)]; {
	case g != nil:
		return g.next(), traces.SizeOfPattern
	case of != stream.ValueUnknown && m.types[of].n > 0:
		return m.types[of].next(), traces.SizeOfType
	case m.all.n > 0:
		return m.all.next(), traces.SizeOfAll
	}
	return 0, traces.SizeUnknown
}

func (g *group) next() int64 {
	exact := g.sum/g.n + g.carried
	size := int64(math.Floor(exact + 0.5))
	g.carried = exact - float64(size)
	return size
}

// AppendPattern appends the pattern of a key: the key with a star for each part that differs from object to object.
// These are numbers, UUIDs, and long parts with a digit among them: at least 6 hexadecimal digits, or 16 letters and
// digits, such as tokens. user:1234:profile is user:*:profile.
func AppendPattern(to, key []byte) []byte {
	for len(key) > 0 {
		if uuid := uuidLength(key); uuid > 0 {
			to, key = append(to, '*'), key[uuid:]
			continue
		}
		n := 0
		for n < len(key) && isAlphanumeric(key[n]) {
			n++
		}
		if n == 0 {
			to, key = append(to, key[0]), key[1:]
			continue
		}
		to = appendPart(to, key[:n])
		key = key[n:]
	}
	return to
}

// Least lengths of parts that differ from object to object.
const (
	leastHex   = 6
	leastToken = 16
)

// appendPart appends the pattern of a part of letters and digits.
func appendPart(to, part []byte) []byte {
	digit, hex := false, true
	for _, c := range part {
		digit = digit || isDigit(c)
		hex = hex && isHex(c)
	}
	if digit && (hex && len(part) >= leastHex || len(part) >= leastToken) {
		return append(to, '*')
	}
	for i, c := range part {
		if !isDigit(c) {
			to = append(to, c)
		} else if i == 0 || !isDigit(part[i-1]) {
			to = append(to, '*')
		}
	}
	return to
}

// uuidLength returns how many bytes of the key a UUID has that it begins with; 0 if it begins with none.
func uuidLength(key []byte) int {
	const length = len("123e4567-e89b-12d3-a456-426614174000")
	if len(key) < length || len(key) > length && isAlphanumeric(key[length]) {
		return 0
	}
	for i, c := range key[:length] {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !isHex(c) {
			return 0
		}
	}
	return length
}

func isDigit(c byte) bool        { return c >= '0' && c <= '9' }
func isHex(c byte) bool          { return isDigit(c) || c|' ' >= 'a' && c|' ' <= 'f' }
func isAlphanumeric(c byte) bool { return isDigit(c) || c|' ' >= 'a' && c|' ' <= 'z' }
