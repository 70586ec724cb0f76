package capacity

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// sizedTrace has 200 objects of 1000 bytes each.
func sizedTrace() *traces.Trace {
	t := &traces.Trace{Name: "sized", NumObjects: 200, SampleRate: 1, ObjectSizes: make([]int64, 200)}
	for o := range t.ObjectSizes {
		t.Objects = append(t.Objects, uint32(o))
		t.ObjectSizes[o] = 1000
	}
	return t
}

func amounts(t *testing.T, text string, mode Mode, tr *traces.Trace) []Capacity {
	t.Helper()
	specs, err := ParseList(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := Resolve(specs, mode, tr)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

func TestCapacities(t *testing.T) {
	objects := func(n ...int64) (c []Capacity) {
		for _, a := range n {
			c = append(c, Capacity{Amount: a, Simulated: a})
		}
		return c
	}
	bytes := func(n ...int64) (c []Capacity) {
		for _, a := range n {
			c = append(c, Capacity{Amount: a, Bytes: true, Simulated: a})
		}
		return c
	}
	for _, test := range []struct {
		text string
		mode Mode
		want []Capacity
	}{
		{"100", AsWritten, objects(100)},
		{" 100 , 7 ", AsWritten, objects(100, 7)},
		{"1%", AsWritten, objects(2)},
		{"7%", AsWritten, objects(14)},
		{"57%", AsWritten, objects(114)}, // 113.99999999999999 in floating point
		{"0.1%", AsWritten, objects(1)},
		{"150%", AsWritten, objects(300)},
		{"1%..20%x2", AsWritten, objects(2, 4, 8, 16, 32)},
		{"100..500+100", AsWritten, objects(100, 200, 300, 400, 500)},
		{"0.5%..1.5%+0.5%", AsWritten, objects(1, 2, 3)},
		{"10..100x10", AsWritten, objects(10, 100)},
		{"1,1,0.1%", AsWritten, objects(1)},
		{"16777216B", AsWritten, bytes(16777216)},
		{"64MiB", AsWritten, bytes(64 << 20)},
		{"0.5GiB,0.5GB", AsWritten, bytes(1<<29, 500_000_000)},
		{"1KiB..4KiBx2", AsWritten, bytes(1024, 2048, 4096)},
		{"100,1KiB", AsWritten, append(objects(100), bytes(1024)...)},
		{"1%", Bytes, bytes(2000)},
		{"100", Bytes, bytes(100)},
		{"1%", UnitSize, objects(2)},
	} {
		got := amounts(t, test.text, test.mode, sizedTrace())
		if len(got) != len(test.want) {
			t.Errorf("%s: got %v, want %v", test.text, got, test.want)
			continue
		}
		for i := range got {
			if !got[i].Same(test.want[i]) {
				t.Errorf("%s: got %v, want %v", test.text, got, test.want)
			}
		}
	}
}

func TestCapacityOfSample(t *testing.T) {
	tr := sizedTrace()
	tr.SampleRate = 0.1
	for text, want := range map[string]Capacity{
		"1000": {Amount: 1000, Simulated: 100},
		"1%":   {Amount: 20, Simulated: 2}, // 200 sampled objects represent 2000
		"5":    {Amount: 5, Simulated: 1},
	} {
		if got := amounts(t, text, AsWritten, tr); len(got) != 1 || !got[0].Same(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestCapacityErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":               "want objects",
		"0":              "above 0",
		"-5":             "want objects",
		"0%":             "above 0",
		"abc":            "want objects",
		"1.5":            "whole number",
		"0.5gb":          "0.5GB or 0.5GiB",
		"10k":            "10kB or 10KiB",
		"10m":            "10MB or 10MiB",
		"5 apples":       "unknown unit",
		"1..5":           "needs a step",
		"1..5x1":         "above 1",
		"1..5xq":         "above 1",
		"1..5+0":         "above 0",
		"5..1x2":         "below its start",
		"1..5%x2":        "same unit",
		"1%..5%+1":       "unit of the range",
		"1..1000000+1":   "larger step",
		"1e5":            "unknown unit",
		"1.2.3%":         "not a number",
		"99999999999TiB": "too large",
		"0.1B":           "less than one byte",
		"100,":           "want objects",
	} {
		_, err := ParseList(text)
		must.Fail(t, err, want, text)
	}
}

func TestCapacityRefusedForTrace(t *testing.T) {
	unsized := &traces.Trace{Name: "plain", Objects: []uint32{0}, NumObjects: 1, SampleRate: 1}
	for _, test := range []struct {
		text string
		mode Mode
		tr   *traces.Trace
		want string
	}{
		{"64MiB", AsWritten, unsized, "plain has no sizes"},
		{"1%", Bytes, unsized, "plain has no sizes"},
		{"64MiB", UnitSize, sizedTrace(), "--unit-size ignores sizes"},
	} {
		specs, err := ParseList(test.text)
		must.Do(t, err)
		must.NotGet(Resolve(specs, test.mode, test.tr))(t, test.want, test.text)
	}
}

// Each value of a range can also be written alone, with the same meaning.
func TestCapacityText(t *testing.T) {
	tr := sizedTrace()
	for _, c := range amounts(t, "1%..20%x2,0.1%..0.3%+0.1%,10..100x3,1KiB..5KiBx1.5,7%,64KiB", AsWritten, tr) {
		if again := amounts(t, c.String(), AsWritten, tr); len(again) != 1 || again[0] != c {
			t.Errorf("%+v is read again as %+v", c, again)
		}
	}
}

// Values of a range in bytes have the largest unit that divides them, as a user would write them.
func TestUnitsOfARange(t *testing.T) {
	var texts []string
	for _, s := range must.Get(ParseList("1MiB..4MiBx2,500kB..1MB+500kB,3B..5Bx1.5"))(t) {
		texts = append(texts, s.String())
	}
	if want := "1MiB 2MiB 4MiB 500kB 1MB 3B 4B"; strings.Join(texts, " ") != want {
		t.Errorf("%s, want %s", texts, want)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"8GiB": 8 << 30, "1.5 MB": 1500000, "1B": 1} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": `"": want bytes`, "8": `"8": want bytes`, "8%": `"8%": want bytes`, "-1B": `"-1B": want`,
		"8G": "did you mean 8GB or 8GiB?", "0GiB": "above 0", "0.1B": "less than one byte",
		"9999999TiB": "9999999TiB is too large", "1EB": `unknown unit "EB"`,
	} {
		got, err := ParseBytes(text)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "want bytes with their unit, such as 8GiB") {
			t.Errorf("%q: %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestCapacityModesAreNamed(t *testing.T) {
	for _, mode := range []Mode{AsWritten, UnitSize, Bytes} {
		if got, err := ParseMode(mode.String()); err != nil || got != mode {
			t.Errorf("%s is read as %v: %v", mode, got, err)
		}
	}
	must.NotGet(ParseMode("byte"))(t, `did you mean "bytes"?`, "byte")
}

func TestCountsBytes(t *testing.T) {
	for _, test := range []struct {
		text string
		mode Mode
		want bool
	}{
		{"10", AsWritten, false}, {"1%", AsWritten, false}, {"1MiB", AsWritten, true},
		{"10", Bytes, true}, {"1%", Bytes, true}, {"1%", UnitSize, false},
	} {
		specs := must.Get(ParseList(test.text))(t)
		if got := specs[0].CountsBytes(test.mode); got != test.want {
			t.Errorf("%s in mode %s counts bytes: %v", test.text, test.mode, got)
		}
	}
}

// Prompts whose keys and values have known bytes have capacities in bytes, of which replays count blocks.
func TestCapacitiesOfBlocks(t *testing.T) {
	tr := &traces.Trace{Name: "prompts", NumObjects: 1000, SampleRate: 1,
		Kind: &prompts.Columns{BlockTokens: 16, Memory: prompts.Memory{BlockBytes: 1 << 20}}}
	for _, test := range []struct {
		text           string
		mode           Mode
		amount, blocks int64
	}{
		{"8MiB", Blocks, 8 << 20, 8},
		{"8.5MiB", Blocks, 8<<20 + 1<<19, 8},
		{"5%", Blocks, 50 << 20, 50},
		{"7%", Blocks, 70 << 20, 70},
		{"0.01%", Blocks, 1 << 20, 1},
		{"12", Blocks, 12 << 20, 12},
		{"2097152", BlockBytes, 2 << 20, 2},
		{"5%", BlockBytes, 50 << 20, 50},
		{"512GiB", Blocks, 512 << 30, 512 << 10},
	} {
		spec, err := Parse(test.text)
		must.Do(t, err)
		c, err := spec.On(tr, test.mode)
		if err != nil || c.Amount != test.amount || c.Simulated != test.blocks || c.Block != 1<<20 || c.Bytes ||
			c.Unit() != "bytes" {
			t.Errorf("%s in mode %s: %+v, %v; want %d bytes, %d blocks", test.text, test.mode, c, err, test.amount, test.blocks)
		}
		if spec.CountsBytes(test.mode) || !spec.InBytes(test.mode) {
			t.Errorf("%s in mode %s: sizes of objects count, or it is not in bytes", test.text, test.mode)
		}
		if mode, err := ParseMode(test.mode.String()); err != nil || mode != test.mode {
			t.Errorf("mode %s is read as %s, %v", test.mode, mode, err)
		}
	}
	sampled := *tr
	sampled.SampleRate, sampled.NumObjects = 0.1, 100
	spec, err := Parse("40MiB")
	must.Do(t, err)
	if c, err := spec.On(&sampled, Blocks); err != nil || c.Amount != 40<<20 || c.Simulated != 4 {
		t.Errorf("40 MiB on a tenth: %+v, %v; want 4 blocks", c, err)
	}
	if c := OfBlocks(3, 1<<20); c.Amount != 3<<20 || c.Simulated != 3 || c.String() != "3145728B" {
		t.Errorf("three blocks: %+v", c)
	}
	if c, ok := OfBlocks(30, 1<<20).OnSample(0.1); !ok || c.Simulated != 3 {
		t.Errorf("thirty blocks on a tenth: %+v", c)
	}
	if c := OfBlocks(30, 1<<20).InBlocksOf(1<<22, 1); c.Simulated != 7 || c.Amount != 30<<20 {
		t.Errorf("30 MiB in blocks of 4 MiB: %+v", c)
	}
	plain := *tr
	plain.Kind = &prompts.Columns{BlockTokens: 16}
	for _, test := range []struct {
		text string
		mode Mode
		of   *traces.Trace
		want string
	}{
		{"1MB", Blocks, tr, "less than a block of 16 tokens"},
		{"1048575", BlockBytes, tr, "less than a block"},
		{"9e18", Blocks, tr, "unknown unit"},
		{"4000000000000000000", Blocks, tr, "too large"},
		{"1MiB", Blocks, &plain, "has none"},
		{"1MiB", AsWritten, &plain, "--kv model=llama-3.1-70b"},
		{"1%", Bytes, &plain, "--kv model=llama-3.1-70b"},
	} {
		spec, err := Parse(test.text)
		if err == nil {
			_, err = spec.On(test.of, test.mode)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in mode %s: %v, want an error with %q", test.text, test.mode, err, test.want)
		}
	}
}
