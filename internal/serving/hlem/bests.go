package hlem

import "math"

// Bests compares the ratios of epochs with the best ratio of each.
type Bests struct {
	Epochs      int64
	Sum         float64 // of the best ratios
	Gap         float64 // sum of the distances of the ratios from them
	Least, Most float64 // of the best ratios
}

func (b *Bests) Add(ratio, best float64) {
	if b.Epochs == 0 {
		b.Least = best
	}
	b.Least, b.Most = min(b.Least, best), max(b.Most, best)
	b.Epochs++
	b.Sum += best
	b.Gap += math.Abs(ratio - best)
}
