package admit

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

var adaptSizeEntry = Entry{
	Name: "adaptsize",
	Summary: "admits an object of s bytes with probability exp(-s/c), where c is the best by a model of the requests so " +
		"far",
	Source: "Berger, Sitaraman and Harchol-Balter, AdaptSize: orchestrating the hot object memory cache in a content " +
		"delivery network, NSDI 2017",
	Sizes:     true,
	Random:    true,
	PerObject: 4 + 24,
	Params: []params.Param{
		{Name: "every", Default: 500_000, Min: 1000, Max: 1 << 30, Doc: "requests after which c is chosen anew, if the " +
			"objects that are known have more than three times the capacity; otherwise after 10,000 more"},
		{Name: "first", Default: "32KiB", Doc: "c until it is chosen"},
		{Name: "decay", Default: 0.3, Min: 0, Max: 0.999, Doc: "weight of all earlier requests in an object's rate, which " +
			"the requests since the last choice complete"},
	},
	Check: func(v params.Values) error {
		_, err := bytesOf(v, "first")
		return err
	},
	New: func(c Config) (Admission, error) {
		v := c.Params
		first, err := bytesOf(v, "first")
		if err != nil {
			return nil, err
		}
		a := &adaptSize{
			bySize:   newBySize(c.Seed, float64(first)),
			capacity: float64(c.Capacity),
			every:    v.Int("every"),
			left:     v.Int("every"),
			decay:    v.Float("decay"),
			place:    make([]uint32, c.Objects),
		}
		return a, c.needBytes("adaptsize")
	},
}

// adaptSize admits objects by their sizes. It knows how often each object was requested lately, and chooses c so that
// a model of LRU predicts the most hits.
//
// Memory: 4 bytes per object, 24 for each that is known, and some 10 MB for classes.
type adaptSize struct {
	bySize
	capacity    float64
	every, left int // requests between two choices, and until the next
	decay       float64
	place       []uint32 // per object: its place in known, from 1 on, or 0
	known       []popularity
	bytes       int64   // of the objects that are known
	classes     []class // of the last choice, by rate and then by size
	used        []class // those that have objects
}

// popularity is how often an object was requested.
type popularity struct {
	object requests.Object
	since  uint32  // requests since the last choice of c
	rate   float64 // requests between two choices, smoothed; unknown before the first choice
	size   int64
}

// unknown is the rate of an object that was first requested after the last choice.
const unknown = -1

// forgotten is the rate below which an object is forgotten.
const forgotten = 0.1

// shortOfBytes is how many requests a choice waits for more objects.
const shortOfBytes = 10_000

func (a *adaptSize) Request(r requests.Request, _ int) {
	if a.left--; a.left == 0 {
		if a.left = shortOfBytes; float64(a.bytes) > 3*a.capacity {
			a.left = a.every
			a.smooth()
			a.choose()
		}
	}
	at := a.place[r.Object]
	if at == 0 {
		a.known = append(a.known, popularity{object: r.Object, rate: unknown})
		at = uint32(len(a.known))
		a.place[r.Object] = at
	}
	p := &a.known[at-1]
	p.since++
	a.bytes += r.Size - p.size
	p.size = r.Size
}

func (a *adaptSize) Admit(r requests.Request) bool { return a.admits(r.Size) }

// smooth closes the requests since the last choice, and forgets the objects that are hardly requested any more.
func (a *adaptSize) smooth() {
	kept := a.known[:0]
	for _, p := range a.known {
		p.close(a.decay)
		if p.rate < forgotten {
			a.place[p.object] = 0
			a.bytes -= p.size
			continue
		}
		kept = append(kept, p)
		a.place[p.object] = uint32(len(kept))
	}
	a.known = kept
}

func (p *popularity) close(decay float64) {
	since := float64(p.since)
	p.since = 0
	if p.rate == unknown {
		p.rate = since
		return
	}
	p.rate = float64(p.rate*decay) + float64((1-decay)*since)
}

// class is all objects of about the same rate and size.
type class struct {
	objects    float64
	rate, size float64 // the sums over its objects; once they are complete, the means
	admitted   float64 // the probability under the c that is tried
}

// Classes are narrow: between a number and its double there are sixteen. They keep the effort of the model small,
// however many objects are known.
const (
	// leading is the number of bits of a float64 that do not tell classes apart.
	leading = 48
	// sizeClasses is the number of classes for sizes up to 2^62 bytes.
	sizeClasses = 62 * 16
)

// octaves returns the class of a number that is at least the smallest.
func octaves(x, smallest float64) int {
	return int(math.Float64bits(x)>>leading) - int(math.Float64bits(smallest)>>leading)
}

// classify sums up what is known.
func (a *adaptSize) classify() {
	clear(a.classes)
	for _, p := range a.known {
		size := max(1, float64(p.size))
		at := octaves(p.rate, forgotten)*sizeClasses + octaves(size, 1)
		if at >= len(a.classes) {
			a.classes = append(a.classes, make([]class, at+1-len(a.classes))...)
		}
		c := &a.classes[at]
		c.objects++
		c.rate += p.rate
		c.size += size
	}
	a.used = a.used[:0]
	for _, c := range a.classes {
		if c.objects > 0 {
			c.rate /= c.objects
			c.size /= c.objects
			a.used = append(a.used, c)
		}
	}
}

// choose sets c to what the model predicts the most hits of, as the authors search it: on a grid of powers of 16, and
// then by golden sections, in the longer part of what is beside the best of the grid.
func (a *adaptSize) choose() {
	a.classify()
	highest := random.Log(a.capacity) / math.Ln2
	best, most := highest, 0.0
	for x := 2.0; x < highest; x += 4 {
		if hits := a.hits(x); hits > most {
			best, most = x, hits
		}
	}
	const section = 0.61803399
	low, high := 0.0, highest
	left, right := best, best
	onLeft, onRight := most, most
	if high-best > best {
		right = best + float64((1-section)*(high-best))
		onRight = a.hits(right)
	} else {
		left = float64((1 - section) * best)
		onLeft = a.hits(left)
	}
	for range refinements {
		if onRight > onLeft {
			low, left, onLeft = left, right, onRight
			right = float64(section*left) + float64((1-section)*high)
			onRight = a.hits(right)
		} else {
			high, right, onRight = right, left, onLeft
			left = float64(section*right) + float64((1-section)*low)
			onLeft = a.hits(left)
		}
	}
	if onLeft > onRight {
		right = left
	}
	a.c = pow2(right)
}

// The effort of the authors' program, on which its choice depends: neither search has come to its end by then.
const (
	refinements = 15 // golden sections
	rounds      = 10 // to find how long objects stay
)

// hits returns the hits between two choices that the model predicts if c is 2^x bytes.
func (a *adaptSize) hits(x float64) float64 {
	c, loaded := pow2(x), 0.0
	for i := range a.used {
		u := &a.used[i]
		u.admitted = admitted(u.size, c)
		loaded += float64(u.objects * u.rate * u.size * u.admitted)
	}
	if loaded <= 0 {
		return 0
	}
	// How long an object stays that is not requested, in units of the time between two choices: until the cache is full.
	stay := a.capacity / loaded
	for range rounds {
		if stay > 1e70 {
			break
		}
		bytes := 0.0
		for _, u := range a.used {
			bytes += float64(u.objects * u.size * u.resident(u.rate*stay))
		}
		stay *= a.capacity / bytes
	}
	hits := 0.0
	for _, u := range a.used {
		hits += float64(u.objects * u.rate * u.hitRatio(u.rate*stay))
	}
	return hits
}

// resident returns the probability that an object is resident by the paper's model, if it is expected to be requested
// that often while it stays without a request: xp/(1+xp), where x is e^expected-1 and p the probability of admission.
func (c *class) resident(expected float64) float64 {
	if expected > 150 {
		return 1
	}
	odds := float64((random.Exp(expected) - 1) * c.admitted)
	return odds / (1 + odds)
}

// hitRatio approximates the same probability as the authors do for hits: by a quotient of polynomials, which is below
// it for objects that are requested often and seldom admitted.
func (c *class) hitRatio(expected float64) float64 {
	x, p := expected, c.admitted
	above := p * x * (840 + float64(x*(60+float64(x*(20+x)))))
	below := 840 + float64(x*(float64(120*(float64(7*p)-3))+
		float64(x*(float64(60*(1+p))+float64(x*(float64(4*(float64(5*p)-1))+float64(p*x)))))))
	if below == 0 {
		return 0
	}
	return max(0, min(1, above/below))
}

// pow2 returns 2^x.
func pow2(x float64) float64 { return random.Exp(x * math.Ln2) }
