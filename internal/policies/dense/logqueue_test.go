package dense

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The queue is compared with a slice, oldest first.
func TestLogQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 60
		q := NewLogQueue(objects)
		var want []Object
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			o := rapid.Uint32Range(0, objects-1).Draw(t, "object")
			at := slices.Index(want, o)
			if q.Has(o) != (at >= 0) {
				t.Fatalf("has(%d) is %v, want %v", o, q.Has(o), at >= 0)
			}
			step := rapid.SampledFrom([]string{"touch", "touch", "remove", "pop", "front"}).Draw(t, "step")
			switch {
			case step == "pop" && len(want) > 0:
				if got := q.Pop(); got != want[0] {
					t.Fatalf("pop gives %d, want %d", got, want[0])
				}
				want = want[1:]
			case step == "front" && len(want) > 0:
				if got := q.Front(); got != want[len(want)-1] {
					t.Fatalf("%d is in front, want %d", got, want[len(want)-1])
				}
			case step == "remove" && at >= 0:
				q.Remove(o)
				want = slices.Delete(want, at, at+1)
			case step == "touch" && at >= 0:
				q.Renew(o)
				want = append(slices.Delete(want, at, at+1), o)
			case step == "touch":
				q.Push(o)
				want = append(want, o)
			}
			if q.Live != len(want) {
				t.Fatalf("%d queued, want %d", q.Live, len(want))
			}
		}
	})
}
