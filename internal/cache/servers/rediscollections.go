package servers

import (
	"errors"
	"fmt"
	"math/bits"
	"path"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// collectionParams say which keys have hashes and lists, and how large the parts of these are in the mean: their number
// follows from the bytes of a value.
var collectionParams = []params.Param{
	{Name: "hashes", Default: "", Doc: "keys, as a pattern such as user:*, whose values are hashes; with version=7.0"},
	{Name: "field", Default: 8, Min: 1, Max: 1 << 20, Doc: "bytes of the name of a field of hashes, in the mean"},
	{Name: "lists", Default: "", Doc: "keys, as a pattern such as feed:*, whose values are lists; with version=7.0"},
	{Name: "element", Default: 20, Min: 1, Max: 1 << 30, Doc: "bytes of the value of a field of hashes, and of an " +
		"element of lists, in the mean"},
}

// keyPatterns are the settings that say what the values of keys are.
var keyPatterns = []string{"integers", "hashes", "lists"}

// checkCollections refuses hashes and lists in versions whose encodings were not held against the program, and settings
// that contradict each other or that nothing asks for.
func checkCollections(v params.Values) error {
	if v.Text("version") != "7.0" && v.Text("hashes")+v.Text("lists") != "" {
		return errors.New("hashes and lists: what they take is known of version=7.0 only; choose it, or let them count as " +
			"strings of their bytes")
	}
	for i, name := range keyPatterns {
		for _, other := range keyPatterns[:i] {
			if pattern := v.Text(name); pattern != "" && pattern == v.Text(other) {
				return fmt.Errorf("%s=%s and %s=%[2]s: a value is one of them; remove one, or give it a pattern of its own",
					other, pattern, name)
			}
		}
	}
	differs := func(name string) bool {
		at := slices.IndexFunc(collectionParams, func(p params.Param) bool { return p.Name == name })
		return v[name] != collectionParams[at].Default
	}
	switch {
	case v.Text("hashes") == "" && differs("field"):
		return fmt.Errorf("field=%d is the name of a field of hashes, and needs hashes=PATTERN, such as hashes=user:*",
			v.Int("field"))
	case v.Text("hashes")+v.Text("lists") == "" && differs("element"):
		return fmt.Errorf("element=%d needs hashes=PATTERN or lists=PATTERN, such as lists=feed:*", v.Int("element"))
	}
	return nil
}

// checkKeys refuses patterns of which two match the same key.
func checkKeys(v params.Values, t *traces.Trace) error {
	var given []string
	for _, name := range keyPatterns {
		if v.Text(name) != "" {
			given = append(given, name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	for _, key := range t.Keys {
		first := ""
		for _, name := range given {
			matches, _ := path.Match(v.Text(name), key.String())
			switch {
			case matches && first != "":
				return fmt.Errorf("the key %s matches %s=%s and %s=%s: a value is one of them; write patterns that no key "+
					"matches twice", key, first, v.Text(first), name, v.Text(name))
			case matches:
				first = name
			}
		}
	}
	return nil
}

// Limits of Redis 7.0 as it comes, and the parts of its encodings, in bytes.
const (
	mostPacked    = 512     // hash-max-listpack-entries
	largestPacked = 64      // hash-max-listpack-value
	nodeLimit     = 8 << 10 // list-max-listpack-size -2
	packHeader    = 7       // a listpack's own, with its end
	nodeSlack     = 8       // what quicklist.c takes a further element to need beside its bytes
	dictBytes     = 56
	fewestSlots   = 4
	quicklist     = 40
	quicklistNode = 40
)

// collections are hashes and lists of elements that are alike.
type collections struct {
	hashes, lists  func(o policies.Object) bool
	field, element int64
	some           bool  // keys are named
	asked, short   int64 // requests for them, and those whose values have fewer bytes than one part
}

// count counts a request, whether it hits or not, so that all capacities say the same.
func (c *collections) count(r *request) {
	least := c.element
	switch {
	case c.hashes(r.object):
		least += c.field
	case !c.lists(r.object):
		return
	}
	if c.asked++; r.value < least {
		c.short++
	}
}

// remark says how many values field and element do not describe.
func (c *collections) remark() string {
	if c.short == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%% of the requests for hashes and lists are for values of fewer bytes than one part "+
		"(field=%d, element=%d), which count as one part of their own bytes", 100*float64(c.short)/float64(c.asked),
		c.field, c.element)
}

// itemOf returns the bytes of an item.
func (s *redis) itemOf(r *request) int64 {
	o, value := r.object, int64(0)
	switch {
	case s.hashes(o):
		value = s.hash(s.fields(r.value))
	case s.lists(o):
		value = s.list(s.elements(r.value))
	default:
		return s.item(r.key(), r.value, r.end != 0, s.integers(o))
	}
	return s.item(r.key(), 1, r.end != 0, true) + value // the object of a whole number has nothing beside it
}

// arguments returns the bytes of what a command stores, before it is stored: of a collection, each part is an object.
func (s *redis) arguments(r *request) int64 {
	switch o := r.object; {
	case s.hashes(o):
		n, field, element := s.fields(r.value)
		return n*(s.text(field)+s.text(element)) + s.block(2*n*slotBytes)
	case s.lists(o):
		n, element := s.elements(r.value)
		return n*s.text(element) + s.block(n*slotBytes)
	}
	return s.block(sds(r.value))
}

// fields and elements return how many parts a hash and a list of so many bytes have, and how large these are: none is
// larger than the value.
func (c *collections) fields(bytes int64) (n, field, element int64) {
	if bytes < c.field+c.element {
		field = min(c.field, bytes)
		return 1, field, bytes - field
	}
	return parts(bytes, c.field+c.element), c.field, c.element
}

func (c *collections) elements(bytes int64) (n, element int64) {
	if bytes < c.element {
		return 1, bytes
	}
	return parts(bytes, c.element), c.element
}

func parts(bytes, each int64) int64 { return (bytes + each/2) / each }

// text returns the bytes of an object with a text of so many bytes.
func (m *redisMemory) text(n int64) int64 {
	if n <= embeddedValue {
		return m.block(objectHeader + 3 + n + 1)
	}
	return m.block(objectHeader) + m.block(sds(n))
}

// hash returns the bytes of the encoding of a hash of so many fields (t_hash.c, dict.c): a listpack or, of many fields
// or large ones, a table.
func (m *redisMemory) hash(n, field, element int64) int64 {
	small := field <= largestPacked && element <= largestPacked
	if small && n <= mostPacked {
		return m.block(packHeader + n*(packed(field)+packed(element)))
	}
	slots := max(fewestSlots, int64(1)<<bits.Len64(uint64(n-1)))
	table := slots * slotBytes
	// Each command moves two or three slots from the table before it grew, if there was one.
	if 10*n < 7*slots && slots > fewestSlots && !(small && slots <= 2*mostPacked) {
		table += table / 2
	}
	return m.block(dictBytes) + m.block(table) + n*(m.block(dictEntry)+m.block(sds(field))+m.block(sds(element)))
}

// list returns the bytes of the encoding of a list of so many elements (quicklist.c): nodes with a listpack each.
func (m *redisMemory) list(n, element int64) int64 {
	perNode := max(1, 1+(nodeLimit-packHeader-nodeSlack-element)/packed(element))
	node := func(n int64) int64 { return m.block(quicklistNode) + m.block(packHeader+n*packed(element)) }
	all := m.block(quicklist) + n/perNode*node(perNode)
	if rest := n % perNode; rest > 0 {
		all += node(rest)
	}
	return all
}

// packed returns the bytes of a text in a listpack (listpack.c): its header, and behind it its length again.
func packed(n int64) int64 {
	switch {
	case n < 64:
		n++
	case n < 4096:
		n += 2
	default:
		n += 5
	}
	back := int64(1)
	for limit := int64(127); n > limit && back < 5; limit = limit<<7 | 127 {
		back++
	}
	return n + back
}
