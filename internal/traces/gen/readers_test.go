package gen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// blocksRead returns the reads of a trace as JOB FILE/BLOCK.
func blocksRead(t *testing.T, spec string) (reads []string) {
	for _, rec := range readAll(t, spec) {
		h := files.HeadOf(&rec)
		file := strings.TrimLeft(string(h.Path[strings.LastIndexByte(string(h.Path), '/')+1:]), "0")
		reads = append(reads, fmt.Sprintf("%.1s %s/%d", h.Job, file, h.Offset/readBlock))
	}
	return reads
}

func TestReadersReadInOrder(t *testing.T) {
	for stream, want := range map[string]string{
		"forward(files=2,blocks=2,epochs=2)":          "1/0 1/1 2/0 2/1 1/0 1/1 2/0 2/1",
		"backward(files=2,blocks=3,item=2,epochs=1)":  "2/2 2/1 2/0 1/2 1/1 1/0",
		"strided(files=1,blocks=7,item=1,stride=3)":   "1/0 1/3 1/6 1/1 1/4 1/2 1/5 1/0 1/3",
		"forward(files=3,blocks=2,together=2)":        "1/0 2/0 1/1 2/1 3/0 1/0 3/1 1/1 2/0",
		"forward(files=3,blocks=2,together=9)":        "1/0 2/0 3/0 1/1 2/1 3/1 1/0 2/0 3/0",
		"forward(files=3,blocks=1,together=2,item=9)": "1/0 2/0 3/0 1/0 2/0 3/0 1/0 2/0 3/0",
	} {
		reads := blocksRead(t, "readers(requests=9,streams="+stream+")")
		for i := range reads {
			reads[i] = reads[i][2:]
		}
		if got := strings.Join(reads, " "); got != want {
			t.Errorf("%s: %s, want %s", stream, got, want)
		}
	}
}

// Each epoch of a shuffled stream has every block once, whoever reads it; copies read the same data in other orders.
func TestShuffledReadersReadAllOnce(t *testing.T) {
	of := map[string][]string{}
	for _, read := range blocksRead(t, "readers(streams=shuffled(files=7,blocks=3,item=1,epochs=2,together=4))") {
		of[read[:1]] = append(of[read[:1]], read[2:])
	}
	reads := of["1"]
	if len(reads) != 42 {
		t.Fatalf("%d reads, want two epochs of 21", len(reads))
	}
	if slices.Equal(reads[:21], reads[21:]) {
		t.Error("both epochs have the same order")
	}
	slices.Sort(reads)
	if len(slices.Compact(reads)) != 21 || reads[0] != "1/0" {
		t.Errorf("%v: want each of 21 blocks twice", reads)
	}
}

// Copies begin after their gaps, a stream whose turn comes only when the others have ended does not wait for ever, and
// the trace ends with the last of them.
func TestReadersBeginAndEnd(t *testing.T) {
	reads := blocksRead(t, "readers(streams=forward(files=1,blocks=10,epochs=1,copies=2,gap=6);"+
		"forward(files=2,blocks=1,epochs=1,start=500))")
	if len(reads) != 22 {
		t.Fatalf("%d reads, want 2 x 10 and 2", len(reads))
	}
	for i, read := range reads {
		if early := i < 6 && read != fmt.Sprintf("1 1/%d", i); early || i >= 20 && read[0] != '2' {
			t.Errorf("read %d is %s", i, read)
		}
	}
}

// Popular items are read most, wherever they are, and weights divide the reads.
func TestSkewedReaders(t *testing.T) {
	counts, first := map[string]int{}, 0
	for _, read := range blocksRead(t, "readers(requests=20000,streams=skewed(files=50,blocks=1,alpha=1,weight=3);"+
		"skewed(files=1,blocks=50,item=1,alpha=1,scattered=false))") {
		counts[read]++
		if read[0] == '1' {
			first++
		}
	}
	if first < 14_700 || first > 15_300 {
		t.Errorf("the stream with weight 3 has %d of 20,000 reads, want about 15,000", first)
	}
	most := 0
	for read, n := range counts {
		if read[0] == '1' {
			most = max(most, n)
		}
	}
	share := 1 / 4.499 // of the first of 50 ranks
	if n := counts["2 1/0"]; !about(n, float64(20_000-first)*share) || !about(most, float64(first)*share) {
		t.Errorf("the most popular items have %d and %d reads, want %.0f and %.0f", most, n, float64(first)*share,
			float64(20_000-first)*share)
	}
	if counts["1 1/0"] == most {
		t.Error("the first file is the most popular one, want a scattered one")
	}
}

func about(n int, want float64) bool { return float64(n) > 0.9*want && float64(n) < 1.1*want }

func TestReadersRefuse(t *testing.T) {
	for streams, want := range map[string]string{
		"sideways":                               `order`,
		"forward(stride=3)":                      `"forward(stride=3)": `,
		"skewed(alpha=11)":                       "alpha=11: want a number from 0 to 10",
		"forward(files=100000,blocks=100000)":    "10000000000 blocks: want at most 268435456",
		"forward(files=20000,blocks=10000);scan": "order",
		"forward(files=20000,blocks=10000);forward(files=20000,blocks=10000)": "more than 268435456 blocks together",
	} {
		spec := must.Get(Parse("readers", "streams='"+streams+"'"))(t)
		if _, err := New(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", streams, err, want)
		}
	}
}
