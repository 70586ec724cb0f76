package checks

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// NameOf names a record among its trace's.
func NameOf(rec *records.Record) string {
	return show.Printable(rec.Label) + " at " + CapacityOf(rec) + DetailsOf(rec)
}

// DetailsOf says what distinguishes a record from others of the policy at the capacity.
func DetailsOf(rec *records.Record) (s string) {
	if rec.Axes != "" {
		s += ", " + show.Printable(strings.ReplaceAll(rec.Axes, ",", ", "))
	}
	for _, part := range rec.Parts() {
		s += ", " + show.Printable(part)
	}
	if rec.Seed != 0 && sim.DependsOnSeed(rec) {
		s += fmt.Sprintf(", seed %d", rec.Seed)
	}
	if rec.Warmup != 0 {
		s += fmt.Sprintf(", warm-up %d", rec.Warmup)
	}
	if rec.SampleRate != 1 {
		s += fmt.Sprintf(", sample %d of %s", rec.SampleSeed, show.Share(rec.SampleRate))
	}
	return s
}

// CapacityOf formats the capacity as written, with its number if that differs.
func CapacityOf(rec *records.Record) string {
	number := show.Capacity(rec.Capacity, rec.CapacityUnit)
	if !strings.HasSuffix(rec.CapacityText, "%") {
		return number
	}
	return fmt.Sprintf("%s (%s)", show.Printable(rec.CapacityText), number)
}
