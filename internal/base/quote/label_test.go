package quote

import "testing"

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{"": "", "job": "job", "Größe\n\"": "Größe\n\"", "a\xff\"": `a\xff\"`} {
		if got := Label(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
