package lists

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim"
)

// On a terminal a list begins with how many items it has and how to learn more, and has a line for each.
func TestListsHaveALineForEachItem(t *testing.T) {
	all := []List{Policies(), Metrics(), Formats(), KeyValues(), Servers(), Predictors(), Prefetchers(),
		must.Get(Experiments(configs.Papers(), false))(t)}
	for _, kind := range sim.Kinds {
		all = append(all, Parts(kind))
	}
	for _, l := range all {
		l.Whole = "cachesim things"
		lines := strings.Split(strings.TrimRight(l.brief(80), "\n"), "\n")
		if !strings.HasPrefix(lines[0], strconv.Itoa(len(l.Items))+" ") || !strings.Contains(lines[0], l.Whole+" NAME") {
			t.Errorf("%s: the first line is %q", l.Noun, lines[0])
		}
		if most := len(l.Items) + 6; len(lines) > most {
			t.Errorf("%s: %d lines for %d items", l.Noun, len(lines), len(l.Items))
		}
		for _, line := range lines {
			if terminal.StringWidth(line) > 80 {
				t.Errorf("%s: longer than 80 columns: %s", l.Noun, line)
			}
		}
	}
	few := must.Get(Policies().Choose([]string{"lru", "fifo"}))(t)
	if few.Whole != "" {
		t.Error("chosen items are not described in full")
	}
}

func TestChoose(t *testing.T) {
	l := List{Noun: "thing", Items: []Item{{Name: "first", Aliases: []string{"one"}}, {Name: "second"}}}
	for _, names := range [][]string{{"second", "one"}, {"SECOND", "First"}} {
		chosen, err := l.Choose(names)
		if got := strings.Join(chosen.Names(), ","); err != nil || got != "second,first" {
			t.Errorf("%q: got %q, %v", names, got, err)
		}
	}
	if all, err := l.Choose(nil); err != nil || len(all.Items) != 2 {
		t.Errorf("no names: got %q, %v", all.Names(), err)
	}
	want := `unknown thing "secnd"; did you mean "second"? (exists: first, second)`
	if _, err := l.Choose([]string{"first", "secnd"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Descriptions that are broken keep their indent, and what is continued stands two columns further in.
func TestDescribedLine(t *testing.T) {
	tests := []struct{ line, want string }{
		{"name: short", "name: short"},
		{"  one two three four", "  one two\n    three four"},
		{"  a,b\n    c d e f g h i", "  a,b\n    c d e f\n      g h i"},
	}
	for _, test := range tests {
		if got := describedLine(test.line, 14); got != test.want {
			t.Errorf("%q became %q, want %q", test.line, got, test.want)
		}
		if got := describedLine(test.line, 0); got != test.line {
			t.Errorf("%q became %q where there is no terminal", test.line, got)
		}
	}
}
