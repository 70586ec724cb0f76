package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	"github.com/cachesim/cachesim/internal/similarity"
)

// randomVectors returns unit vectors around a few centres, every fifth a duplicate.
func randomVectors(random *rand.Rand, n, dim int, spread float64) similarity.Vectors {
	v := similarity.Vectors{Dim: dim, Data: make([]float32, 0, n*dim)}
	centres := make([]float64, 3*dim)
	for i := range centres {
		centres[i] = random.NormFloat64()
	}
	for i := range n {
		if i > 0 && random.IntN(5) == 0 {
			v.Data = append(v.Data, v.At(random.IntN(i))...)
			continue
		}
		centre, row, length := centres[random.IntN(3)*dim:][:dim], make([]float64, dim), 0.0
		for k := range row {
			row[k] = centre[k] + spread*random.NormFloat64()
			length += row[k] * row[k]
		}
		for _, x := range row {
			v.Data = append(v.Data, float32(x/math.Sqrt(length)))
		}
	}
	return v
}

// written returns the side file of the neighbours of v.
func written(t rapid.TB, v similarity.Vectors, n *similarity.Neighbours) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, n.Write(&b, v.Identify()))
	return b.Bytes()
}

// untested returns the backend of a device that passes no self-test.
func untested(d cuda.Device, l limits) backend { return backend{device: cuda.Share(d), limits: l} }

// check compares a join on a device with the CPU's.
func check(t rapid.TB, d cuda.Device, l limits, v similarity.Vectors, from float32) {
	t.Helper()
	want := must.Get(similarity.Join(context.Background(), v, from, similarity.Options{}))(t)
	got := must.Get(similarity.Join(context.Background(), v, from, similarity.Options{Backend: untested(d, l)}))(t)
	if got.Pairs() != want.Pairs() || !bytes.Equal(written(t, v, got), written(t, v, want)) {
		t.Fatalf("%d vectors of %d from %v: %d pairs, want %d, or others", v.Len(), v.Dim, from, got.Pairs(), want.Pairs())
	}
}

func TestJoinIsThatOfTheCPU(t *testing.T) {
	brief.Long(t, "interprets kernels")
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.SampledFrom([]int{2, 31, 32, 33, 127, 128, 129, 200}).Draw(t, "n")
		dim := rapid.SampledFrom([]int{1, 3, 4, 7, 31, 32, 33, 40, 66}).Draw(t, "dim")
		v := randomVectors(random, n, dim, rapid.SampledFrom([]float64{0.01, 0.5, 2}).Draw(t, "spread"))
		a := random.IntN(n - 1)
		from := v.Similarity(a, a+1+random.IntN(n-a-1)) // most thresholds that matter are at a similarity
		from = rapid.SampledFrom([]float32{from, from, math.Nextafter32(from, 2), -1, 0.9, 1}).Draw(t, "from")
		l := limits{group: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "group"), rows: 4, room: 1 << 20, bytes: 1 << 62}
		check(t, cudatest.Device(t, ptxrun.Options{Seed: random.Uint64()}), l, v, from)
	})
}

// Vectors in several chunks, and more pairs proposed than there is room for.
func TestJoinInLittleMemory(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), brief.Of(420, 260), 20, 0.5)
	perVector := int64(4*20 + 4*16)
	for _, chunk := range brief.Sample[int64](2, 128, 256) {
		for _, from := range brief.Sample[float32](2, -1, 0.8) {
			bytes := 2*chunk*perVector + 128*128*pairBytes + margin
			check(t, cudatest.Device(t, ptxrun.Options{}), limits{group: 1, rows: 8, room: 1, bytes: bytes}, v, from)
		}
	}
	l := limits{group: 1, rows: 8, room: 1, bytes: 2*127*perVector + 128*128*pairBytes + margin}
	_, err := similarity.Join(t.Context(), v, 0.8,
		similarity.Options{Backend: untested(cudatest.Device(t, ptxrun.Options{}), l)})
	must.Fail(t, err, "--device cpu")
}

// Squares without similar pairs let launches grow, until one proposes more pairs than there is room for.
func TestJoinWithTooLittleRoom(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(6, 1)), 256, 20, 100)
	for range 256 {
		v.Data = append(v.Data, v.At(0)...)
	}
	check(t, cudatest.Device(t, ptxrun.Options{}), limits{group: 1, rows: 8, room: 1, bytes: 1 << 62}, v, 0.999)
}

func TestPlanFitsTheMemory(t *testing.T) {
	for _, test := range []struct {
		gigabytes float64
		n, dim    int
		chunks    int
	}{
		{24, 1_000_000, 384, 1},
		{24, 1_000_000, 1536, 1},
		{24, 10_000_000, 384, 1},
		{16, 10_000_000, 384, 2},
		{4, 1_000_000, 384, 1},
		{1, 1_000_000, 384, 2},
	} {
		usable := int64(test.gigabytes * 1e9)
		p, err := standard.plan(usable, test.n, test.dim)
		if bytes := p.bytes(vectorBytes(test.dim)); err != nil || p.chunks != test.chunks || bytes > usable {
			t.Errorf("%v GB, %d vectors of %d: %+v needs %d bytes, want %d chunks (%v)", test.gigabytes, test.n, test.dim,
				p, bytes, test.chunks, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		l := limits{group: rapid.IntRange(1, 16).Draw(t, "group"), room: rapid.IntRange(1, 1<<24).Draw(t, "room")}
		n, dim := rapid.IntRange(2, 1<<25).Draw(t, "n"), rapid.IntRange(1, 5000).Draw(t, "dim")
		usable := rapid.Int64Range(0, 1<<37).Draw(t, "usable")
		p, err := l.plan(usable, n, dim)
		if err != nil {
			return
		}
		square := l.group * side
		if p.bytes(vectorBytes(dim)) > usable || p.each%square != 0 || p.each == 0 ||
			p.chunks == 1 && p.each < n || p.room < min(square*square, n*(n-1)/2) {
			t.Fatalf("%d bytes for %d vectors of %d: %+v", usable, n, dim, p)
		}
	})
}

// The kernel decides by similarities with the same bits as the CPU's, for numbers of all magnitudes.
func TestDecisionsHaveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim, n := rapid.IntRange(1, 50).Draw(t, "dim"), 40
		v := similarity.Vectors{Dim: dim, Data: make([]float32, n*dim)}
		cancel := rapid.Bool().Draw(t, "cancel") // what is left of large sums depends on the order of additions
		for i := range v.Data {
			if cancel {
				v.Data[i] = float32(math.Copysign(math.Ldexp(1, -13*random.IntN(5)), random.NormFloat64()))
				continue
			}
			v.Data[i] = float32(random.NormFloat64() * math.Pow(2, float64(-random.IntN(60))))
			if random.IntN(20) == 0 {
				v.Data[i] = float32(math.Copysign(math.Ldexp(1, -140-random.IntN(9)), random.NormFloat64())) // or subnormal
			}
		}
		var proposed []uint32
		for b := range uint32(n) {
			for a := range b {
				proposed = append(proposed, a, b)
			}
		}
		count := len(proposed) / 2
		d := cudatest.Device(t, ptxrun.Options{Seed: random.Uint64()})
		module := must.Get(d.Load(kernels.Join()))(t)
		vectors := must.Get(cuda.Upload(d, v.Data))(t)
		pairs := must.Get(cuda.Upload(d, proposed))(t)
		counters := must.Get(cuda.Upload(d, []uint32{uint32(count), 0}))(t)
		similar := must.Get(d.Alloc(int64(count) * 12))(t)
		must.Do(t, module.Launch("join_decide", cuda.Grid{Blocks: 2, Threads: threads}, vectors, vectors, uint32(dim),
			uint32(0), uint32(0), float32(math.Inf(-1)), pairs, counters, uint32(count), similar, counters+4))
		got := make([]similarity.Pair, count)
		must.Do(t, d.Read(pairBytesOf(got), similar))
		for _, p := range got {
			want := v.Similarity(int(p.A), int(p.B))
			if p.A >= p.B || math.Float32bits(p.Similarity) != math.Float32bits(want) {
				t.Fatalf("the similarity of %d and %d is %v, want %v", p.A, p.B, p.Similarity, want)
			}
		}
	})
}

func TestJoinRefusesTooManyPairs(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(2, 1)), 300, 8, 0.1)
	compared := int64(0)
	d := cuda.Share(cudatest.Device(t, ptxrun.Options{}))
	_, err := similarity.Join(t.Context(), v, -1, similarity.Options{MaxPairs: 1000,
		Backend:  backend{device: d, limits: limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}},
		Progress: func(done, total int64) { compared = done }})
	if err == nil || !strings.HasPrefix(err.Error(), "more than 1000 pairs of the 300 vectors") || compared != 0 {
		t.Errorf("error %v after %d pairs", err, compared)
	}
}

func TestJoinStopsAndReportsProgress(t *testing.T) {
	n := brief.Of(500, 260)
	pairs := int64(n * (n - 1) / 2)
	v := randomVectors(rand.New(rand.NewPCG(3, 1)), n, 8, 0.5)
	l := limits{group: 1, rows: 4, room: 1 << 20, bytes: 1 << 62}
	options := similarity.Options{Backend: untested(cudatest.Device(t, ptxrun.Options{}), l)}
	compared := int64(0)
	options.Progress = func(done, total int64) {
		if done <= compared || total != pairs {
			t.Errorf("%d of %d pairs after %d", done, total, compared)
		}
		compared = done
	}
	if _, err := similarity.Join(t.Context(), v, 0.9, options); err != nil || compared != pairs {
		t.Errorf("%d pairs compared (%v)", compared, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	options.Progress = func(done, total int64) {
		calls++
		cancel()
	}
	if _, err := similarity.Join(ctx, v, 0.9, options); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d launches and error %v after it was cancelled in the first", calls, err)
	}
}

// stuck is a device whose kernels end when the test says so.
type stuck struct {
	cuda.Device
	waiting func()
	end     chan struct{}
}

func (d stuck) Read(to []byte, from cuda.Pointer) error {
	d.waiting()
	<-d.end
	return d.Device.Read(to, from)
}

// A comparison that is cancelled does not wait for its kernels. Other users of the device do.
func TestCancellationDoesNotWaitForKernels(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(3, 1)), 50, 8, 0.5)
	for _, find := range []func(context.Context, similarity.Options) error{
		func(ctx context.Context, o similarity.Options) error {
			_, err := similarity.Join(ctx, v, 0.9, o)
			return err
		},
		func(ctx context.Context, o similarity.Options) error {
			_, err := similarity.FindNearest(ctx, v, 3, o)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		d := stuck{ptxrun.New(ptxrun.Options{}), cancel, make(chan struct{})}
		shared := cuda.Share(d)
		l := limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}
		err := find(ctx, similarity.Options{Backend: backend{device: shared, limits: l}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(d.end)
		err = shared.Do(t.Context(), func(d cuda.Device) error {
			if free, total, err := d.Memory(); free != total || err != nil {
				t.Errorf("%d of %d bytes are free, %v", free, total, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A device that is lost in any call ends the join with its error.
func TestJoinOnALostDevice(t *testing.T) {
	checkLost(t, func(v similarity.Vectors, o similarity.Options) (found bool, err error) {
		n, err := similarity.Join(t.Context(), v, 0.9, o)
		return n != nil, err
	})
}

// checkLost loses a device in each of its calls: search must return the device's error, and find nothing.
func checkLost(t *testing.T, search func(similarity.Vectors, similarity.Options) (found bool, err error)) {
	t.Helper()
	v := randomVectors(rand.New(rand.NewPCG(4, 1)), 30, 8, 0.5)
	l := limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}
	for call := 1; ; call++ {
		d := cudatest.Device(t, ptxrun.Options{Fail: call})
		found, err := search(v, similarity.Options{Backend: untested(d, l)})
		if err == nil {
			if call < 20 {
				t.Errorf("only %d calls can fail", call)
			}
			return
		}
		if found || !errors.Is(err, ptxrun.ErrLost) || !strings.Contains(err.Error(), d.Name()) {
			t.Fatalf("call %d: found %v, error %v", call, found, err)
		}
	}
}

func TestOldDevicesAreRefused(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(5, 1)), 10, 8, 0.5)
	d := cuda.Share(cudatest.Device(t, ptxrun.Options{Major: 7, Minor: 5}))
	_, err := similarity.Join(t.Context(), v, 0.9, similarity.Options{Backend: Backend(d)})
	must.Fail(t, err, "8.0 or newer, this one has 7.5")
}

// BenchmarkGPUJoin joins vectors that are nearly orthogonal except for groups around a centre. The last join, which
// finds 100 million pairs, would take a CPU too long.
func BenchmarkGPUJoin(b *testing.B) {
	d := cudatest.GPU(b)
	for _, size := range []struct{ n, group int }{{10_000, 10}, {100_000, 10}, {1_000_000, 200}} {
		b.Run(fmt.Sprintf("vectors=%d", size.n), func(b *testing.B) {
			v := groups(size.n, 384, size.group)
			joinOn := func(backend similarity.Backend) {
				n, err := similarity.Join(b.Context(), v, 0.6, similarity.Options{Backend: backend})
				if err != nil || n.Pairs() < size.n {
					b.Fatal(err)
				}
			}
			onGPU, pairs := func() { joinOn(Backend(d)) }, float64(size.n)*float64(size.n-1)/2
			if size.n <= 100_000 {
				cudatest.Compare(b, pairs, onGPU, func() { joinOn(similarity.CPU) })
				return
			}
			for b.Loop() {
				onGPU()
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(seconds, "gpu-s")
			b.ReportMetric(pairs/seconds/1e6, "M/s")
		})
	}
}

// groups returns unit vectors whose groups have similarities of about 0.8 within, and 0 to others.
func groups(n, dim, group int) similarity.Vectors {
	random := rand.New(rand.NewPCG(1, 2))
	v := similarity.Vectors{Dim: dim, Data: make([]float32, n*dim)}
	centre := make([]float32, dim)
	for i := range n {
		row, length := v.At(i), 0.0
		for k := range row {
			if i%group == 0 {
				centre[k] = float32(2 * random.NormFloat64())
			}
			row[k] = centre[k] + float32(random.NormFloat64())
			length += float64(row[k]) * float64(row[k])
		}
		for k := range row {
			row[k] /= float32(math.Sqrt(length))
		}
	}
	return v
}

// A device that takes more memory for an allocation than it has bytes compares less at a time.
func TestJoinInCoarseMemory(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), 420, 20, 0.5)
	l := limits{group: 1, rows: 8, room: 1 << 20, bytes: 1 << 62}
	one := plan{chunks: 1, each: 512, room: 128 * 128}
	options := ptxrun.Options{Memory: one.bytes(vectorBytes(20)) * 17 / 16, Granule: 16 << 10}
	check(t, cudatest.Device(t, options), l, v, 0.8)
	options.Granule = 256 << 10
	_, err := similarity.Join(t.Context(), v, 0.8,
		similarity.Options{Backend: untested(cudatest.Device(t, options), l)})
	if !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("error %v where parts of any size do not fit", err)
	}
}
