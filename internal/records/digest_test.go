package records

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// A record has the same digest in every format, also if nulls are left out, and with texts that formats write in
// different ways.
func TestDigestIsThatOfTheRecord(t *testing.T) {
	recs := sample()
	recs[0].Trace, recs[1].Trace, recs[2].Trace = "a\xff\xfe\x1b[31mb", "two\r\nlines\nof, \"text\"", " <&>\u2028"
	recs[0].SetNamed("job_hit_ratio[\x1b[31m \"é\"]", 0.5)
	digests := map[string]bool{}
	for name, encode := range map[string]encoder{"JSON": EncodeJSON, "CSV": EncodeCSV, "Parquet": encodeParquet} {
		var data bytes.Buffer
		must.Do(t, encode(&data, recs))
		got, err := decode(data.Bytes())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range got {
			digests[r.Digest] = true
		}
	}
	if len(digests) != len(recs) {
		t.Errorf("digests %v of %d records", digests, len(recs))
	}
	var lines bytes.Buffer
	must.Do(t, EncodeJSON(&lines, recs))
	for line := range bytes.Lines(lines.Bytes()) {
		var fields map[string]any
		must.Do(t, json.Unmarshal(line, &fields))
		for name, value := range fields {
			if value == nil {
				delete(fields, name)
			}
		}
		short, err := json.Marshal(fields) // in another order, too
		must.Do(t, err)
		if _, err := decode(short); err != nil {
			t.Errorf("without nulls: %v", err)
		}
	}
}

// Whatever happens to a file of records, no record is read that differs from what was written.
func TestDamagedRecordsAreRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	j, c, p := encoded(t)
	for name, content := range map[string]string{"JSON": j, "CSV": c, "Parquet": string(p)} {
		for i := range 300 {
			text := []byte(content)
			at := random.IntN(len(text))
			switch i % 4 {
			case 0, 1:
				text[at] ^= 1 << random.IntN(8)
			case 2:
				clear(text[at:min(len(text), at+1+random.IntN(64))])
			case 3:
				from := random.IntN(len(text))
				text = append(text[:at:at], text[from:]...) // a piece is lost or duplicated
			}
			recs, err := decode(text)
			if err != nil {
				continue
			}
			for _, r := range recs {
				if r.Digest != "" && !isOneOf(r, sealed(sample())) {
					t.Errorf("%s: %+v passes", name, r)
				}
			}
		}
	}
}

// isOneOf compares what the digest covers.
func isOneOf(r Record, recs []Record) bool {
	r.Values, _ = r.Values.Split()
	for _, other := range recs {
		other.Values, _ = other.Values.Split()
		if reflect.DeepEqual(r, other) {
			return true
		}
	}
	return false
}

// TestDigestOfTwoRuns has two runs that differ only in how long they took, and two that differ in a miss.
func TestDigestOfTwoRuns(t *testing.T) {
	first, slower, other := sample(), sample(), sample()
	for i := range first {
		slower[i].Set(metric.NsPerRequest, 1e6+float64(i))
		other[i].SetInt(metric.Misses, other[i].Int(metric.Misses)+1)
		a, b, c := sealed(first)[i].Digest, sealed(slower)[i].Digest, sealed(other)[i].Digest
		if a != b || a == c {
			t.Errorf("record %d: digest %s, slower %s, with another miss %s; want the same, and another", i, a, b, c)
		}
	}
}

// TestFirstDigestsAreAccepted reads records of the time when the digest covered the times, and finds damage in them.
func TestFirstDigestsAreAccepted(t *testing.T) {
	recs := sealed(sample())
	recs[0].Set(metric.NsPerRequest, 12.5)
	recs[0].Digest = recs[0].firstDigest()
	if recs[0].Digest == recs[0].digest() {
		t.Fatal("the digest covers the times")
	}
	must.Do(t, recs[0].checkRead())
	recs[0].Set(metric.NsPerRequest, 12.25)
	if recs[0].checkRead() == nil {
		t.Error("a record passes whose time has changed, which its digest covers")
	}
}

func TestWhatDigestsDoNotShowIsSaid(t *testing.T) {
	j, _, _ := encoded(t)
	whole := must.Get(decode([]byte(j)))(t)
	lost := must.Get(decode([]byte(j[:strings.LastIndex(j[:len(j)-1], "\n")+1])))(t)
	twice := must.Get(decode([]byte(j + j)))(t)
	for _, test := range []struct {
		name                string
		recs                []Record
		without, incomplete string
	}{
		{"whole", whole, "", ""},
		{"joined", twice, "", ""},
		{"cut off", lost, "", "x: contains only 2 of the 3 records that were written together"},
		{"without", sample(), "x: 3 of 3 records have no digest: damage in them " +
			"cannot be detected", ""},
	} {
		if got := WithoutDigest("x", test.recs); got != test.without {
			t.Errorf("%s: %q", test.name, got)
		}
		if got := Incomplete("x", test.recs); got != test.incomplete {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
