package overlap

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity"
)

func TestRanks(t *testing.T) {
	for k, want := range map[int][]int{0: nil, 1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 10: {1, 2, 5, 10},
		100: {1, 2, 5, 10, 20, 50, 100}, 130: {1, 2, 5, 10, 20, 50, 100, 130}} {
		if got := ranks(k); !slices.Equal(got, want) {
			t.Errorf("ranks up to %d: %v, want %v", k, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	trace, _ := small()
	v := similarity.Vectors{Dim: 2, Data: []float32{1, 0, 1, 0, 0.6, 0.8, 0, 1}}
	nearest, err := similarity.FindNearest(t.Context(), v, 2, similarity.Options{})
	must.Do(t, err)
	rows, err := MeasureNearest(trace, nearest, 1250*time.Millisecond)
	if err != nil || len(rows) != 2 || rows[1].Rank != 2 || rows[1].Least != 0 || rows[1].Lower != 0 ||
		rows[1].Median != 0.6 || rows[1].Most != 0.6 || rows[0].Upper != 1 || rows[0].Highest != 1 || rows[0].Least != 0.8 ||
		rows[0].Bytes != 64+32 {
		t.Errorf("%+v", rows)
	}
	for i := range rows {
		rows[i].Mean = 0.75
	}
	for format, want := range map[string]string{
		"table":    "small: 6 requests to 4 queries, 2 dimensions; 1.25s, 96 B\nembeddings: in the trace\n",
		"markdown": "| 2 | 0.7500 | 0.0000 | 0.0000 | 0.6000 | 0.6000 | 0.6000 | 0.6000 |\n",
		"csv":      "small,6,4,2,in the trace,96,1.25,1,0.75,0.8,0.8,0.8,1,1,1\n",
		"json": `"rank":2,"mean_similarity":0.75,"least_similarity":0,"p10_similarity":0,"p50_similarity":0.6,` +
			`"p90_similarity":0.6,"p99_similarity":0.6,"most_similarity":0.6}`,
	} {
		var out bytes.Buffer
		if err := Print(&out, rows, format); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in\n%s (%v)", format, want, out.String(), err)
		}
	}
	var out bytes.Buffer
	if err := WriteNearest(&out, trace, nearest); err != nil || !strings.HasPrefix(out.String(),
		"query,rank,nearest,similarity\nq0,1,17,1\nq0,2,\"a,b\",0.6\n17,1,q0,1\n") {
		t.Errorf("%s (%v)", out.String(), err)
	}
}
