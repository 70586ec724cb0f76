package lists

import (
	"bytes"
	"strings"
	"testing"
)

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
func TestDescribeBreaksLines(t *testing.T) {
	long := strings.Repeat("word ", 30)
	l := List{Wrapped: true, Items: []Item{{About: []string{"name: short", "  " + long}}, {About: []string{"other"}}}}
	var out bytes.Buffer
	if err := l.Describe(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 6 || lines[0] != "name: short" || !strings.HasPrefix(lines[1], "  word") ||
		!strings.HasPrefix(lines[2], "    word") || lines[3] != "" || lines[4] != "other" {
		t.Errorf("got\n%s", out.String())
	}
	for _, line := range lines {
		if len(line) > 100 {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
	if got := strings.Fields(out.String()); len(got) != 33 {
		t.Errorf("%d words are left, want 33", len(got))
	}
}
