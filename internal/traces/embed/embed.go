// Package embed turns texts into vectors, so that a semantic cache knows which queries are similar: Texts with the
// built-in lexical embedder, Endpoint.Embed with any service that has the embeddings API of OpenAI. A vector depends on
// the text, the embedder and, for the lexical one, the other texts; its length is 1.
package embed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/params"
)

// Default is the embedder for queries with texts but without embeddings.
const Default = "lexical"

// Entry describes a built-in embedder. It implements params.Named and params.Checker.
type Entry struct {
	Name    string
	Summary string
	Params  []params.Param
	check   func(params.Values) error
	embed   func(ctx context.Context, texts []string, v params.Values, progress func(done int)) (Embeddings, error)
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }
func (e Entry) CheckValues(v params.Values) error   { return e.check(v) }

// Spec is a built-in embedder with its parameters: "lexical(dim=256)".
type Spec = params.Spec[Entry]

// Embeddings are the vectors of texts, of length 1, one after another.
type Embeddings struct {
	Dim         int
	Vectors     []float32 // Dim per text
	Featureless int       // distinct texts without any feature of the embedder
}

// Parse reads an embedder with its parameters: "lexical", "lexical(dim=256,seed=7)".
func Parse(text string) (Spec, error) {
	return params.NewRegistry("embedder", Default, Entries()...).Parse(text)
}

func Entries() []Entry { return []Entry{lexical} }

// IsBuiltIn reports whether text names a built-in embedder, with or without parameters.
func IsBuiltIn(text string) bool {
	name, _, _ := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(Entries(), func(e Entry) bool { return strings.EqualFold(e.Name, name) })
}

// Texts embeds texts on all cores. Equal texts get equal vectors. progress, unless it is nil, is called by several
// goroutines with the number of distinct texts done. It stops with ctx's error.
func Texts(ctx context.Context, spec Spec, texts []string, progress func(done int)) (Embeddings, error) {
	distinct, numbers := Distinct(texts)
	e, err := spec.Entry.embed(ctx, distinct, spec.Params, progress)
	if err != nil {
		return Embeddings{}, fmt.Errorf("%s: %w", spec, err)
	}
	e.Vectors = Spread(e.Vectors, e.Dim, numbers)
	return e, nil
}

// Distinct returns each text once, in order of first appearance, and for each of texts its number among these.
func Distinct(texts []string) (distinct []string, numbers []int) {
	seen := make(map[string]int, len(texts))
	numbers = make([]int, len(texts))
	for i, text := range texts {
		number, ok := seen[text]
		if !ok {
			number = len(distinct)
			seen[text] = number
			distinct = append(distinct, text)
		}
		numbers[i] = number
	}
	return distinct, numbers
}

// Spread undoes Distinct: given the vectors of the distinct texts, it returns the vector of each text, one after
// another.
func Spread(vectors []float32, dim int, numbers []int) []float32 {
	out := make([]float32, 0, len(numbers)*dim)
	for _, number := range numbers {
		out = append(out, vectors[number*dim:][:dim]...)
	}
	return out
}

// textsAtOnce is how many texts a goroutine takes at a time.
const textsAtOnce = 256

// inParallel calls visit for 0 to n-1 on all cores; each goroutine has its own visit, made by newVisit. done is called
// with the number of calls that have ended.
func inParallel(ctx context.Context, n int, newVisit func() func(i int), done func(int)) error {
	visits := make([]func(int), parallel.Jobs(0))
	var ended atomic.Int64
	return parallel.For(ctx, len(visits), (n+textsAtOnce-1)/textsAtOnce, func(_ context.Context, worker, piece int) error {
		if visits[worker] == nil {
			visits[worker] = newVisit()
		}
		from, to := piece*textsAtOnce, min((piece+1)*textsAtOnce, n)
		for i := from; i < to; i++ {
			visits[worker](i)
		}
		done(int(ended.Add(int64(to - from))))
		return nil
	})
}
