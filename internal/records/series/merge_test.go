package series

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Of a week of minutes, half hours remain. Each is the mean of its minutes.
func TestMergedWeek(t *testing.T) {
	w := Window{Span: time.Minute, Most: 400, Names: MissesPerSecond}
	var rows []Row
	for minute := range 7 * 24 * 60 {
		rows = append(rows, Row{Cell: "c", Time: 60 * float64(minute+1), Name: MissesPerSecond, Value: float64(minute % 30)})
	}
	merged := w.Merged(rows)
	if len(merged) != 7*48 {
		t.Fatalf("%d windows, want %d", len(merged), 7*48)
	}
	for i, r := range merged {
		if r.Time != 1800*float64(i+1) || math.Abs(r.Value-14.5) > 1e-9 || r.Cell != "c" || r.Name != MissesPerSecond {
			t.Fatalf("window %d is %+v", i, r)
		}
	}
	if all := (Window{Span: time.Minute}).Merged(rows); len(all) != len(rows) {
		t.Errorf("%d of %d windows without a bound", len(all), len(rows))
	}
	if all := w.Merged(rows[:400]); len(all) != 400 {
		t.Errorf("%d of 400 windows", len(all))
	}
}

// However many windows there are, at most as many remain as are wanted, and the sum over time stays the same.
func TestMergedKeepsWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Window{Span: time.Minute, Most: rapid.IntRange(1, 50).Draw(t, "most"), Names: MissesPerSecond}
		n := rapid.IntRange(1, 3000).Draw(t, "windows")
		var rows []Row
		sum := 0.0
		for i := range n {
			rows = append(rows, Row{Time: 60 * float64(i+1), Name: MissesPerSecond, Value: float64(i*i%7 + 1)})
			sum += rows[i].Value
		}
		merged := w.Merged(rows)
		if len(merged) > w.Most {
			t.Fatalf("%d windows, want at most %d", len(merged), w.Most)
		}
		after, from := 0.0, 0.0
		for _, r := range merged {
			after, from = after+r.Value*(r.Time-from)/60, r.Time
		}
		if math.Abs(after-sum) > 1e-6*sum || from != 60*float64(n) {
			t.Fatalf("%v until %v, want %v until %v", after, from, sum, 60*float64(n))
		}
	})
}
