package source

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func join(parts []string) string {
	var k KeyParts
	k.Add([]byte("left from the key before"))
	k.Reset()
	for _, p := range parts {
		k.Add([]byte(p))
	}
	return string(k.Text())
}

func TestKeyParts(t *testing.T) {
	for want, parts := range map[string][]string{
		"example.com/a.png": {"example.com", "/a.png"},
		"a/b|/c":            {"a/b", "/c"},
		"7|8":               {"7", "8"},
		"a/b|/c/d":          {"a", "/b", "/c/d"},
		`a\|b|c\\`:          {"a|b", `c\`},
		"|x":                {"", "x"},
		"":                  {"", ""},
	} {
		if got := join(parts); got != want {
			t.Errorf("%q: got %q, want %q", parts, got, want)
		}
	}
}

// TestKeyPartsAreUnambiguous: as many parts give the same key only if they are the same.
func TestKeyPartsAreUnambiguous(t *testing.T) {
	part := rapid.StringOf(rapid.SampledFrom([]rune(`a/|\`)))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3).Draw(t, "parts")
		a := rapid.SliceOfN(part, n, n).Draw(t, "a")
		b := rapid.SliceOfN(part, n, n).Draw(t, "b")
		if !slices.Equal(a, b) && join(a) == join(b) && strings.Join(a, "")+strings.Join(b, "") != "" {
			t.Errorf("%q and %q both give %q", a, b, join(a))
		}
	})
}
