// Package recommender is the kind of workload of a service that recommends items: each request is for a user with a
// history of tokens, and reads rows of embedding tables. It has the columns of such requests and the formats that hold
// them.
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

// Bounds on the numbers in a trace.
const (
	maxTokens    = 1 << 24 // of one request
	maxShards    = 1 << 27 // numbers of shards: caches have a field for each
	maxShardRows = 1 << 24
	maxRows      = 1 << 29   // that one request reads
	maxLookups   = 1<<16 - 1 // shards that one request reads
)

// DefaultShardRows is the number of rows in a shard where a trace does not state it: 2 MiB of rows of 2048 bytes.
const DefaultShardRows = 1024

// Unknown is the value of Head.Hot if the trace does not say whether the user is a hot one.
const Unknown = -1

// Kind are requests for recommendations. Record.Extra of each is a Head.
type Kind struct {
	stream.Single
	recipe recipe // makes the lookups again; nil if each request has a list of them
}

// recipe makes the lookups of requests from their places, so that they need not be stored.
type recipe interface {
	append(at place, tokens int32, to []Lookup) []Lookup
	describe(c *Columns) // fills in the fields that all requests have
	bytes() int64
}

// place is where a recipe finds a request.
type place [2]uint32

func (Kind) Name() string    { return "recommender requests" }
func (Kind) Request() string { return "recommender requests" }
func (Kind) Format() string  { return "recommender" }
func (Kind) Lost() string    { return "lengths of the sequences and which shards a request reads" }

func (k Kind) Conflict(other stream.Kind) string {
	o, ok := other.(Kind)
	switch {
	case !ok:
		return "only one of them has recommender requests"
	case k.recipe != o.recipe:
		return "the histories of users belong to one log: concatenate the logs to a file"
	}
	return ""
}

// Unrepeated implements stream.Kind: a user may well come once.
func (Kind) Unrepeated() string { return "the rows that users have in common (--cache pools)" }

func (k Kind) NewColumns(fields stream.Fields) stream.ColumnsBuilder {
	return &builder{clock: fields.Time && !fields.Counted, recipe: k.recipe}
}

// Table implements stream.Kind: rows are requests if they have tokens, and shards or rows.
func (Kind) Table() *stream.Table {
	return &stream.Table{
		Key: "user",
		Columns: []stream.TableColumn{
			{Name: "tokens"}, {Name: "shard_rows"}, {Name: "hot"}, {Name: "shards"}, {Name: "rows", ReadOnly: true},
		},
		Is:  func(has []bool) bool { return has[0] && (has[3] || has[4]) },
		Of:  Kind{},
		New: func() stream.Row { return &Head{ShardRows: DefaultShardRows, Hot: Unknown, lists: &listReader{}} },
		Check: func(_, row stream.Row) error {
			head := row.(*Head)
			if head.lists == nil {
				return nil
			}
			return head.parse(head.lists)
		},
	}
}

// Head is what is known about a request besides its user and its time. It implements stream.Extra.
type Head struct {
	Tokens    int64    // length of the sequence
	ShardRows int64    // rows of a shard, the same for all requests
	Hot       int64    // 1 if the user is a hot one, 0 if not, or Unknown
	List      []Lookup // in order of first reading, each shard once; empty if a recipe makes the lookups

	recipe recipe
	at     place

	shards, rows []byte      // lists as text, while a table is read or written
	lists        *listReader // reads them if they come from Parquet
	text         []byte
}

func (h *Head) Lookups(to []Lookup) []Lookup {
	if h.recipe != nil {
		return h.recipe.append(h.at, int32(h.Tokens), to)
	}
	return append(to, h.List...)
}

func (h *Head) Clone() stream.Extra {
	return &Head{Tokens: h.Tokens, ShardRows: h.ShardRows, Hot: h.Hot, List: slices.Clone(h.List), recipe: h.recipe,
		at: h.at}
}

// Cells implements stream.Row. The cells of a request have its lookups as text; the cells of an empty row are to be
// filled in.
func (h *Head) Cells(to []any) []any {
	if h.recipe != nil || len(h.List) > 0 {
		h.text = appendList(h.text[:0], h.Lookups(nil))
		h.shards = h.text
	}
	return append(to, &h.Tokens, &h.ShardRows, &h.Hot, &h.shards, &h.rows)
}

// HeadOf returns what is known about a request; nil if it is not one for recommendations.
func HeadOf(rec *stream.Record) *Head {
	head, _ := rec.Extra.(*Head)
	return head
}

// check refuses a request beyond the bounds that memory and types allow.
func (h *Head) check() error {
	switch {
	case h.Tokens < 1 || h.Tokens > maxTokens:
		return fmt.Errorf("%d tokens: want 1 to 2^24; a user without a history makes no request", h.Tokens)
	case h.ShardRows < 1 || h.ShardRows > maxShardRows:
		return fmt.Errorf("%d rows in a shard: want 1 to 2^24", h.ShardRows)
	case h.Hot < Unknown || h.Hot > 1:
		return fmt.Errorf("hot is %d: want 1 for a hot user, 0 for others, -1 if it is not known", h.Hot)
	case h.recipe == nil && len(h.List) == 0:
		return errors.New("a request that reads no shard: want at least one")
	case len(h.List) > maxLookups:
		return fmt.Errorf("a request that reads %d shards: want at most %d", len(h.List), maxLookups)
	}
	rows := uint64(0)
	for _, l := range h.List {
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

// builder collects the requests of a trace while it loads. It implements stream.ColumnsBuilder.
type builder struct {
	Columns
	clock    bool
	time     int64   // of the previous request
	recipe   recipe  // nil: lists
	places   []place // for the recipe
	lists    lists
	stated   []int8 // per user: Head.Hot
	activity activity
}

// Add implements stream.ColumnsBuilder. The object is the user.
func (b *builder) Add(rec *stream.Record, user uint32) error {
	head := HeadOf(rec)
	if head == nil {
		return errWithoutHead
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
	hot, err := b.isHot(user, int8(head.Hot))
	if err != nil {
		return err
	}
	b.hot = append(b.hot, hot)
	b.Users = append(b.Users, user)
	b.Tokens = append(b.Tokens, int32(head.Tokens))
	if b.recipe != nil {
		b.places = append(b.places, head.at)
		return nil
	}
	b.lists.add(head.List)
	for _, l := range head.List {
		b.Shards = max(b.Shards, int(l.Shard)+1)
	}
	return nil
}

// checkOrder refuses a clock that goes back: a node serves requests as they arrive.
func (b *builder) checkOrder(time int64) error {
	if b.clock && time < b.time {
		return fmt.Errorf("time %s s is before the previous request's, %s s: want ascending times; sort the file, or read "+
			"several with --merge", source.AppendSeconds(nil, time), source.AppendSeconds(nil, b.time))
	}
	b.time = time
	return nil
}

// isHot notes a request of a user, and returns whether the user is hot: what the trace says or, if it says nothing,
// what the requests before this one do.
func (b *builder) isHot(user uint32, stated int8) (bool, error) {
	if int(user) == len(b.stated) {
		b.stated = append(b.stated, stated)
	}
	if b.stated[user] != stated {
		return false, fmt.Errorf("hot is %d after requests of the same user with %d: want the same in all of them", stated,
			b.stated[user])
	}
	if stated != Unknown {
		return stated == 1, nil
	}
	hot := b.activity.hot(user)
	b.activity.add(user)
	return hot, nil
}

func (b *builder) Finish() stream.Columns {
	columns := b.Columns
	columns.lookups = &b.lists
	if b.recipe != nil {
		columns.lookups = &made{b.recipe, b.places}
		b.recipe.describe(&columns)
	}
	columns.count = len(b.stated)
	columns.profiles = &profiles{whole: &columns}
	return &columns
}
