package recommender

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// index finds a shard in a list of lookups: a hash table of positions in the list, counted from 1, by linear probing.
// Its slots are a power of two, at least twice the lookups.
type index []uint16

// indexFor returns an empty index for a list of up to n lookups, in the same memory if that is enough.
func indexFor(x index, n int) index {
	slots := 1 << bits.Len(uint(2*n-1))
	if cap(x) < slots {
		return make(index, slots)
	}
	x = x[:slots]
	clear(x)
	return x
}

// add adds rows of a shard to the list that begins at first.
func (x index) add(to []Lookup, first int, shard, rows uint32) []Lookup {
	const golden = 0x9e3779b1 // 2^32 divided by the golden ratio: consecutive shards are far from each other
	mask := uint32(len(x) - 1)
	for i := shard * golden >> 15 & mask; ; i = (i + 1) & mask {
		at := int(x[i])
		if at == 0 {
			to = append(to, Lookup{shard, rows})
			x[i] = uint16(len(to) - first)
			return to
		}
		if found := &to[first+at-1]; found.Shard == shard {
			found.Rows += rows
			return to
		}
	}
}

// listReader reads lists of shards, "17:1024 93:2048", or of rows, "17500 93". What it returns is valid until the next
// call.
type listReader struct {
	index index
	list  []Lookup
}

func (r *listReader) begin(text []byte) error {
	words := 1 + bytes.Count(text, []byte(" ")) + bytes.Count(text, []byte("\t"))
	if words > maxWords {
		return fmt.Errorf("a list of %d numbers: want at most 2^20", words)
	}
	r.index = indexFor(r.index, min(words, maxLookups+1))
	r.list = r.list[:0]
	return nil
}

// maxWords bounds the numbers in a list. A shard may occur in it often.
const maxWords = 1 << 20

// add adds rows of a shard. total is the rows of all shards that the request has read so far.
func (r *listReader) add(shard, rows, total uint64) error {
	switch {
	case shard >= maxShards:
		return fmt.Errorf("shard %d: want numbers below 2^27", shard)
	case rows < 1:
		return fmt.Errorf("no rows of shard %d: want at least 1", shard)
	case total > maxRows:
		return errors.New("a request that reads more than 2^29 rows")
	}
	r.list = r.index.add(r.list, 0, uint32(shard), uint32(rows))
	if len(r.list) > maxLookups {
		return fmt.Errorf("a request that reads more than %d shards", maxLookups)
	}
	return nil
}

// wordsOf returns the words of a list, which blanks separate.
func wordsOf(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '\t' })
}

// shards reads a list of shards. A shard without a number of rows is read as a whole.
func (r *listReader) shards(text []byte, shardRows int64) ([]Lookup, error) {
	if err := r.begin(text); err != nil {
		return nil, err
	}
	total := uint64(0)
	for word := range wordsOf(text) {
		number, count, counted := bytes.Cut(word, []byte(":"))
		shard, ok := source.ParseDigits(number)
		rows, rowsOK := uint64(shardRows), true
		if counted {
			rows, rowsOK = source.ParseDigits(count)
		}
		if !ok || !rowsOK {
			return nil, fmt.Errorf("%.40q: want a shard and the number of its rows, such as 17:1024", word)
		}
		total += min(rows, maxRows+1)
		if err := r.add(shard, rows, total); err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

func (r *listReader) rows(text []byte, shardRows int64) ([]Lookup, error) {
	if err := r.begin(text); err != nil {
		return nil, err
	}
	total := uint64(0)
	for word := range wordsOf(text) {
		row, ok := source.ParseDigits(word)
		if !ok {
			return nil, fmt.Errorf("%.40q: want the number of a row", word)
		}
		total++
		if err := r.add(row/uint64(shardRows), 1, total); err != nil {
			return nil, fmt.Errorf("row %d in shards of %d: %w", row, shardRows, err)
		}
	}
	return r.list, nil
}

func appendList(text []byte, lookups []Lookup) []byte {
	for i, l := range lookups {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendUint(text, uint64(l.Shard), 10)
		text = append(text, ':')
		text = strconv.AppendUint(text, uint64(l.Rows), 10)
	}
	return text
}
