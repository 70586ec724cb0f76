package source

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestRowsAgreeWithEncodingCSV: a line is cut, or refused, as package encoding/csv does it. Cells that are not wanted
// are counted all the same.
func TestRowsAgreeWithEncodingCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.SampledFrom([]rune(`ab",`)), 1, 12, -1).Draw(t, "line")
		reference := csv.NewReader(strings.NewReader(line))
		want, wantErr := reference.Read()

		in := &File{Label: "test", r: strings.NewReader(line)}
		src, err := New(in, "test", "test", in)
		must.Do(t, err)
		wanted := rapid.IntRange(0, 4).Draw(t, "wanted")
		rows := Rows{Src: src, Delimiter: ',', Wanted: wanted}
		err = rows.Next()
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, encoding/csv says %v", line, err, wantErr)
		}
		if err != nil {
			return
		}
		var got []string
		for _, cell := range rows.Cells {
			got = append(got, string(cell))
		}
		if rows.Columns != len(want) {
			t.Fatalf("%q: %d columns, encoding/csv says %d", line, rows.Columns, len(want))
		}
		if wanted > 0 {
			got, want = got[:min(wanted, len(got))], want[:min(wanted, len(want))]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: cells %q, encoding/csv says %q", line, got, want)
		}
	})
}

// TestParseNumbersAgreesWithWords: the fast path gives the same as cutting and parsing word by word, or returns false.
func TestParseNumbersAgreesWithWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(rapid.StringOfN(rapid.SampledFrom([]rune("0123456789999 \t\tx")), 0, 60, -1).Draw(t, "line"))
		var words [3][]byte
		var want [3]uint64
		ok := CutWords(line, words[:])
		for i, word := range words {
			var isNumber bool
			want[i], isNumber = ParseDigits(word)
			ok = ok && isNumber
		}
		var got [3]uint64
		fast := ParseNumbers(line, got[:])
		long := slices.ContainsFunc(words[:], func(w []byte) bool { return len(w) > 19 })
		if fast != ok && !long {
			t.Fatalf("%q: fast path says %v, words say %v", line, fast, ok)
		}
		if fast && got != want {
			t.Fatalf("%q: %v, want %v", line, got, want)
		}
	})
}

func TestBinaryHasControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]rune("a /\u00e9\u0080\x7f\t\n\r\x00\x1f"))
		text := []byte(rapid.StringOfN(letters, 0, 30, -1).Draw(t, "text"))
		want := slices.ContainsFunc(text, func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' })
		if got := IsBinary(text); got != want {
			t.Fatalf("%q is binary: %v, want %v", text, got, want)
		}
	})
}
