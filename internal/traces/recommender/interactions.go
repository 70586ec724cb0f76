package recommender

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mostLength is the most items of a history.
const mostLength = maxLookups

var interactionsFormat = source.Format{
	Name:  "interactions",
	Whole: true,
	Options: []params.Param{
		{Name: "user", Default: "", Doc: "column of the user: a name or, in tables, a number from 1; by default a known " +
			"name, or the first column"},
		{Name: "item", Default: "", Doc: "column of the item; by default a known name, or the second column"},
		{Name: "time", Default: "", Doc: "column of the time; by default a known name, or the last column"},
		source.TimeUnitOption(),
		{Name: "min", Default: 1, Min: 1, Max: mostLength, Doc: "interactions of a user before the first request"},
		{Name: "length", Default: 1000, Min: 1, Max: mostLength, Doc: "newest items of the history that are read"},
		{Name: "tokens", Default: 1, Min: 1, Max: 1 << 10, Doc: "tokens of the sequence for each item"},
		{Name: "tables", Default: 10, Min: 1, Max: 1 << 16, Doc: "embedding tables, in each of which every token is " +
			"looked up; a shard is the rows of an item"},
		{Name: "rate", Default: 0.0, Min: 0, Max: 1e9, Doc: "mean requests per second, to which times are scaled; 0: " +
			"times stay as in the log"},
	},
	Detect:  func(source.Head, string) source.Confidence { return source.No },
	Formats: []string{"csv", "rating"},
	Impossible: source.ImpossibleUnless(func(head source.Head) bool { return !source.IsBinary(head.Bytes) },
		"it is not text"),
	Open: openInteractions,
}

// columnNames are the columns of a log, and the options that choose them.
var columnNames = [3]string{"user", "item", "time"}

// knownNames are those of the columns as source.PlainName writes them. If a file has several, the first counts.
var knownNames = [3][]string{
	{"userid", "user", "reviewerid", "uid", "customerid"},
	{"itemid", "item", "movieid", "parentasin", "asin", "productid", "iid"},
	{"timestamp", "time", "unixreviewtime", "ts"},
}

// checkApart refuses equal columns.
func checkApart(src *source.Source, columns [3]int) error {
	for i, a := range columns {
		if j := slices.Index(columns[:], a); j < i {
			return src.Errorf("%s and %s are both column %d: name the other one with the option %[2]s or %[1]s", columnNames[j],
				columnNames[i], a+1)
		}
	}
	return nil
}

// interaction is one row of a log. Its texts are valid until the next one.
type interaction struct {
	user, item []byte
	time       int64
}

// interactions reads a log.
type interactions struct {
	next  func(to *interaction) error // io.EOF after the last
	unit  int64                       // of times
	taken [3]string                   // the columns or fields of user, item and time
}

func openInteractions(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	h := &histories{length: opts.Int("length"), tokens: opts.Int("tokens"), tables: opts.Int("tables")}
	if err := h.check(); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	for _, name := range columnNames {
		if opts.Text(name) == "none" {
			return nil, stream.Fields{}, src.Errorf("option %s=none: want a column, since each row needs a user, an item and a "+
				"time", name)
		}
	}
	rows, err := interactionsOf(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Key = fmt.Sprintf("user %s, item %s", rows.taken[0], rows.taken[1])
	src.Reading.Time = fmt.Sprintf("time %s in %s", rows.taken[2], source.UnitName(rows.unit))
	if rate := opts.Float("rate"); rate > 0 {
		src.Reading.Time = fmt.Sprintf("times %s scaled to %g requests per second", rows.taken[2], rate)
	}
	src.Reading.Layout = "sorted by time"
	src.Reading.Why = fmt.Sprintf("fewer than %d interactions of the user before", opts.Int("min"))
	r := &historyReader{src: src, next: rows.next, histories: h, least: uint32(opts.Int("min")), rate: opts.Float("rate")}
	return r, stream.Fields{Time: true, Kind: Kind{recipe: h}}, nil
}

// histories are the items of users, in the order of time: the recipe of the requests of a log. They need 4 bytes per
// interaction.
type histories struct {
	items                  []uint32 // of each user, one after another
	length, tokens, tables int
	numbered               int // items
}

func (h *histories) check() error {
	if tokens := h.length * h.tokens; tokens > maxTokens {
		return fmt.Errorf("length=%d and tokens=%d: want at most 2^24 tokens of a sequence", h.length, h.tokens)
	}
	if rows := h.shardRows() * h.length; rows > maxRows || h.shardRows() > maxShardRows {
		return fmt.Errorf("length=%d, tokens=%d and tables=%d: a request would read %d rows, want at most 2^29, and at most "+
			"2^24 of an item", h.length, h.tokens, h.tables, rows)
	}
	return nil
}

// shardRows returns the rows of an item: each of its tokens is looked up in each table.
func (h *histories) shardRows() int { return h.tables * h.tokens }

// append implements recipe: a request reads the items of a part of the history.
func (h *histories) append(at place, _ int32, to []Lookup) []Lookup {
	read := h.items[at[0]:at[1]]
	var room [2048]uint16 // for ordinary requests
	x := index(room[:])
	if 2*len(read) > len(room) {
		x = indexFor(nil, len(read))
	}
	first, rows := len(to), uint32(h.shardRows())
	for _, item := range read {
		to = x.add(to, first, item, rows)
	}
	return to
}

func (h *histories) describe(c *Columns) { c.Shards = h.numbered }
func (h *histories) bytes() int64        { return stream.ColumnBytes(h.items) }

// event is an interaction of numbered users and items.
type event struct {
	time       int64
	user, item uint32
}

// historyReader makes requests of a log: each interaction of a user who had enough of them before. It holds the log in
// memory, 20 bytes per interaction and 40 per user and item, which grow by moving. It implements stream.Reader.
type historyReader struct {
	src       *source.Source
	next      func(to *interaction) error
	histories *histories
	least     uint32 // interactions before the first request
	rate      float64

	events []event // in the order of time; nil until the log is read
	users  []stream.Key
	starts []uint32 // per user: where its items begin
	before []uint32 // per user: its interactions so far
	at     int
	text   []byte
	head   Head
	clock  scaledClock
}

func (r *historyReader) Read(rec *stream.Record) error {
	if r.events == nil {
		if err := r.load(); err != nil {
			return err
		}
	}
	for r.at < len(r.events) {
		e := r.events[r.at]
		r.at++
		before := r.before[e.user]
		r.before[e.user]++
		if before < r.least {
			r.src.Reading.LeftOut++
			continue
		}
		r.fill(rec, e, before)
		return nil
	}
	return io.EOF
}

// fill makes a request of the interaction read last. before is the number of the user's earlier interactions.
func (r *historyReader) fill(rec *stream.Record, e event, before uint32) {
	to := r.starts[e.user] + before
	from := to - min(before, uint32(r.histories.length))
	r.head = Head{Tokens: int64(to-from) * int64(r.histories.tokens), ShardRows: int64(r.histories.shardRows()),
		Hot: Unknown, recipe: r.histories, at: place{from, to}, text: r.head.text}
	*rec = stream.Record{Time: e.time, Num: r.users[e.user].Num, Extra: &r.head}
	if text := r.users[e.user].Text; text != "" {
		r.text = append(r.text[:0], text...)
		rec.Num, rec.Text = 0, r.text
	}
	if r.rate > 0 {
		rec.Time = r.clock.time(r.events, r.at-1)
	}
}

func (r *historyReader) load() error {
	users, items := stream.NewNumbering(), stream.NewNumbering()
	r.events = []event{}
	var row interaction
	var key stream.Record
	number := func(of *stream.Numbering, text []byte) uint32 {
		key.SetKey(text)
		return of.OfRecord(&key)
	}
	for {
		if err := r.next(&row); err == io.EOF {
			break
		} else if err != nil {
			if err := r.src.Skip(err); err != nil {
				return err
			}
			continue
		}
		e := event{row.time, number(users, row.user), number(items, row.item)}
		if len(r.events) == maxEvents || items.Len() > maxShards {
			return r.src.LineErrorf("more than 2^31 interactions, or 2^27 items: want fewer; cut the log")
		}
		r.events = append(r.events, e)
		if err := r.reserve(users, items); err != nil {
			return err
		}
	}
	byTime := func(a, b event) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(r.events, byTime) {
		slices.SortStableFunc(r.events, byTime)
	}
	r.users, r.histories.numbered = users.AllKeys(), items.Len()
	r.collect()
	return nil
}

// maxEvents bounds the interactions of a log.
const maxEvents = 1 << 31

// reserve refuses a log that has no memory to grow: its tables double, and the histories need a copy.
func (r *historyReader) reserve(users, items *stream.Numbering) error {
	const every, bytesPerEvent = 1 << 14, 16 + 4
	if len(r.events)%every != 0 {
		return nil
	}
	need := bytesPerEvent*int64(len(r.events)) + users.TextBytes() + items.TextBytes()
	return r.src.In.Budget.Need(need, fmt.Sprintf("%s: a log of more than %d interactions", r.src.Place, len(r.events)),
		"the first part of the log")
}

// collect sorts the items by user, and finds the times of the first and the last request.
func (r *historyReader) collect() {
	r.starts, r.before = make([]uint32, len(r.users)+1), make([]uint32, len(r.users))
	for _, e := range r.events {
		r.starts[e.user+1]++
	}
	requests := 0
	for user := range r.users {
		requests += max(0, int(r.starts[user+1])-int(r.least))
		r.starts[user+1] += r.starts[user]
	}
	r.histories.items = make([]uint32, len(r.events))
	first := -1 // request
	for i, e := range r.events {
		r.histories.items[r.starts[e.user]+r.before[e.user]] = e.item
		if r.before[e.user] == r.least && first < 0 {
			first = i
		}
		r.before[e.user]++
	}
	clear(r.before)
	if first >= 0 && r.rate > 0 {
		r.clock = newScaledClock(r.events, first, float64(requests)*1e9/r.rate)
	}
}

// scaledClock scales the times of a log. Interactions of the same time, which may be a day, are spread evenly until the
// next one.
type scaledClock struct {
	first     int     // interaction with a request
	start     int64   // its time
	mean      float64 // nanoseconds from an interaction to the next
	scale     float64
	from, to  int // the interactions of the current time
	following float64
}

// newScaledClock returns the clock with which the log, from its first request on, lasts span nanoseconds. The
// interactions of the last time have no following time to be spread until: each takes as long as the mean.
func newScaledClock(events []event, first int, span float64) scaledClock {
	last := events[len(events)-1].time
	c := scaledClock{first: first, start: events[first].time, from: -1, scale: 1}
	c.mean = max(1, float64(last-c.start)/float64(len(events)-first))
	same := 0 // interactions of the last time
	for same < len(events)-first && events[len(events)-1-same].time == last {
		same++
	}
	c.scale = span / (float64(last-c.start) + float64(c.mean*float64(same)))
	return c
}

// time returns the time of an interaction, in nanoseconds from the first request on.
func (c *scaledClock) time(events []event, i int) int64 {
	if c.from < 0 || i >= c.to {
		c.from = i
		for c.from > c.first && events[c.from-1].time == events[i].time {
			c.from--
		}
		c.to = i + 1
		for c.to < len(events) && events[c.to].time == events[i].time {
			c.to++
		}
		if c.following = float64(c.to-c.from) * c.mean; c.to < len(events) {
			c.following = float64(events[c.to].time - events[i].time)
		}
	}
	share := float64(i-c.from) / float64(c.to-c.from)
	return int64(c.scale * (float64(events[i].time-c.start) + float64(share*c.following)))
}

// interactionsOf chooses how to read the rows of a log by its first line.
func interactionsOf(src *source.Source, opts params.Values) (interactions, error) {
	head, err := src.Head()
	if err != nil {
		return interactions{}, err
	}
	lines := source.WithoutBlankEnd(head.Lines)
	switch {
	case bytes.HasPrefix(head.Bytes, []byte("{")): // before any look at lines: a review may be longer than head
		return jsonInteractionsOf(src, head, opts), nil
	case len(lines) == 0:
		return interactions{}, src.Errorf("want rows of user, item and time, the first of at most %d bytes", source.HeadLen)
	}
	return rowInteractionsOf(src, lines, opts)
}

// rowInteractions are the rows of a table, or lines such as user::item::rating::time.
type rowInteractions struct {
	source.Rows
	colons  bool
	columns [3]int // of user, item and time
	unit    int64
	first   bool // the first row is data and was read
}

var doubleColon = []byte("::")

func rowInteractionsOf(src *source.Source, lines [][]byte, opts params.Values) (all interactions, err error) {
	t := &rowInteractions{Rows: source.Rows{Src: src, Delimiter: ','}, colons: bytes.Contains(lines[0], doubleColon)}
	if guess, ok := source.GuessDelimiter(lines); ok {
		t.Delimiter = guess
	}
	t.first = t.colons || slices.ContainsFunc(source.CutLoosely(nil, lines[0], t.Delimiter), source.IsNumber)
	if t.first {
		err = t.nextRow()
	} else {
		err = t.ReadHeader()
	}
	if err != nil {
		return all, err
	}
	for i, name := range columnNames {
		if t.columns[i], err = t.Choose(opts.Text(name), knownNames[i]); err != nil {
			return all, err
		}
		if t.columns[i] < 0 {
			if !t.first {
				return all, src.Errorf("no known column of the %s in the header: name it with the option %s (columns %s)", name,
					name, suggest.List(t.Header))
			}
			if t.columns[i] = i; i == 2 {
				t.columns[i] = t.Columns - 1
			}
		}
		all.taken[i] = t.DescribeColumn(t.columns[i])
	}
	if t.Columns < 3 {
		return all, src.Errorf("%d columns: want at least user, item and time", t.Columns)
	}
	if t.first {
		t.unit = source.TimeUnit(opts, t.Cells[t.columns[2]])
	} else {
		t.unit = source.TimeUnit(opts, t.NextCell(t.columns[2]))
	}
	all.next, all.unit = t.next, t.unit
	return all, checkApart(src, t.columns)
}

func (t *rowInteractions) nextRow() error {
	if !t.colons {
		return t.Next()
	}
	line, err := t.Src.Line()
	if err == nil && len(line) == 0 {
		err = t.Src.OnlyBlankLines()
	}
	if err != nil {
		return err
	}
	t.Cells = t.Cells[:0]
	for cell := range bytes.SplitSeq(line, doubleColon) {
		t.Cells = append(t.Cells, cell)
	}
	t.Columns = cmp.Or(t.Columns, len(t.Cells))
	if t.Lacking = t.Columns - len(t.Cells); t.Lacking != 0 {
		return t.Src.LineErrorf("%w", t.WrongColumns())
	}
	return nil
}

func (t *rowInteractions) next(to *interaction) error {
	if t.first {
		t.first = false
	} else if err := t.nextRow(); err == io.EOF {
		return err
	} else if err != nil {
		return t.Src.CutOff(err)
	}
	to.user, to.item = t.Cells[t.columns[0]], t.Cells[t.columns[1]]
	if err := to.finish(source.TrimBlanks(t.Cells[t.columns[2]]), t.unit); err != nil {
		return t.Src.CutOff(t.Src.LineErrorf("%w", err))
	}
	return nil
}

// finish reads the time and checks the row.
func (i *interaction) finish(time []byte, unit int64) (err error) {
	if len(i.user) == 0 || len(i.item) == 0 {
		return errors.New("the user or the item is empty: want both in each row")
	}
	if source.IsBinary(i.user) || source.IsBinary(i.item) {
		return fmt.Errorf("control characters in the user %.40q or the item %.40q: this is not a text trace", i.user, i.item)
	}
	i.time, err = source.ParseTime(time, unit)
	return err
}

// jsonInteractions are JSON objects, one per line.
type jsonInteractions struct {
	src   *source.Source
	names [3]string // fields of user, item and time; "": known names
	unit  int64
}

// jsonInteractionsOf takes the unit of times, and which fields are read, from the first row as far as it is at hand.
func jsonInteractionsOf(src *source.Source, head source.Head, opts params.Values) interactions {
	j := &jsonInteractions{src: src}
	for i, name := range columnNames {
		j.names[i] = opts.Text(name)
	}
	cells, rank, _ := j.cells(&source.JSONScanner{Text: head.Bytes})
	j.unit = source.TimeUnit(opts, cells[2])
	all := interactions{next: j.next, unit: j.unit, taken: j.names}
	for i, known := range knownNames {
		switch {
		case j.names[i] != "":
		case rank[i] < len(known):
			all.taken[i] = known[rank[i]]
		default:
			all.taken[i] = "by a known name"
		}
	}
	return all
}

func (j *jsonInteractions) next(to *interaction) error {
	line, err := j.src.Line()
	if err != nil {
		return err
	}
	if len(source.TrimBlanks(line)) == 0 {
		return j.src.OnlyBlankLines()
	}
	if err := j.parse(line, to); err != nil {
		return j.src.CutOff(j.src.LineSyntaxError(err))
	}
	return nil
}

func (j *jsonInteractions) parse(line []byte, to *interaction) error {
	s := source.JSONScanner{Text: line}
	cells, _, err := j.cells(&s)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return err
	}
	for i, name := range columnNames {
		if cells[i] == nil {
			return fmt.Errorf("no field with the %s: name it with the option %s", name, name)
		}
	}
	to.user, to.item = cells[0], cells[1]
	return to.finish(cells[2], j.unit)
}

// cells reads an object with the user, the item and the time. rank is the place of a field's name among the known
// ones; the lowest counts.
func (j *jsonInteractions) cells(s *source.JSONScanner) (cells [3][]byte, rank [3]int, err error) {
	rank = [3]int{math.MaxInt, math.MaxInt, math.MaxInt}
	err = s.Object(func(key []byte) error {
		for i, known := range knownNames {
			at := slices.Index(known, source.PlainName(string(key)))
			if j.names[i] != "" {
				if at = -1; j.names[i] == string(key) {
					at = 0
				}
			}
			if at < 0 || at >= rank[i] {
				continue
			}
			cell, err := s.Label()
			cells[i], rank[i] = cell, at
			return err
		}
		return s.Skip()
	})
	return cells, rank, err
}
