package predictors

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

var writtenEntry = predict.Entry{
	Name: "written",
	Summary: "the given predictions, one per request, repeated from the start at their end: for worked examples and " +
		"for the results of a search",
	Source: "cachesim",
	Future: true, // the author of the predictions may have known it
	Params: []params.Param{
		{Name: "next", Default: writtenNever, Doc: "for each request after how many requests its object is predicted to be " +
			"requested again, or - for never, " +
			"separated by spaces; at most 100,000 of them"},
	},
	Check: func(v params.Values) error {
		_, err := parseWritten(v.Text("next"))
		return err
	},
	New: newWritten,
}

const (
	writtenNever = "-"
	maxWritten   = 100_000
)

// WriteOut returns the parameter next of the predictor written: distances in requests, or Never.
func WriteOut(distances []float64) string {
	words := make([]string, len(distances))
	for i, d := range distances {
		words[i] = writtenNever
		if d != predict.Never {
			words[i] = strconv.FormatFloat(d, 'f', -1, 64)
		}
	}
	return strings.Join(words, " ")
}

// parseWritten is the inverse of WriteOut.
func parseWritten(text string) ([]float64, error) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > maxWritten {
		return nil, fmt.Errorf("next has %d predictions, want 1 to %d", len(words), maxWritten)
	}
	distances := make([]float64, len(words))
	for i, word := range words {
		if word == writtenNever {
			distances[i] = predict.Never
			continue
		}
		d, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(d) || math.IsInf(d, 0) {
			return nil, fmt.Errorf("next: %q is not a number of requests; want a number, or - for never", word)
		}
		distances[i] = d
	}
	return distances, nil
}

// written repeats the given predictions, each for the object that answers the request or is loaded. Its labels are its
// predictions of never. It implements Labeler.
type written struct {
	sharing
	answered
	distances []float64
}

func newWritten(c predict.Config) (predict.Predictor, error) {
	distances, err := parseWritten(c.Params.Text("next"))
	return &written{sharing: sharing{predict.NewShared(c)}, distances: distances, answered: newAnswered(c)}, err
}

func (w *written) Observe(o predict.Object, pos int) {
	w.next[o] = float64(pos) + w.distances[pos%len(w.distances)]
}

func (w *written) Evict(o predict.Object) bool { return w.next[o] == predict.Never }
