package lists

import (
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
