package neighbours

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// circle returns a trace of n requests to queries whose embeddings lie on a circle, each a unit vector.
func circle(n int) *traces.Trace {
	random := rand.New(rand.NewPCG(1, 1))
	all := &queries.Columns{Dim: 2}
	t := &traces.Trace{Name: "circle", NumObjects: n, Kind: all}
	for i := range n {
		angle := 2 * math.Pi * random.Float64()
		all.Vectors = append(all.Vectors, float32(math.Cos(angle)), float32(math.Sin(angle)))
		t.Objects = append(t.Objects, uint32(i))
	}
	return t
}

// heard counts what Options tell.
type heard struct {
	joins int
	notes []string
}

func (h *heard) options() Options {
	return Options{Note: func(text string) { h.notes = append(h.notes, text) },
		Comparing: func() (func(done, total int64), func()) { h.joins++; return nil, func() {} }}
}

// A GPU without the tensor cores that the join needs leaves it to the CPU, and says so.
func TestNeighboursWithAnOldDevice(t *testing.T) {
	var h heard
	options := h.options()
	options.Device = cuda.Share(ptxrun.New(ptxrun.Options{Major: 7, Minor: 5}))
	got, err := Find(t.Context(), circle(100), 0.9999, options)
	if err != nil || got.Pairs() == 0 || h.joins != 1 {
		t.Fatalf("%d joins, error %v", h.joins, err)
	}
	if notes := strings.Join(h.notes, "; "); !strings.HasPrefix(notes, "the CPU compares the queries") {
		t.Errorf("notes %q", notes)
	}
}

// All share one join, from the least similarity that any of them has announced.
func TestOneJoinForAll(t *testing.T) {
	var h heard
	similar := New(circle(300), h.options())
	for _, from := range []float64{0.99, 0.9, 0.95} {
		similar.Expect(from)
	}
	for _, from := range []float64{0.99, 0.9, 0.95} {
		if got, err := similar.From(t.Context(), from); err != nil || got.From != 0.9 || h.joins != 1 {
			t.Errorf("from %v: %d joins, the last from %v (%v), want 1 from 0.9", from, h.joins, got.From, err)
		}
	}
}

// A join that fails is not tried again by every other cell; one that is interrupted is.
func TestAFailedJoinIsRemembered(t *testing.T) {
	var h heard
	similar := New(circle(300), h.options())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := similar.From(ctx, 0.9); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	got, err := similar.From(t.Context(), 0.9)
	if err != nil || got.Pairs() == 0 {
		t.Fatalf("after an interruption: %v", err)
	}
	similar.failed = errors.New("more pairs than allowed")
	joins := h.joins
	if _, err := similar.From(t.Context(), 0.5); err != similar.failed || h.joins != joins {
		t.Errorf("error %v after %d further joins", err, h.joins-joins)
	}
	if again, err := similar.From(t.Context(), 0.95); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("what had been found before is lost: %v", err)
	}
}
