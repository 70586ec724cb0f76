package read

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mergeReader merges streams by time. Ties go to the stream that was named first. Each stream keeps its own order: if
// its clock goes back, the late request is next, whatever the other streams have. It implements stream.Reader.
type mergeReader struct {
	heads   mergeHeap
	started bool
}

// mergeHead is a stream with its next record.
type mergeHead struct {
	source *Stream
	order  int
	rec    stream.Record
}

// newMergeReader merges streams, each of which must have times.
func newMergeReader(streams []*Stream) (*mergeReader, error) {
	m := &mergeReader{}
	for i, s := range streams {
		// Requests of a unit (a prompt, a read) have the same time, so that merging does not split it.
		if s.Fields.Groups && !source.IsGrouped(s.Fields.Kind) {
			return nil, fmt.Errorf("%s: has groups of requests, which merging by time would split; without merging, "+
				"files are read one after another", s.in.Path)
		}
		if !s.Fields.Time {
			return nil, fmt.Errorf("%s: has no times to merge by; without merging, files are read one after another",
				s.in.Path)
		}
		head := &mergeHead{source: s, order: i}
		if err := s.Read(&head.rec); err == nil {
			m.heads = append(m.heads, head)
		} else if err != io.EOF {
			return nil, err
		}
	}
	heap.Init(&m.heads)
	return m, nil
}

func (m *mergeReader) Read(rec *stream.Record) error {
	if m.started { // the caller may use the last record until now, so its stream is not read earlier
		if err := m.advance(); err != nil {
			return err
		}
	}
	m.started = true
	if len(m.heads) == 0 {
		return io.EOF
	}
	*rec = m.heads[0].rec
	if tenant := m.heads[0].source.tenant; tenant != nil {
		rec.Tenant = tenant
	}
	return nil
}

// advance reads the next record of the first stream.
func (m *mergeReader) advance() error {
	if len(m.heads) == 0 {
		return io.EOF
	}
	first := m.heads[0]
	if err := first.source.Read(&first.rec); err == io.EOF {
		heap.Pop(&m.heads)
	} else if err != nil {
		return err
	} else {
		heap.Fix(&m.heads, 0)
	}
	return nil
}

// mergeHeap implements heap.Interface.
type mergeHeap []*mergeHead

func (h mergeHeap) Len() int { return len(h) }

func (h mergeHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].rec.Time, h[j].rec.Time), h[i].order-h[j].order) < 0
}

func (h mergeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)   { *h = append(*h, x.(*mergeHead)) }

func (h *mergeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
