package servers_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

const smallPages = "memcached(ext_page_size=8,ext_wbuf_size=2,"

// onDisk are counts of memcached 1.6.18 with a file, after the trials whose hit ratios are in real: items, hits from
// the file (get_extstore without miss_from_extstore), and extstore_bytes_written.
var onDisk = []struct {
	trace, settings             string
	mb                          int64
	items, fromFile, written    float64
	withinItems, withinTheOther float64
}{
	{"kv-big", "ext_path=/f:64m)", 32, 40_615, 179_415, 126_005_639, 0.01, 0.02},
	{"kv-big", "ext_path=/f:64m)", 64, 77_724, 65_978, 66_436_408, 0.01, 0.02},
	{"kv-big", "ext_path=/f:128m)", 24, 29_694, 170_013, 113_674_617, 0.01, 0.02},
	{"kv-big", "ext_path=/f:128m)", 64, 85_615, 71_888, 62_540_280, 0.01, 0.02},
	{"kv-big", "ext_path=/f:32m)", 48, 57_840, 117_384, 122_573_274, 0.01, 0.05},
	{"kv-mix", "ext_path=/f:64m)", 48, 36_966, 49_394, 139_813_499, 0.01, 0.02},
	{"kv-mix", "ext_path=/f:128m)", 32, 28_230, 57_673, 119_154_906, 0.01, 0.02},
	{"kv-mix", "ext_path=/f:128m)", 96, 52_603, 18_247, 66_038_988, 0.01, 0.02},
	{"kv-big", "ext_path=/f:64m,ext_item_size=1024)", 32, 36_449, 88_144, 71_396_199, 0.01, 0.02},
	{"kv-big", "ext_path=/f:64m,ext_recache_rate=1)", 32, 40_613, 170_623, 320_360_389, 0.01, 0.05},
	{"kv-big", "ext_path=/f:64m,ext_item_age=2)", 32, 72_903, 159_080, 77_382_684, 0.01, 0.02},
	{"kv-big", "ext_path=/f:64m,ext_max_frag=0.5)", 32, 40_616, 179_515, 102_204_238, 0.01, 0.02},
	{"kv-big", "ext_path=/f:64m,ext_drop_unread=on)", 32, 40_617, 177_161, 109_880_356, 0.01, 0.02},
	// Which classes have the last of 64 pages depends on the pace of threads: 2 pages of headers, and 5% of the items.
	{"kv-mix", "ext_path=/f:64m,ext_item_size=1024)", 64, 44_654, 29_243, 100_915_994, 0.06, 0.1},
}

// TestFileOfMemcached: items, hits from the file and what is written to it, beside the real program.
func TestFileOfMemcached(t *testing.T) {
	brief.Long(t, "replays trials of memcached with a file")
	for _, row := range onDisk {
		rec := replay(t, load(t, string(trial(t, row.trace))), smallPages+row.settings, row.mb<<20)
		near := func(what string, got, want, within float64) {
			t.Helper()
			if off := math.Abs(got-want) / want; off > within {
				t.Errorf("%s -m %d %s: %.0f %s, the real server %.0f: %.1f%% off", row.trace, row.mb, row.settings, got, what,
					want, 100*off)
			}
		}
		near("items", float64(rec.Int(servers.Items)), row.items, row.withinItems)
		near("hits from the file", flashOf(rec, tiers.Hits), row.fromFile, row.withinTheOther)
		near("bytes written", flashOf(rec, tiers.WrittenBytes), row.written, row.withinTheOther)
	}
}

// flashOf returns a metric of the file.
func flashOf(rec records.Record, m metric.Metric) float64 { x, _ := rec.Get(m.Of("flash")); return x }

// filling is a trace that asks for objects of a size once, one every millisecond, and then for some of them again.
func filling(objects int, size int, again ...int) string {
	var text strings.Builder
	text.WriteString("time,key,size\n")
	for i := range objects {
		fmt.Fprintf(&text, "%.3f,object:%06d,%d\n", float64(i)/1000, i, size)
	}
	for i, o := range again {
		fmt.Fprintf(&text, "%.3f,object:%06d,%d\n", float64(objects+5000+i)/1000, o, size)
	}
	return text.String()
}

// TestFileGoesByPages: of a full file the oldest page goes with all that is in it. Without the first, which is never
// used, a file of 4 pages of 8 MB has two full ones, and the one that is written to, or one that is free.
func TestFileGoesByPages(t *testing.T) {
	const objects, size = 4000, 20_000
	perPage := 4 * ((2 << 20) / (size + 72)) // four wbufs; header, CAS, key and ends of 20 kB have 72 bytes
	var again []int
	for i := range objects {
		again = append(again, i)
	}
	rec := replay(t, load(t, filling(objects, size, again...)), smallPages+"ext_path=/f:32m)", 16<<20)
	hits, evicted := flashOf(rec, tiers.Hits), flashOf(rec, tiers.Evicted)
	if int(evicted)%perPage != 0 || evicted == 0 {
		t.Errorf("%.0f values were evicted, want pages of %d", evicted, perPage)
	}
	if hits != 0 { // asked for in the order of writing: each page goes just before it is needed
		t.Errorf("%.0f hits from a file that is too small for a loop, want none", hits)
	}
	rec = replay(t, load(t, filling(objects, size, 3500, 3501, 3502)), smallPages+"ext_path=/f:32m)", 16<<20)
	if hits := rec.Int(metric.Hits); hits != 3 {
		t.Errorf("%d hits of what was written last, want 3", hits)
	}
	rec = replay(t, load(t, filling(objects, size, 0, 1, 2)), smallPages+"ext_path=/f:256m)", 16<<20)
	if hits := flashOf(rec, tiers.Hits); hits != 3 || flashOf(rec, tiers.Evicted) != 0 {
		t.Errorf("%.0f hits from a file that is large enough, %.0f evicted; want 3 and none", hits,
			flashOf(rec, tiers.Evicted))
	}
}

// TestPagesThatFit: all pages that fit are taken at the start, as memcached 1.6.18 has 60 for -m 60.5; more are those
// of classes alone (here two, and one of headers), and only then a line says so.
func TestPagesThatFit(t *testing.T) {
	for _, c := range []struct {
		bytes, taken int64
		noted        bool
	}{{61_952 << 10, 60 << 20, false}, {16 << 20, 16 << 20, false}, {16<<20 - 1, 15 << 20, false},
		{1 << 20, 3 << 20, true}} {
		tr := load(t, "time,key,size\n0,a,100\n1,b,2000\n2,a,100\n3,b,2000\n")
		var notes []string
		recs := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: smallPages + "ext_path=/f:32m,I=512k)",
			Note:       func(text string) { notes = append(notes, text) },
			Capacities: []capacity.Capacity{capacity.OfBytes(c.bytes)}}))(t)
		if got := recs[0].Int(metric.Taken); got != c.taken || (len(notes) > 0) != c.noted {
			t.Errorf("%d bytes: %d are taken, want %d; %q", c.bytes, got, c.taken, notes)
		}
	}
}

// TestFileSettings: what each setting does.
func TestFileSettings(t *testing.T) {
	tr := load(t, filling(3000, 2000, 0, 0, 0, 1, 1, 1))
	run := func(settings string) records.Record {
		return replay(t, tr, smallPages+"ext_path=/f:256m"+settings+")", 8<<20)
	}
	if taken := run("").Int(metric.Taken); taken != 8<<20 {
		t.Errorf("%d bytes taken, want 8 MB", taken)
	}
	// From the second hit on, a header may bring its value back: the first of so many does.
	for settings, want := range map[string]float64{"": 5, ",ext_recache_rate=0": 6, ",ext_recache_rate=1": 4} {
		if got := flashOf(run(settings), tiers.Hits); got != want {
			t.Errorf("%q: %.0f of 6 hits from the file, want %.0f", settings, got, want)
		}
	}
	if got := flashOf(run(",ext_item_size=4000"), tiers.Written); got != 0 {
		t.Errorf("%.0f values below ext_item_size were written", got)
	}
	large := replay(t, tr, smallPages+"ext_path=/f:256m)", 64<<20)
	idle := replay(t, tr, smallPages+"ext_path=/f:256m,ext_item_age=1)", 64<<20)
	if a, b := flashOf(large, tiers.Written), flashOf(idle, tiers.Written); a != 0 || b < 2000 {
		t.Errorf("with memory for all, %.0f values were written, and %.0f with ext_item_age=1", a, b)
	}
}

// TestCompaction: where most of a page was written again, what is left of it moves, and nothing is evicted.
func TestCompaction(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,op,key,size\n")
	for i := range 40_000 { // every fifth of the first stays, the rest changes all the time
		key := fmt.Sprintf("stays:%05d", i/5)
		if i >= 7500 || i%5 > 0 {
			key = fmt.Sprintf("changes:%05d", i%1500)
		}
		fmt.Fprintf(&text, "%.3f,set,%s,5000\n", float64(i)/500, key)
	}
	for i := range 1500 {
		fmt.Fprintf(&text, "%.3f,get,stays:%05d,5000\n", 80+float64(i)/500, i)
	}
	hits := func(settings string) (int64, float64) {
		rec := replay(t, load(t, text.String()), smallPages+"ext_path=/f:64m"+settings+")", 8<<20)
		return rec.Int(metric.ReadHits), flashOf(rec, tiers.Evicted)
	}
	with, evicted := hits("")
	if with != 1500 || evicted != 0 {
		t.Errorf("%d of 1500 are there, %.0f were evicted; want all and none", with, evicted)
	}
	if without, _ := hits(",ext_max_frag=0"); without == 1500 {
		t.Error("all are there without compaction: the trace shows nothing")
	}
}

// TestTiersOfMemcached: with a file it consists of two levels, which are priced, and of one without.
func TestTiersOfMemcached(t *testing.T) {
	for text, want := range map[string]int64{"memcached": 0, "memcached(ext_path=/f:1g)": 1 << 30,
		"memcached(ext_path=/f:1000m)": 15 * 64 << 20} {
		c := must.Get(cache.Registry.Parse(text))(t)
		var got int64
		if cache.HasTiers(c) {
			all := must.Get(c.Entry.Tiers(c.Params))(t)
			got = must.Get(all[1].Bytes(nil, 8<<20))(t)
		}
		if got != want {
			t.Errorf("%s: %d bytes of flash, want %d", text, got, want)
		}
	}
}

// TestRefusedFiles: what memcached 1.6.18 does not start with, and a file in which it writes nothing.
func TestRefusedFiles(t *testing.T) {
	for settings, want := range map[string]string{
		"ext_path=/f": "must supply size to ext_path", "ext_path=/f:64": "must supply size to ext_path",
		"ext_path=/f:1g:compact":                         "only presently supports the default bucket",
		"ext_path=/f:64m":                                "leaves the first page empty",
		"ext_path=/f:1g,ext_wbuf_size=3":                 "page_size must be divisible by wbuf_size",
		"ext_path=/f:1g,ext_page_size=9,ext_wbuf_size=3": "divisible by 1024*1024*2",
		"ext_path=/f:1g,I=8m":                            "cannot be larger than ext_wbuf_size: 4194304",
		"ext_path=/f:9t":                                 "page_count must total to < 65536",
		"ext_item_size=1024":                             "ext_item_size=1024 needs ext_path, FILE:SIZE",
		"ext_drop_unread=on":                             "needs ext_path",
		"slab_automove_freeratio=0.02":                   "slab_automove_freeratio=0.02 needs ext_path",
	} {
		_, err := policies.Registry.Parse("memcached(" + settings + ")")
		must.Fail(t, err, want)
	}
	must.Get(policies.Registry.Parse("memcached(ext_path=/f:128m,ext_drop_unread=on)"))(t)
	must.Get(policies.Registry.Parse("memcached(ext_item_size=512)"))(t) // as memcached comes
}

// TestNoPolicyInsideAFile: the conflict is found before a trace is read.
func TestNoPolicyInsideAFile(t *testing.T) {
	lru := must.Get(policies.Registry.Parse("lru"))(t).Entry
	for text, want := range map[string]string{"memcached(ext_path=/f:1g)": "ext_path and a policy",
		"memcached(no_modern=true)": "no_modern and a policy", "memcached": ""} {
		c := must.Get(cache.Registry.Parse(text))(t)
		if err := c.Entry.Check(c.Params, lru); want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, want)
		}
	}
}

// TestExtstore gives a trial to a real memcached with a file, at the trial's own times.
func TestExtstore(t *testing.T) {
	programs.Wanted(t)
	t.Parallel()
	const server, mb = smallPages + "ext_path=/f:128m)", 32
	tr := load(t, string(trial(t, "kv-mix")))
	file := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(file), 0o755))
	must.Do(t, os.Chmod(file, 0o777)) // memcached runs as nobody
	p := programs.Memcached(t, "-m", fmt.Sprint(mb), "-o",
		"ext_page_size=8,ext_wbuf_size=2,ext_path="+filepath.Join(file, "ext")+":128m")
	s := memcachedAt(t, p.Port)
	sent, hits, _ := s.give(t, tr, 5000)
	items, _ := s.holds()
	rec := replay(t, &sent, server, mb<<20)
	real, ours := 100*float64(hits)/float64(len(tr.Objects)), 100*rec.Float(metric.HitRatio)
	t.Logf("%s at %d MB: %.2f%%, the real server %.2f%%; %d items, %d", server, mb, ours, real,
		rec.Int(servers.Items), items)
	if math.Abs(ours-real) > 0.5 {
		t.Errorf("%.2f%% hit, the real server %.2f%%", ours, real)
	}
	if off := math.Abs(float64(rec.Int(servers.Items)-items)) / float64(items); off > 0.02 {
		t.Errorf("%d items, the real server %d", rec.Int(servers.Items), items)
	}
}
