package source

import "testing"

// TestStringsOfAnyBytes: bytes that are not UTF-8 are kept if the format may have them, beside escapes.
func TestStringsOfAnyBytes(t *testing.T) {
	for text, want := range map[string][2]string{
		`"a"`:                           {"a", "a"},
		"\"\xffa\"":                     {"\ufffda", "\xffa"},
		"\"\\n\xff\\ud83d\\ude00\\\\\"": {"\n\ufffd\U0001f600\\", "\n\xff\U0001f600\\"},
		`"\ud83d"`:                      {"\ufffd", "\ufffd"},
		`"\u00e9\"x"`:                   {"é\"x", "é\"x"},
	} {
		for i, anyBytes := range []bool{false, true} {
			s := JSONScanner{Text: []byte(text), AnyBytes: anyBytes}
			if got, err := s.String(); err != nil || string(got) != want[i] || s.End() != nil {
				t.Errorf("%q, any bytes %v: got %q and error %v, want %q", text, anyBytes, got, err, want[i])
			}
		}
	}
	for _, text := range []string{`"\x"`, `"\u12"`, `"\u12` + "\xff" + `4"`, `"a\`} {
		for _, anyBytes := range []bool{false, true} {
			s := JSONScanner{Text: []byte(text), AnyBytes: anyBytes}
			if got, err := s.String(); err == nil {
				t.Errorf("%q is read as %q, want an error", text, got)
			}
		}
	}
}
