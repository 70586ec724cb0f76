package source

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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

// TestStringsAsPackageJSON compares values and errors with encoding/json.
func TestStringsAsPackageJSON(t *testing.T) {
	parts := rapid.SampledFrom([]string{"a", "é", "\xff", "\x1f", `\n`, `\/`, `\"`, `\\`, `\u0026`, `\ud83d`, `\ude00`,
		`\uD83D\uDE00`, `\x`, `\u12`, "\u2028", `"`})
	rapid.Check(t, func(t *rapid.T) {
		text := `"` + strings.Join(rapid.SliceOf(parts).Draw(t, "parts"), "") + `"`
		var want string
		wantErr := json.Unmarshal([]byte(text), &want)
		s := JSONScanner{}
		for range 2 { // Room is used again
			s.Reset([]byte(text))
			got, err := s.String()
			if err == nil {
				err = s.End()
			}
			if (err == nil) != (wantErr == nil) || err == nil && string(got) != want {
				t.Errorf("%s: %q, %v, want %q, %v", text, got, err, want, wantErr)
			}
		}
	})
}

// TestStringsAgreeWithEncodingJSON: what is between quotes is read, or refused, as package encoding/json does it.
func TestStringsAgreeWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "plain text", "eight888", `\"`, `\\`, `\u00e9`,
			"\u00e9", "\x01", "\x7f", "\u0080", `"`, `\`, "!", "#", "[", "]"}), 0, 12).Draw(t, "pieces")
		text := `"` + strings.Join(pieces, "") + `"`
		var want string
		wantErr := json.Unmarshal([]byte(text), &want)
		s := JSONScanner{Text: []byte(text)}
		got, err := s.String()
		if err == nil {
			err = s.End()
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, encoding/json says %v", text, err, wantErr)
		}
		if err == nil && string(got) != want {
			t.Fatalf("%q is %q, encoding/json says %q", text, got, want)
		}
	})
}
