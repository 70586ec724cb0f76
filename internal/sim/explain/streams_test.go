package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// The table of streams is aligned, with each reason, wherever it is printed.
func TestTableOfStreams(t *testing.T) {
	const reason = "the gaps do not fit a random order: D = 0.300, at least 0.161"
	rows := []stream{
		{Path: "/p/lustre3/" + strings.Repeat("a-long-name/", 8) + "train", Pattern: "sequential", Because: reason,
			Statistic: 0.3, Threshold: 0.161, Window: 100, Entries: 160, Requests: 12_900, HitRatio: 0.9756,
			Quota: 1_188_771_763, QuotaShare: 0.2534, Used: 1_188_771_763, Benefit: 1.25e-9, Lifetime: 86},
		{Path: "(others)", Pattern: "none", Because: "too few entries of a directory or file were read"},
	}
	for _, width := range []int{60, 80, 100, 160} {
		text := gridOf(rows, true, true).Text(width)
		for line := range strings.SplitSeq(text, "\n") {
			if n := terminal.StringWidth(line); n > width {
				t.Errorf("%d columns in a terminal of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), reason) {
			t.Errorf("no reason in a terminal of %d:\n%s", width, text)
		}
	}
	lines := strings.Split(gridOf(rows, true, false).Text(0), "\n")
	at := func(line, text string) int { return terminal.StringWidth(line[:strings.Index(line, text)]) }
	if len(lines) != 4 || at(lines[2], reason) != at(lines[3], rows[1].Because) ||
		at(lines[2], "sequential") != at(lines[3], "none") {
		t.Errorf("in a file:\n%s", strings.Join(lines, "\n"))
	}
	if longest := slices.MaxFunc(lines, func(a, b string) int {
		return terminal.StringWidth(a) - terminal.StringWidth(b)
	}); terminal.StringWidth(lines[1]) < terminal.StringWidth(longest) {
		t.Errorf("a row is longer than the rule:\n%s", strings.Join(lines, "\n"))
	}
}
