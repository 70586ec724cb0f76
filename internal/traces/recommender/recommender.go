// Package recommender is the kind of workload of a service that recommends items: each request is for a user, whose
// history is a sequence of tokens, and reads rows of embedding tables. It has the columns of such requests and the
// formats that hold them.
package recommender

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Lookup is a number of rows of one shard that a request reads.
type Lookup struct{ Shard, Rows uint32 }

// Bounds of what a trace may claim.
const (
	maxTokens    = 1 << 24 // of one request
	maxShards    = 1 << 27 // numbers of shards: caches have a field for each
	maxShardRows = 1 << 24
	maxRows      = 1 << 29 // that one request reads
	maxLookups   = 1 << 16 // shards that one request reads
)

// DefaultShardRows is the number of rows in a shard where a trace does not state it: 2 MiB of rows of 2048 bytes.
const DefaultShardRows = 1024

// Unknown is the value of Head.Hot if the trace does not say whether the user is a hot one.
const Unknown = -1

// hotShare is the share of the users that count as hot: those with the most requests (HLEM, section V-A).
const hotShare = 0.05

// Kind are requests for recommendations, of which Record.Extra is a Head.
type Kind struct{ stream.Single }

// Name implements stream.Kind.
func (Kind) Name() string { return "recommender requests" }

// Format implements stream.Kind.
func (Kind) Format() string { return "recommender" }

// Lost implements stream.Kind.
func (Kind) Lost() string { return "lengths of the sequences and which shards a request reads" }

// Conflict implements stream.Kind.
func (Kind) Conflict(other stream.Kind) string {
	if _, ok := other.(Kind); !ok {
		return "only one of them has recommender requests"
	}
	return ""
}

// OftenUnrepeated implements stream.Kind: a user may well come once.
func (Kind) OftenUnrepeated() bool { return true }

// NewColumns implements stream.Kind.
func (Kind) NewColumns(fields stream.Fields) stream.ColumnsBuilder {
	return &builder{clock: fields.Time && !fields.Counted}
}

// Table implements stream.Kind.
func (Kind) Table() *stream.Table { return nil }

// Head is what is known about a request besides its user and its time.
type Head struct {
	Tokens    int64    // length of the sequence
	Lookups   []Lookup // in order of first reading, each shard once
	ShardRows int64    // rows of a shard, the same for all requests
	Hot       int64    // 1 if the user is a hot one, 0 if not, or Unknown
}

// Clone implements stream.Extra.
func (h *Head) Clone() stream.Extra {
	copied := *h
	copied.Lookups = slices.Clone(h.Lookups)
	return &copied
}

// HeadOf returns what is known about a request; nil if it is not one for recommendations.
func HeadOf(rec *stream.Record) *Head {
	head, _ := rec.Extra.(*Head)
	return head
}

// check refuses a request that cannot be one.
func (h *Head) check() error {
	switch {
	case h.Tokens < 1 || h.Tokens > maxTokens:
		return fmt.Errorf("%d tokens: want 1 to 2^24; a user without a history makes no request", h.Tokens)
	case h.ShardRows < 1 || h.ShardRows > maxShardRows:
		return fmt.Errorf("%d rows in a shard: want 1 to 2^24", h.ShardRows)
	case h.Hot < Unknown || h.Hot > 1:
		return fmt.Errorf("hot is %d: want 1 for a hot user, 0 for others, -1 if it is not known", h.Hot)
	case len(h.Lookups) == 0:
		return errors.New("a request that reads no shard: want at least one")
	case len(h.Lookups) > maxLookups:
		return fmt.Errorf("a request that reads %d shards: want at most 2^16", len(h.Lookups))
	}
	rows := uint64(0)
	for _, l := range h.Lookups {
		if l.Shard >= maxShards {
			return fmt.Errorf("shard %d: want numbers below 2^27", l.Shard)
		}
		if l.Rows < 1 {
			return fmt.Errorf("no rows of shard %d: want at least 1", l.Shard)
		}
		rows += uint64(l.Rows)
	}
	if rows > maxRows {
		return fmt.Errorf("a request that reads %d rows: want at most 2^29", rows)
	}
	return nil
}

// builder collects the requests of a trace while it loads.
type builder struct {
	Columns
	clock    bool
	time     int64 // of the previous request
	lists    lists
	requests []uint32 // per user
	stated   []int8   // per user: Head.Hot
}

// Add implements stream.ColumnsBuilder. The object is the user.
func (b *builder) Add(rec *stream.Record, user uint32) error {
	head := HeadOf(rec)
	if head == nil {
		return errors.New("a request without tokens and lookups among recommender requests")
	}
	if err := head.check(); err != nil {
		return err
	}
	if err := b.checkOrder(rec.Time); err != nil {
		return err
	}
	switch {
	case len(b.Tokens) == 0:
		b.ShardRows = int(head.ShardRows)
	case int(head.ShardRows) != b.ShardRows:
		return fmt.Errorf("%d rows in a shard after requests with %d: want the same in all requests", head.ShardRows,
			b.ShardRows)
	}
	if err := b.count(user, int8(head.Hot)); err != nil {
		return err
	}
	b.Users = append(b.Users, user)
	b.Tokens = append(b.Tokens, int32(head.Tokens))
	b.lists.add(head.Lookups)
	for _, l := range head.Lookups {
		b.Shards = max(b.Shards, int(l.Shard)+1)
	}
	return nil
}

// checkOrder refuses a clock that goes back: a node serves requests as they arrive.
func (b *builder) checkOrder(time int64) error {
	if b.clock && time < b.time {
		return fmt.Errorf("time %s s is before that of the previous request, %s s: want requests in order of time; sort "+
			"the file, or read several with --merge", source.AppendSeconds(nil, time), source.AppendSeconds(nil, b.time))
	}
	b.time = time
	return nil
}

// count notes a request of a user.
func (b *builder) count(user uint32, hot int8) error {
	if int(user) == len(b.requests) {
		b.requests = append(b.requests, 0)
		b.stated = append(b.stated, hot)
	}
	if b.stated[user] != hot {
		return fmt.Errorf("hot is %d after requests of the same user with %d: want the same in all of them", hot,
			b.stated[user])
	}
	b.requests[user]++
	return nil
}

// Finish implements stream.ColumnsBuilder.
func (b *builder) Finish() stream.Columns {
	columns := b.Columns
	columns.lookups = &b.lists
	columns.hot = hotUsers(b.requests, b.stated)
	columns.profiles = &profiles{whole: &columns}
	return &columns
}

// hotUsers returns which users are hot: those of which the trace says so and, if it does not say so of every user, the
// 5% with the most requests among the others; on a tie, the user that came first.
func hotUsers(requests []uint32, stated []int8) []bool {
	hot := make([]bool, len(requests))
	var others []uint32
	for user, said := range stated {
		if hot[user] = said == 1; said == Unknown {
			others = append(others, uint32(user))
		}
	}
	slices.SortStableFunc(others, func(a, b uint32) int { return int(requests[b]) - int(requests[a]) })
	for _, user := range others[:int(hotShare*float64(len(others))+0.5)] {
		hot[user] = true
	}
	return hot
}
