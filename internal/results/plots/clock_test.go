package plots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

// begins is what package windows declares.
var begins = metric.Metric{Name: series.Begins, Unit: metric.Seconds, Doc: "test"}

// overTimeOf returns the axis of a figure of windows up to some seconds: its name and the labels of its ticks.
func overTimeOf(t *testing.T, window string, seconds float64, begin string) string {
	t.Helper()
	r := records.Record{Trace: "t", Label: "lru", CapacityText: "10", Cell: "c", Series: window}
	if begin != "" {
		r.Set(begins, float64(must.Get(time.Parse(time.DateTime, begin))(t).Unix()))
	}
	var rows []series.Row
	for i := range 100 {
		rows = append(rows, series.Row{Cell: "c", Time: seconds * float64(i) / 99, Name: "hit_ratio", Value: 0.5})
	}
	f := OverTime{Name: "hit_ratio", Rows: series.ByCell(rows)}
	s := must.Get(f.sheet([]records.Record{r}))(t)
	axis := s.panels[0].Plot.X
	var labels []string
	for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	return fmt.Sprintf("%s: %s", s.panels[0].xLabel, strings.Join(labels, " | "))
}

// The unit of time follows the range, and ticks are at round values of it.
func TestTheAxisOfTime(t *testing.T) {
	const day = 86400
	for _, c := range []struct {
		window  string
		seconds float64
		begin   string
		want    string
	}{
		{"1m0s", 7 * day, "", "time since the start (days): 0 | 2 | 4 | 6"},
		{"1h0m0s", 30 * day, "", "time since the start (days): 0 | 5 | 10 | 15 | 20 | 25 | 30"},
		{"1m0s", day, "", "time since the start (hours): 0 | 6 | 12 | 18 | 24"},
		{"1m0s", 8 * 3600, "", "time since the start (hours): 0 | 2 | 4 | 6 | 8"},
		{"1m0s", 3600, "", "time since the start (minutes): 0 | 10 | 20 | 30 | 40 | 50 | 60"},
		{"1s", 90, "", "time since the start (seconds): 0 | 15 | 30 | 45 | 60 | 75 | 90"},
		{"1000", 5e6, "", "requests: 0 | 1M | 2M | 3M | 4M | 5M"},
		{"1h0m0s", 7 * day, "2024-02-26 09:30:00",
			"time in 2024 (UTC): 27 Feb | 28 Feb | 29 Feb | 1 Mar | 2 Mar | 3 Mar | 4 Mar"},
		{"1m0s", 10 * 3600, "2024-05-01 08:17:00",
			"time on 1 May 2024 (UTC): 10:00 | 12:00 | 14:00 | 16:00 | 18:00"},
		{"1m0s", 40 * 3600, "2024-05-01 20:17:00",
			"time in 2024 (UTC): 2 May | 06:00 | 12:00 | 18:00 | 3 May | 06:00 | 12:00"},
		{"1h0m0s", 400 * day, "2023-11-20 00:00:00",
			"time (UTC): Jan 2024 | Mar 2024 | May 2024 | Jul 2024 | Sep 2024 | Nov 2024"},
	} {
		if got := overTimeOf(t, c.window, c.seconds, c.begin); got != c.want {
			t.Errorf("%v seconds from %q:\n %s, want\n %s", c.seconds, c.begin, got, c.want)
		}
	}
}
