package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a trace: a file below the folder of real traces, or the arguments of a generator of ours.
type source struct {
	name, from string
	kinds      []string
	brief      bool // also in the brief version
}

func (s source) isFile() bool { return strings.HasPrefix(s.from, "block/") }

// sources are the traces of all points.
var sources = []source{
	{"zipf", "zipf --alpha 0.9 --objects 3000 -n 30000 --seed 1", []string{objects, removals}, true},
	{"scans", "zipf-scan --objects 2000 --scan-length 300 --scan-share 0.3 -n 30000 --seed 2", []string{objects}, true},
	{"drift", "zipf-drift --objects 2000 --period 1000 --shift 50 -n 30000 --seed 3", []string{objects, removals}, false},
	{"mixed", "mixed --phases zipf(objects=1500):6000;loop(objects=700):4000;scan:1000 -n 30000 --seed 4",
		[]string{objects}, false},
	{"sized zipf", "zipf --alpha 0.9 --objects 3000 -n 30000 --seed 5 --size lognormal(mean=4000,sigma=1.5)",
		[]string{sizes, changing}, true},
	{"sized drift", "zipf-drift --objects 2000 --period 1000 --shift 50 -n 30000 --seed 6 " +
		"--size lognormal(mean=4000,sigma=1)", []string{sizes, changing}, false},
	{"cpp", "block/lirs-cpp.trace.gz", []string{objects}, false},
	{"gli", "block/lirs-gli.trace.gz", []string{objects}, false},
	{"loop", "block/lirs-loop.trace.gz", []string{objects}, false},
	{"multi2", "block/lirs-multi2.trace.gz", []string{objects}, false},
	{"sprite", "block/lirs-sprite.trace.gz", []string{objects}, false},
	{"OLTP", "block/arc-oltp.lis.gz", []string{objects}, false},
	{"cloudPhysics", "block/cloudPhysicsIO.oracleGeneral.bin.zst", []string{objects, sizes}, false},
	{"AdaptSize", "block/adaptsize-request.trace.xz", []string{sizes}, false},
}

// shares are the capacities as shares of the distinct objects, or of the sum of their sizes.
var (
	shares      = []float64{0.02, 0.05, 0.12, 0.3, 0.6}
	briefShares = []float64{0.05, 0.3}
)

// record is a request, or a removal, as the programs read it.
type record struct {
	Time   uint32
	Object uint64
	Size   uint32
	Next   int64
}

// removal is the Next of a record that removes its object.
const removal = -2

// trace is a source in one of its kinds, in two files: as the programs read it, and as ours does.
type trace struct {
	name, kind string
	theirs     string
	ours       string
	capacities []int64
	err        error
}

// unit of the capacities.
func (t *trace) unit() string {
	if t.kind == sizes || t.kind == changing {
		return "bytes"
	}
	return "objects"
}

// traceSet makes traces when they are first asked for.
type traceSet struct {
	r    *runner
	made map[string]*trace
}

func newTraces(r *runner) *traceSet { return &traceSet{r: r, made: map[string]*trace{}} }

// of returns the traces of a kind that are to be had here.
func (s *traceSet) of(ctx context.Context, kind string) (all []*trace, err error) {
	for _, from := range sources {
		absent := from.isFile() && s.r.shared == ""
		if !slices.Contains(from.kinds, kind) || s.r.brief && !from.brief || absent {
			continue
		}
		key := from.name + ", " + kind
		if s.made[key] == nil {
			t, err := s.make(ctx, from, kind)
			if err != nil {
				return nil, fmt.Errorf("trace %s: %w", key, err)
			}
			s.made[key] = t
		}
		all = append(all, s.made[key])
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no trace for points of the kind %s", kind)
	}
	return all, nil
}

// make writes a trace for the programs and for ours.
func (s *traceSet) make(ctx context.Context, from source, kind string) (*trace, error) {
	stem := filepath.Join(s.r.out, "traces", strings.ReplaceAll(from.name, " ", "-"))
	plain := stem + ".oracleGeneral"
	if err := os.MkdirAll(filepath.Dir(stem), 0o777); err != nil {
		return nil, err
	}
	args := append([]string{"gen"}, append(strings.Fields(from.from), "--quiet", "-o", plain)...)
	if from.isFile() {
		args = []string{"convert", filepath.Join(s.r.shared, filepath.FromSlash(from.from)), plain}
	}
	if _, err := output(ctx, s.r.program, args...); err != nil {
		return nil, err
	}
	records, err := readRecords(plain)
	if err != nil {
		return nil, err
	}
	t := &trace{name: from.name, kind: kind, theirs: plain, ours: plain}
	switch kind {
	case changing:
		change(records)
		t.theirs = stem + "-changing.oracleGeneral"
		t.ours = t.theirs
		err = writeRecords(t.theirs, records)
	case removals:
		records = withRemovals(records)
		t.theirs, t.ours = stem+"-removals.oracleGeneral", stem+"-removals.csv"
		if err = writeRecords(t.theirs, records); err == nil {
			err = writeRows(t.ours, records)
		}
	}
	t.capacities = capacities(records, t.unit(), s.r.brief)
	return t, err
}

func readRecords(path string) ([]record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records := make([]record, len(text)/binary.Size(record{}))
	return records, binary.Read(bytes.NewReader(text), binary.LittleEndian, records)
}

func writeRecords(path string, records []record) error {
	var text bytes.Buffer
	if err := binary.Write(&text, binary.LittleEndian, records); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// writeRows writes records as CSV, where removals have the operation delete.
func writeRows(path string, records []record) error {
	var text bytes.Buffer
	text.WriteString("time,key,size,op\n")
	for _, r := range records {
		op := "get"
		if r.Next == removal {
			op = "delete"
		}
		fmt.Fprintf(&text, "%d,%d,%d,%s\n", r.Time, r.Object, r.Size, op)
	}
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// change gives objects other sizes, of up to four times their own, anew every 2,000 requests.
func change(records []record) {
	for i := range records {
		records[i].Size *= 1 + uint32(mix(records[i].Object*31+uint64(i/2000))%4)
	}
}

// withRemovals removes, after about every twentieth request, the object of the request 50 before it.
func withRemovals(records []record) (with []record) {
	for i, r := range records {
		with = append(with, r)
		if i >= 50 && mix(uint64(i))%20 == 0 {
			with = append(with, record{r.Time, records[i-50].Object, records[i-50].Size, removal})
		}
	}
	return with
}

// mix scatters numbers, as splitmix64 does (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// capacities returns shares of the distinct objects, or of the sum of their first sizes.
func capacities(records []record, unit string, brief bool) (all []int64) {
	seen, total := map[uint64]bool{}, 0.0
	for _, r := range records {
		if seen[r.Object] {
			continue
		}
		seen[r.Object] = true
		if unit == "bytes" {
			total += float64(r.Size)
		} else {
			total++
		}
	}
	of := shares
	if brief {
		of = briefShares
	}
	for _, share := range of {
		all = append(all, int64(total*share))
	}
	return all
}
