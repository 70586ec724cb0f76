package recommender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of recommender requests; Writables can be written, too.
var (
	Formats   = []source.Format{tableFormat, interactionsFormat}
	Writables = []source.Writable{tableWritable}
)

var tableFormat = source.Format{
	Name: "recommender",
	Options: append(source.NamedOptions("", columns),
		source.TimeUnitOption(),
		params.Param{Name: "rows-per-shard", Default: DefaultShardRows, Min: 1, Max: maxShardRows,
			Doc: "rows of a shard where no column states it"}),
	Detect: source.CertainIf(looksLikeTable),
	Open:   openTable,
}

// tableColumns are the indexes of the columns, -1 where there is none.
type tableColumns struct{ user, tokens, shards, rows, time, shardRows, hot int }

// columns are in the order of tableColumns.
var columns = []source.NamedColumn{
	{Name: "user", Option: "user", What: "user", Needed: true},
	{Name: "tokens", Option: "tokens", What: "length of the sequence", Needed: true},
	{Name: "shards", Option: "shards",
		What: "shards that are read, with the number of rows of each, such as 17:1024 93:2048"},
	{Name: "rows", Option: "rows", What: "numbers of the rows that are read, such as 17500 93"},
	{Name: "time", Option: "time", What: "time"},
	{Name: "shard_rows", Option: "shard-rows", What: "rows of a shard, the same in all rows of the table"},
	{Name: "hot", Option: "hot", What: "hot users: 1, others: 0, -1 if that is not known"},
}

// looksLikeTable reports whether the first line has the columns of requests.
func looksLikeTable(head source.Head) bool {
	names := source.FirstNames(head)
	isList := func(name string) bool { return source.PlainName(name) == "shards" || source.PlainName(name) == "rows" }
	return source.HasNamed(columns, names) && slices.ContainsFunc(names, isList)
}

// tableReader reads a request per row. It implements stream.Reader.
type tableReader struct {
	rows      source.Rows
	unit      int64
	shardRows int64 // where no column states it
	at        tableColumns
	list      listReader
	head      Head
}

func openTable(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	t := &tableReader{rows: source.Rows{Src: src, Delimiter: ','},
		shardRows: int64(opts.Int("rows-per-shard"))}
	err := t.rows.ReadHeader()
	if err == nil {
		err = t.choose(opts)
	}
	if err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Key, t.unit = "user", t.rows.TimeOf(t.at.time, opts)
	return t, stream.Fields{Time: t.at.time >= 0, Kind: Kind{}}, nil
}

// choose finds the columns.
func (t *tableReader) choose(opts params.Values) error {
	at, err := t.rows.ChooseNamed(columns, opts, "user, tokens, and shards or rows; options such as user=NAME name others")
	if err != nil {
		return err
	}
	t.at = tableColumns{at[0], at[1], at[2], at[3], at[4], at[5], at[6]}
	switch {
	case t.at.shards < 0 && t.at.rows < 0:
		return t.rows.Src.Errorf("neither a column shards nor rows in the header: want one of them; the options shards and " +
			"rows name others")
	case t.at.shards >= 0 && t.at.rows >= 0:
		return t.rows.Src.Errorf("columns shards and rows: want one of them; the option rows=none ignores the second")
	}
	return nil
}

func (t *tableReader) Read(rec *stream.Record) error {
	return t.rows.Parse(func() error { return t.parse(rec) })
}

func (t *tableReader) parse(rec *stream.Record) (err error) {
	cells := t.rows.Cells
	t.head = Head{ShardRows: t.shardRows, Hot: Unknown}
	*rec = stream.Record{Extra: &t.head}
	if len(cells[t.at.user]) == 0 {
		return errors.New("the user is empty")
	}
	rec.SetKey(cells[t.at.user])
	if rec.Text != nil && source.IsBinary(rec.Text) {
		return fmt.Errorf("control characters in the user %.60q: this is not a text trace", rec.Text)
	}
	for _, number := range []struct {
		name     string
		at       int
		to       *int64
		optional bool // an empty cell leaves it as it is
	}{{"tokens", t.at.tokens, &t.head.Tokens, false}, {"shard_rows", t.at.shardRows, &t.head.ShardRows, true},
		{"hot", t.at.hot, &t.head.Hot, true}} {
		if number.at < 0 || number.optional && len(cells[number.at]) == 0 {
			continue
		}
		if *number.to, err = parseWhole(cells[number.at]); err != nil {
			return fmt.Errorf("%s: %w", number.name, err)
		}
	}
	if t.at.time >= 0 {
		if rec.Time, err = source.ParseTime(source.TrimBlanks(cells[t.at.time]), t.unit); err != nil {
			return err
		}
	}
	if t.at.shards >= 0 {
		t.head.shards = cells[t.at.shards]
	} else {
		t.head.rows = cells[t.at.rows]
	}
	return t.head.parse(&t.list)
}

// parseWhole reads a whole number of up to nine digits, or -1.
func parseWhole(text []byte) (int64, error) {
	text = source.TrimBlanks(text)
	if string(text) == "-1" {
		return -1, nil
	}
	n, ok := source.ParseWhole(text)
	if !ok || n >= 1e9 {
		return 0, fmt.Errorf("%.40q: want a whole number below 10^9", text)
	}
	return int64(n), nil
}

// parse reads the lists and checks the request.
func (h *Head) parse(lists *listReader) (err error) {
	if h.ShardRows < 1 || h.ShardRows > maxShardRows {
		return h.check()
	}
	switch h.List = nil; {
	case h.shards != nil && h.rows != nil:
		return errors.New("both shards and rows: want one of them")
	case h.shards != nil:
		h.List, err = lists.shards(h.shards, h.ShardRows)
	case h.rows != nil:
		h.List, err = lists.rows(h.rows, h.ShardRows)
	}
	if err != nil {
		return err
	}
	return h.check()
}

var tableWritable = source.Writable{
	Name: tableFormat.Name, Endings: []string{".csv"}, Create: newTableWriter, Holds: stream.Fields{Time: true},
	Kind: Kind{}.Name(),
}

// tableWriter writes a request per row. It implements source.RecordWriter.
type tableWriter struct {
	*source.CSVRows
	lookups []Lookup
	text    []byte
}

func newTableWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if _, ok := fields.Kind.(Kind); !ok {
		return nil, errors.New("the requests are not recommender requests: write csv or parquet instead")
	}
	rows, err := source.NewCSVRows(w, fields.Time, "user", "tokens", "shard_rows", "hot", "shards")
	return &tableWriter{CSVRows: rows}, err
}

func (t *tableWriter) Write(rec *stream.Record) error {
	head := HeadOf(rec)
	if head == nil {
		return errWithoutHead
	}
	if bytes.ContainsAny(rec.Text, "\r\n") { // readers of CSV make a line end of the two
		return fmt.Errorf("user %.60q: a name with a line end cannot be written as CSV: write Parquet instead", rec.Text)
	}
	t.lookups = head.Lookups(t.lookups[:0])
	t.text = appendList(t.text[:0], t.lookups)
	return t.WriteRow(rec.Time, string(source.AppendKey(nil, rec)), strconv.FormatInt(head.Tokens, 10),
		strconv.FormatInt(head.ShardRows, 10), strconv.FormatInt(head.Hot, 10), string(t.text))
}

// errWithoutHead is reported if plain objects come among requests.
var errWithoutHead = errors.New("a request without tokens and lookups among recommender requests")
