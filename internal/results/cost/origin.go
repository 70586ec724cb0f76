package cost

import (
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// load is what reaches the origin behind a cache.
type load struct{ requests, bytes float64 }

// shares are the parts of a record's requests that reach the origin. On a sample they are estimates for the whole
// trace.
type shares struct {
	requests    float64 // that the record stands for
	missed      float64 // share of them
	missedBytes float64 // per request
}

func sharesOf(r *records.Record) shares {
	s := shares{requests: r.Float(metric.Requests), missed: 1 - r.Float(metric.HitRatio)}
	if misses := r.Float(metric.Misses); s.missed > 0 && misses > 0 {
		s.requests = misses / s.missed // those of a sample have an expected number
	}
	if s.requests == 0 { // nothing misses, and no byte is moved
		return shares{requests: 1}
	}
	s.missedBytes = (r.Float(metric.RequestedBytes) - r.Float(metric.HitBytes)) / s.requests
	return s
}

// load returns what reaches the origin in a month, given the share of the requests and the bytes per request that miss.
func (b Bill) load(missed, missedBytes float64) load {
	all, sized := b.requests()
	return load{missed * all, missedBytes * sized}
}

// text says what reaches the origin: "23.4 M requests and 812 GB"; nouns are what requests are called.
func (l load) text(nouns string) string {
	text := scaled(l.requests, []string{"", " k", " M", " G", " T"}) + " " + nouns
	if l.bytes > 0 {
		text += " and " + bytesText(l.bytes)
	}
	return text
}

// bytesText writes an amount of data with three digits, as origins and networks bill it: "812 GB".
func bytesText(x float64) string {
	return scaled(x, []string{" B", " kB", " MB", " GB", " TB", " PB"})
}

// scaled writes a number with three digits in the largest unit, each a thousand times the one before, that keeps it
// above 1.
func scaled(x float64, units []string) string {
	x, i := significant(x), 0
	for ; x >= 1000 && i+1 < len(units); i++ {
		x = significant(x / 1000)
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + units[i]
}

// significant rounds to three digits, halves up as the page's script does, and what is below a hundredth to none.
func significant(x float64) float64 {
	const up = 1 + 1e-14
	if math.Abs(x) < 0.005 {
		return 0
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x*up, 'e', 2, 64), 64)
	return x
}
