package simtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// FromKeys returns a trace of a request for each letter. Objects are numbered in order of first appearance.
func FromKeys(keys string) *traces.Trace {
	t := &traces.Trace{Name: keys, SampleRate: 1}
	number := map[rune]uint32{}
	for _, k := range keys {
		o, ok := number[k]
		if !ok {
			o = uint32(len(number))
			number[k] = o
		}
		t.Objects = append(t.Objects, o)
	}
	t.NumObjects = len(number)
	return t
}

// Generated returns a trace of a generator, such as "zipf(requests=1000)".
func Generated(t testing.TB, generator string, needs traces.Needs) *traces.Trace {
	t.Helper()
	w := must.Get(workload.Generated(generator, 1))(t)
	return must.Get(w.Load(t.Context(), nil, read.Options{Needs: needs}))(t)
}

// Lookups returns n batches of 100 lookups of 2000 keys, few of which are popular.
func Lookups(n int) *traces.Trace {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 4, 1999)
	t := &traces.Trace{Name: "lookups", NumObjects: 2000, SampleRate: 1}
	for i := range n * 100 {
		if i%100 == 0 {
			t.Groups = append(t.Groups, i)
		}
		t.Objects = append(t.Objects, uint32(zipf.Uint64()))
	}
	return t
}

// Conversations returns n prompts of conversations whose turns repeat what was before, in blocks of 16 tokens.
func Conversations(n int) *traces.Trace {
	const turns, perTurn, block = 6, 5, 16
	rng := rand.New(rand.NewPCG(3, 4))
	p := &prompts.Columns{BlockTokens: block}
	t := &traces.Trace{Name: "prompts", SampleRate: 1, Kind: p}
	var conversations [][]uint32
	for i := range n {
		if i%turns < 2 {
			conversations = append(conversations, nil)
		}
		c := len(conversations) - 1 - rng.IntN(min(3, len(conversations)))
		for range perTurn {
			parent := int32(-1)
			if k := len(conversations[c]); k > 0 {
				parent = int32(conversations[c][k-1])
			}
			p.Parents = append(p.Parents, parent)
			conversations[c] = append(conversations[c], uint32(t.NumObjects))
			t.NumObjects++
		}
		t.Groups = append(t.Groups, len(t.Objects))
		t.Objects = append(t.Objects, conversations[c]...)
		p.InputTokens = append(p.InputTokens, int32(block*len(conversations[c])))
		p.Sessions = append(p.Sessions, int32(c))
		p.Arrivals = append(p.Arrivals, int64(i)*int64(100*time.Millisecond))
	}
	return t
}

// Queries returns n random queries, some of them repeated. Their embeddings lie around a few directions, so that many
// are similar and similarity is not transitive; every fifth has no label.
func Queries(seed uint64, n, topics int, spread float64) *traces.Trace {
	const dim = 6
	rng := rand.New(rand.NewPCG(seed, 6))
	direction := func() (v [dim]float64) {
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	var centers [][dim]float64
	for range topics {
		centers = append(centers, direction())
	}
	q := &queries.Columns{Dim: dim, NumTopics: topics, NumAnswers: 3 * topics}
	t := &traces.Trace{Name: "queries", SampleRate: 1, Kind: q}
	for i := range n {
		t.Times = append(t.Times, int64(i)*1e9)
		if i > 0 && rng.IntN(3) == 0 {
			t.Objects = append(t.Objects, t.Objects[rng.IntN(i)])
			continue
		}
		topic := rng.IntN(topics)
		away := direction()
		vector := make([]float32, dim)
		for k := range vector {
			vector[k] = float32(centers[topic][k] + spread*away[k])
		}
		if err := queries.Normalize(vector); err != nil {
			panic(err)
		}
		q.Vectors = append(q.Vectors, vector...)
		q.Topics = append(q.Topics, int32(topic))
		q.Answers = append(q.Answers, int32(3*topic+rng.IntN(3)))
		if t.NumObjects%5 == 4 {
			q.Answers[t.NumObjects] = -1
		}
		t.Objects = append(t.Objects, uint32(t.NumObjects))
		t.NumObjects++
	}
	return t
}

// LoadReads returns the trace of reads of files, which are lines "time,job,path,offset,length,file_size".
func LoadReads(t testing.TB, lines string) *traces.Trace {
	t.Helper()
	return tracetest.MustLoadText(t, "time,job,path,offset,length,file_size\n"+lines, read.Options{
		Selection: read.Selection{Format: "reads"}, Needs: traces.Needs{Sizes: true, Times: true, Keys: true}})
}

// Reads returns reads of blocks of 4 MiB by jobs a and b, in turn: each reads random blocks of its own file, of so many
// blocks, one every gap.
func Reads(t testing.TB, reads, blocks int, gap time.Duration) *traces.Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	for i := range reads {
		job := string("ab"[i%2])
		fmt.Fprintf(&text, "%v,%s,/data/%s,%d,%d,%d\n", (time.Duration(i) * gap).Seconds(), job, job,
			rng.IntN(blocks)<<22, 1<<22, blocks<<22)
	}
	return LoadReads(t, text.String())
}
