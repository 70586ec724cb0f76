package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// patterns are those of known tokenizers, and some with what is rare.
var patterns = map[string]string{
	"gpt2": gpt2Pattern,
	"cl100k, llama-3": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`,
	"qwen-2": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|` +
		`\s+(?!\S)|\s+`,
	"o200k": `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
	"deepseek-3": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?" +
		"[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
	"digits":     `\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))|\D+`,
	"classes":    `[\w-]+|[\S]|\W\d?|[^]a]`,
	"atomic":     `(?>a+)b|(?>\s*)x|.`,
	"escapes":    `[\u4e00-\u9fff]+|\u0041+|\bfoo\b|\x41`,
	"empty":      `x*|(?=b)`,
	"look first": `(?!a)|a(?=b|$)|[ab]`,
}

// TestPatternsMatchAsRegexp2 compares matches in random texts with those of another implementation.
func TestPatternsMatchAsRegexp2(t *testing.T) {
	letters := []rune("aaAbBxyzZ01239 \t\r\n'sStTrRvVeElLdDmMfo.,!?-()[]|/_foo$%" +
		"…。é한中مǅʰ́٣½\u00a0\u2003\u3000\u0085")
	for name, text := range patterns {
		random := rand.New(rand.NewPCG(3, 4))
		p, err := compilePattern(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		other := regexp2.MustCompile(text, regexp2.None)
		for range 3000 {
			runes := make([]rune, random.IntN(24))
			for i := range runes {
				runes[i] = letters[random.IntN(len(letters))]
				if i > 0 && random.IntN(3) == 0 {
					runes[i] = runes[i-1] // runs
				}
			}
			var got, want [][2]int
			must.Do(t, p.findAll(string(runes), func(from, until int) {
				from, until = utf8.RuneCountInString(string(runes)[:from]), utf8.RuneCountInString(string(runes)[:until])
				got = append(got, [2]int{from, until})
			}))
			m := must.Get(other.FindRunesMatch(runes))(t)
			for ; m != nil; m = must.Get(other.FindNextMatch(m))(t) {
				want = append(want, [2]int{m.Index, m.Index + m.Length})
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q has matches %d, want %d", name, string(runes), got, want)
				break
			}
		}
	}
}

// TestClassesAreThoseOfUnicode looks at every character.
func TestClassesAreThoseOfUnicode(t *testing.T) {
	for text, is := range map[string]func(rune) bool{`\s`: unicode.IsSpace, `\d`: unicode.IsDigit, `\w`: isWord,
		`[\S]`: func(c rune) bool { return !unicode.IsSpace(c) }, `\W`: func(c rune) bool { return !isWord(c) }} {
		p := must.Get(compilePattern(text))(t)
		for c := range rune(unicode.MaxRune + 1) {
			steps := 0
			if _, got, _ := p.matchAt(string(c), 0, &steps); got != is(c) {
				t.Fatalf("%s at %U: %v, want %v", text, c, got, is(c))
			}
		}
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"(":           "missing closing )",
		"(?=a":        "missing closing )",
		`(?<=a)b`:     `it looks behind, "(?<="`,
		`(a)\1`:       "invalid escape sequence",
		"a\U000F0001": "it has characters for private use",
	} {
		if _, err := compilePattern(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("the pattern %q is not supported: ", text)) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestStepsAreBounded has a pattern that takes exponentially many steps: it ends after the same number on every
// machine.
func TestStepsAreBounded(t *testing.T) {
	p := must.Get(compilePattern(`(?:a|aa)*b`))(t)
	short, long := strings.Repeat("a", 12), strings.Repeat("a", 60)
	if err := p.findAll(short, func(int, int) {}); err != nil {
		t.Error(err)
	}
	steps := 0
	if _, _, err := p.matchAt(long, 0, &steps); err != errSteps || steps != mostSteps+1 {
		t.Errorf("error %v after %d steps, want %v after %d", err, steps, errSteps, mostSteps+1)
	}
	// A pattern of a tokenizer takes a few steps for each character, whatever the text.
	for _, name := range []string{"gpt2", "cl100k, llama-3", "qwen-2", "o200k", "deepseek-3"} {
		p := must.Get(compilePattern(patterns[name]))(t)
		for _, unit := range []string{"a", " ", "\n", "1", ".", "'", "aA", " \n", "é "} {
			text := strings.Repeat(unit, 20_000/len(unit))
			steps := 0
			for at := 0; at < len(text); {
				end, found, err := p.matchAt(text, at, &steps)
				must.Do(t, err)
				if at = max(at+1, end); !found {
					break
				}
			}
			if steps > 100*len(text) {
				t.Errorf("%s takes %d steps for %d bytes of %q", name, steps, len(text), unit)
			}
		}
	}
}
