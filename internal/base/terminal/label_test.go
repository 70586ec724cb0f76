package terminal

import "testing"

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{"": "", "job": "job", "Größe\"": "Größe\"",
		"u\n::error::x\u202e": `u\n::error::x\u202e`, "a\xff\"": `a\xff\"`} {
		if got := Label(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
