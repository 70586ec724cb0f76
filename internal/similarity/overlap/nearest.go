package overlap

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// Rank has quantiles, over all queries, of the similarity to the other query of a rank.
type Rank struct {
	Trace
	Rank    int     `json:"rank"` // 1: the nearest
	Mean    float64 `json:"mean_similarity"`
	Least   float32 `json:"least_similarity"`
	Lower   float32 `json:"p10_similarity"` // of a tenth of the queries it is at most this
	Median  float32 `json:"p50_similarity"`
	Upper   float32 `json:"p90_similarity"`
	Highest float32 `json:"p99_similarity"`
	Most    float32 `json:"most_similarity"`
}

// CheckNearest rejects a number of nearest queries, the value of a flag, for which there is no search.
func CheckNearest(flag string, k int) error {
	if k < 1 || k > similarity.MostNearest {
		return fmt.Errorf("%s %d: want a number of queries from 1 to %d", flag, k, similarity.MostNearest)
	}
	return nil
}

// MeasureNearest returns rows for the ranks 1, 2, 5, 10, 20, 50 and so on, and the last one; took is the time that
// finding the lists took. It fails if there are fewer than two queries.
func MeasureNearest(t *traces.Trace, nearest *similarity.Nearest, took time.Duration) (rows []Rank, err error) {
	if nearest.K() == 0 {
		return nil, fmt.Errorf("%s has too few distinct queries (%d): want two or more, so that each has a nearest other",
			t.Name, nearest.Len())
	}
	at := make([]float32, nearest.Len())
	for _, rank := range ranks(nearest.K()) {
		r, sum := Rank{Trace: describe(t, nearest.Bytes(), took), Rank: rank}, 0.0
		for i := range at {
			_, at[i] = nearest.At(i, rank-1)
			sum += float64(at[i])
		}
		slices.Sort(at)
		quantile := func(q float64) float32 { return at[max(0, int(math.Ceil(q*float64(len(at))))-1)] }
		r.Mean, r.Least, r.Lower, r.Median = sum/float64(len(at)), at[0], quantile(0.1), quantile(0.5)
		r.Upper, r.Highest, r.Most = quantile(0.9), quantile(0.99), at[len(at)-1]
		rows = append(rows, r)
	}
	return rows, nil
}

// ranks returns 1, 2, 5, 10, 20, 50 and so on below k, and k.
func ranks(k int) (list []int) {
	for power := 1; power < k; power *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if digit*power < k {
				list = append(list, digit*power)
			}
		}
	}
	if k > 0 {
		list = append(list, k)
	}
	return list
}
