package attention

import (
	"context"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Columns describe the attention behind a trace of requests: request i is that of head i mod Heads in step i / Heads.
// The vectors stay in the file, and every pass reads it again.
type Columns struct {
	Shape *Shape
	Open  func(ctx context.Context, options Options) (Trace, error)
	// Importances is the path of the trace's file with the importance of each KV head; "" without one.
	Importances string
}

// Of returns the columns of an attention trace; nil if the requests are none.
func Of(kind stream.Columns) *Columns {
	c, _ := kind.(*Columns)
	return c
}

// Slice returns c: an attention trace is never cut.
func (c *Columns) Slice(_, _ stream.Span) stream.Columns { return c }

// Only returns c: an attention trace has no sizes by which requests could be left out.
func (c *Columns) Only(stream.Chosen) stream.Columns { return c }

// Torn reports that there is no incomplete group.
func (c *Columns) Torn() bool { return false }

// Bytes returns 0: nothing is held.
func (c *Columns) Bytes() int64 { return 0 }
