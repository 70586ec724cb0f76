package recommender

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Columns are requests for recommendations. The object of a request is its user. They need 8 bytes per request for
// users and tokens, 1 per request for whether its user is hot, and what the lookups need: lists 8 bytes per request
// and 8 per shard that it reads. Lookups that are recomputed need 8 per request, plus 4 per shard that a user owns and
// 8 per shard for generated requests, or 4 per interaction for logs.
type Columns struct {
	Users     []uint32 // per request
	Tokens    []int32  // per request: length of the sequence
	Shards    int      // their numbers are below this
	ShardRows int
	// Population is the population of a node that the requests were generated from; nil if they were read.
	Population *Population

	lookups  lookups
	hot      []bool    // per request
	count    int       // of users
	profiles *profiles // of the whole trace
}

// lookups finds the shards that requests read.
type lookups interface {
	append(c *Columns, request int, to []Lookup) []Lookup
	slice(requests stream.Span) lookups
	pick(requests []int) lookups
	bytes() int64
}

// Of returns the columns of recommender requests; nil if the requests are of another kind.
func Of(kind stream.Columns) *Columns {
	c, _ := kind.(*Columns)
	return c
}

// Lookups appends the shards that a request reads, each once, in the order of first reading. It allocates nothing if
// there is room for them. Several goroutines may call it.
func (c *Columns) Lookups(request int, to []Lookup) []Lookup {
	return c.lookups.append(c, request, to)
}

// Hot reports whether a request is of a hot user. Unless the trace itself states who is hot, these are the users with
// the most requests before this one, up to 5% of the users who have come by then; see activity. Later requests make no
// difference.
func (c *Columns) Hot(request int) bool { return c.hot[request] }

// Turned reports whether a request is of the other turn of the population that it was generated from.
func (c *Columns) Turned(request int) bool {
	m, ok := c.lookups.(*made)
	return ok && c.Population != nil && m.places[request][0]&otherTurn != 0
}

// Slice implements stream.Columns. Users are hot by their earlier requests in the whole trace, and have profiles by all
// of it.
func (c *Columns) Slice(requests, _ stream.Span) stream.Columns {
	part := *c
	part.Users = stream.Cut(c.Users, requests)
	part.Tokens = stream.Cut(c.Tokens, requests)
	part.hot = stream.Cut(c.hot, requests)
	part.lookups = c.lookups.slice(requests)
	return &part
}

func (c *Columns) Only(chosen stream.Chosen) stream.Columns {
	part := *c
	part.Tokens = stream.Pick(c.Tokens, chosen.Requests)
	part.hot = stream.Pick(c.hot, chosen.Requests)
	part.count = len(chosen.Objects)
	part.lookups = c.lookups.pick(chosen.Requests)
	part.profiles = &profiles{whole: &part}
	renumbered := make([]uint32, c.count)
	for user, old := range chosen.Objects {
		renumbered[old] = uint32(user)
	}
	part.Users = make([]uint32, len(chosen.Requests))
	for i, request := range chosen.Requests {
		part.Users[i] = renumbered[c.Users[request]]
	}
	return &part
}

func (c *Columns) Torn() bool { return false }

func (c *Columns) Bytes() int64 {
	return stream.ColumnBytes(c.Users) + stream.ColumnBytes(c.Tokens) + stream.ColumnBytes(c.hot) + c.lookups.bytes()
}

// lists are lookups that are stored.
type lists struct {
	starts []int // per request: where its lookups begin; one more at the end
	all    []Lookup
}

func (l *lists) add(list []Lookup) {
	if len(l.starts) == 0 {
		l.starts = append(l.starts, 0)
	}
	l.all = append(l.all, list...)
	l.starts = append(l.starts, len(l.all))
}

func (l *lists) append(_ *Columns, request int, to []Lookup) []Lookup {
	return append(to, l.all[l.starts[request]:l.starts[request+1]]...)
}

func (l *lists) slice(requests stream.Span) lookups {
	return &lists{l.starts[requests.From : requests.To+1], l.all}
}

func (l *lists) pick(requests []int) lookups {
	part := &lists{starts: []int{0}}
	for _, request := range requests {
		part.add(l.all[l.starts[request]:l.starts[request+1]])
	}
	return part
}

func (l *lists) bytes() int64 { return stream.ColumnBytes(l.starts) + stream.ColumnBytes(l.all) }

// made are lookups that a recipe makes again.
type made struct {
	recipe recipe
	places []place // per request
}

func (m *made) append(c *Columns, request int, to []Lookup) []Lookup {
	return m.recipe.append(m.places[request], c.Tokens[request], to)
}

func (m *made) slice(requests stream.Span) lookups {
	return &made{m.recipe, stream.Cut(m.places, requests)}
}

func (m *made) pick(requests []int) lookups { return &made{m.recipe, stream.Pick(m.places, requests)} }

func (m *made) bytes() int64 { return stream.ColumnBytes(m.places) + m.recipe.bytes() }

// ProfileShards is the most shards in a profile (HLEM, section IV-C, has the shards of 95% of a user's accesses).
const ProfileShards = 64

// profileRequests is the number of a user's requests from which the profile is measured. They are spread evenly over
// all of them: a history that is cut at a length moves on, so the first ones alone would not do.
const profileRequests = 4

// Profile returns the shards from which the user reads the most rows, in descending order, at most ProfileShards; ties
// go to the lower number. The first call measures the profiles of all users, which takes up to four lookups for each
// and 4 bytes per shard.
func (c *Columns) Profile(user uint32) []uint32 {
	c.profiles.measure()
	return c.profiles.shards[c.profiles.starts[user]:c.profiles.starts[user+1]]
}

type profiles struct {
	whole  *Columns // from which they are measured
	once   sync.Once
	starts []int // per user, and one more at the end
	shards []uint32
}

// measure fills in the profiles, once.
func (p *profiles) measure() {
	p.once.Do(func() {
		c := p.whole
		of := c.requestsOf()
		p.starts = make([]int, 1, c.count+1)
		var read []Lookup
		for user := range c.count {
			read = read[:0]
			requests := of.all[of.starts[user]:of.starts[user+1]]
			sampled := min(len(requests), profileRequests)
			for i := range sampled {
				read = c.Lookups(int(requests[i*len(requests)/sampled]), read)
			}
			p.add(read)
		}
	})
}

// add appends the profile of the next user, who read these shards. It overwrites them.
func (p *profiles) add(read []Lookup) {
	slices.SortFunc(read, func(a, b Lookup) int { return cmp.Compare(a.Shard, b.Shard) })
	shards := read[:0]
	for _, l := range read {
		if n := len(shards); n > 0 && shards[n-1].Shard == l.Shard {
			shards[n-1].Rows += l.Rows
		} else {
			shards = append(shards, l)
		}
	}
	slices.SortFunc(shards, func(a, b Lookup) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Shard, b.Shard))
	})
	for _, l := range shards[:min(len(shards), ProfileShards)] {
		p.shards = append(p.shards, l.Shard)
	}
	p.starts = append(p.starts, len(p.shards))
}

type requestLists struct {
	starts []int // per user, and one more at the end
	all    []uint32
}

func (c *Columns) requestsOf() requestLists {
	of := requestLists{make([]int, c.count+2), make([]uint32, len(c.Users))}
	for _, user := range c.Users {
		of.starts[user+2]++
	}
	for i := 2; i < len(of.starts); i++ {
		of.starts[i] += of.starts[i-1]
	}
	// A counting sort. The counts are one place further up than usual, so that starts[user+1] is where the user's next
	// request belongs, and in the end where the next user's begin.
	for request, user := range c.Users {
		of.all[of.starts[user+1]] = uint32(request)
		of.starts[user+1]++
	}
	of.starts = of.starts[:len(of.starts)-1]
	return of
}
