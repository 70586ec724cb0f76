package source

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// TestDatesAsPackageTime writes points in time in each form, and reads them again.
func TestDatesAsPackageTime(t *testing.T) {
	layouts := []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999-0700",
		"02/Jan/2006:15:04:05 -0700", "[02/Jan/2006:15:04:05.999999999 -0700]", "2006-01-02 15:04:05 -0700"}
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(86_400e9, 1<<63-2*86_400e9).Draw(t, "ns")
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "minutes east"))
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		text := time.Unix(0, ns).In(zone).Format(layout)
		want, err := time.Parse(layout, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseTime([]byte(text), 1); err != nil || got != want.UnixNano() {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want.UnixNano())
		}
	})
}

func TestDates(t *testing.T) {
	for text, want := range map[string]int64{
		"10/Oct/2000:13:55:36 -0700":   971211336e9,
		"[10/Oct/2000:13:55:36 -0700]": 971211336e9,
		"10/Oct/2000:20:55:36":         971211336e9,
		"2000-10-10T20:55:36Z":         971211336e9,
		"2000-10-10 20:55:36 UTC":      971211336e9,
		"2000-10-10 20:55:36,5":        971211336e9 + 5e8,
		"2000-02-29T00:00:00Z":         951782400e9,
		"1970-01-01T00:00:00Z":         0,
	} {
		if got, err := ParseTime([]byte(text), 1); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"2001-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-00-01T00:00:00Z", "2001-01-01",
		"2001-01-01T24:00:00Z", "2001-01-01T00:00:60Z", "2001-01-01T00:60:00Z", "2001-01-01T00:00:00.Z",
		"2001-01-01T00:00:00z", "2001-01-01T00:00:00+1", "2001-01-01T00:00:00+24:00", "2001-01-01T00:00:00+0160",
		"1970-01-01T00:00:00+01:00", "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "10/oct/2000:13:55:36 -0700",
		"31/Apr/2000:13:55:36", "10/Oct/2000:13:55", "[]", "[10/Oct/2000:13:55:36",
	} {
		if got, err := ParseTime([]byte(text), 1); err == nil {
			t.Errorf("%s is read as %d, want an error", text, got)
		}
	}
}

// TestEpochUnits: every unit of today's clock is recognised, and what is a time in seconds today stays one.
func TestEpochUnits(t *testing.T) {
	for number, want := range map[float64]string{0: "s", 1.6e9: "s", 9.2e9: "s", 1.6e12: "ms", 1.6e15: "us",
		1.6e18: "ns"} {
		if got := EpochUnit(number); got != want {
			t.Errorf("%g: %s, want %s", number, got, want)
		}
	}
}

func TestMoments(t *testing.T) {
	for text, want := range map[string]bool{
		"1600000000": true, "1600000000.5": true, "1600000000123": true, "1600000000123456": true,
		"1600000000123456789":        true,
		"10/Oct/2000:13:55:36 -0700": true, "2000-10-10 20:55:36": true,
		"160000000": false, "4600000000": false, "16000000001": false, "160000000a": false, "1600000000.x": false,
		"-1600000000": false, "": false, "2000-10-10": false,
	} {
		if got := IsMoment([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
