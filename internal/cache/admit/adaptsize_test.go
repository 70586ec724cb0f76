package admit

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// TestAdaptSizeChoosesAsItsAuthors: their program, made to choose after 30,000 requests for the first time, too, prints
// these sizes for the trace of AdaptSize. Ours sums up objects in classes, and still comes that near.
func TestAdaptSizeChoosesAsItsAuthors(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES names no folder of real traces")
	}
	for capacity, want := range map[int64][]float64{4 << 20: {830.882, 600.432}, 32 << 20: {2634.93, 1833.17}} {
		file := must.Get(os.Open(filepath.Join(folder, "block", "adaptsize-request.trace.xz")))(t)
		lines := bufio.NewScanner(must.Get(xz.NewReader(file))(t))
		a := newAdmission(t, "adaptsize(every=30000)", Config{Objects: 70_000, Capacity: capacity, Sized: true}).(*adaptSize)
		objects := map[string]requests.Object{}
		var chosen []float64
		for at := 0; lines.Scan(); at++ {
			var number, key string
			var size int64
			must.Get(fmt.Sscan(lines.Text(), &number, &key, &size))(t)
			o, ok := objects[key+" "+fmt.Sprint(size)]
			if !ok {
				o = requests.Object(len(objects))
				objects[key+" "+fmt.Sprint(size)] = o
			}
			before := a.c
			a.Request(requests.Request{Object: o, Size: size}, at)
			if a.c != before {
				chosen = append(chosen, a.c)
			}
		}
		file.Close()
		for i, c := range chosen {
			t.Logf("%d bytes: c is %.1f, the authors' %.1f", capacity, c, want[i])
			if math.Abs(c/want[i]-1) > 0.001 {
				t.Errorf("%d bytes: c is %.1f, the authors' %.1f", capacity, c, want[i])
			}
		}
		if len(chosen) != len(want) {
			t.Errorf("%d choices, want %d", len(chosen), len(want))
		}
	}
}

// TestAdaptSizeSeparates: many large objects that hardly return share the cache with small ones that do. The chosen
// size admits most of the small ones and few of the large ones, and forgotten objects have no place.
func TestAdaptSizeSeparates(t *testing.T) {
	const small, large, hot = 100, 100_000, 500
	a := newAdmission(t, "adaptsize(every=20000)", Config{Objects: 200_000, Capacity: 1 << 20, Sized: true}).(*adaptSize)
	cold := requests.Object(hot)
	for at := range 80_000 {
		if at%2 == 0 {
			a.Request(requests.Request{Object: requests.Object(at / 2 % hot), Size: small}, at)
			continue
		}
		a.Request(requests.Request{Object: cold, Size: large}, at)
		cold++
	}
	if p, q := admitted(small, a.c), admitted(large, a.c); p < 0.9 || q > 0.01 {
		t.Errorf("c is %.1f: of %d bytes a share of %.3f is admitted, of %d bytes %.3f", a.c, small, p, large, q)
	}
	bytes, places := int64(0), 0
	for _, p := range a.known {
		bytes += p.size
	}
	for _, at := range a.place {
		if at > 0 {
			places++
		}
	}
	if bytes != a.bytes || places != len(a.known) || len(a.known) > 30_000 {
		t.Errorf("%d bytes of %d objects, but it counts %d, in %d places", bytes, len(a.known), a.bytes, places)
	}
}
