package tokenizer

import (
	_ "embed" // of the program in Python
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// small returns a tokenizer.json whose vocabulary has all bytes, with their own numbers, and the results of merges from
// 256 on. more are further fields.
func small(more string, merges ...string) string {
	vocabulary := map[string]int{}
	for c := range 256 {
		vocabulary[string(letterOf(byte(c)))] = c
	}
	pairs := [][]string{}
	for _, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		pairs = append(pairs, []string{left, right})
		if _, known := vocabulary[left+right]; !known {
			vocabulary[left+right] = len(vocabulary)
		}
	}
	words, _ := json.Marshal(vocabulary)
	list, _ := json.Marshal(pairs)
	return fmt.Sprintf(`{%s "model": {"type": "BPE", "vocab": %s, "merges": %s}}`, more, words, list)
}

const (
	byteLevel = `"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},`
	specials  = `"added_tokens": [{"id": 900, "content": "<|a|>"}, {"id": 901, "content": "<|a|><|b|>"}, ` +
		`{"id": 902, "content": "é", "normalized": true}],`
)

// pieces returns a tokenizer.json whose words begin with a mark, with the tokens <0x00> to <0xFF>, the mark, and a.
func pieces(more string) string {
	vocabulary := map[string]int{"▁": 257, "a": 258, "▁a": 260}
	for c := range 256 {
		vocabulary[fmt.Sprintf("<0x%02X>", c)] = c
	}
	words, _ := json.Marshal(vocabulary)
	return fmt.Sprintf(`{%s "model": {"type": "BPE", "byte_fallback": true, "vocab": %s, "merges": [["▁", "a"]]}}`, more,
		words)
}

const (
	unigramFile = `{"pre_tokenizer": {"type": "Metaspace", "replacement": "▁"}, "model": {"type": "Unigram", ` +
		`"unk_id": 0, ` +
		`"vocab": [["<unk>", 0], ["▁a", -2], ["b", -3], ["bc", -1], ["▁ab", -4.5]]}}`
	wordPieceFile = `{"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, ` +
		`"lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", ` +
		`"unk_token": "?", ` +
		`"vocab": {"?": 0, "a": 1, "##bc": 2, "##b": 3, ",": 4}}}`
)

func TestEncode(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []uint64
	}{
		"bytes":      {small(byteLevel), "aé ", []uint64{'a', 0xc3, 0xa9, ' '}},
		"merges":     {small(byteLevel, "a b", "ab c", "b c"), "abcbc", []uint64{257, 258}},
		"leftmost":   {small(byteLevel, "a a"), "aaa", []uint64{256, 'a'}},
		"words":      {small(byteLevel, "a Ġ", "Ġ b"), "a b", []uint64{'a', 257}},
		"special":    {small(byteLevel + specials), "x<|a|><|b|><|a|>y<|b", []uint64{'x', 901, 900, 'y', '<', '|', 'b'}},
		"normalized": {small(byteLevel + specials + `"normalizer": {"type": "NFC"},`), "e\u0301", []uint64{902}},
		"own pattern": {small(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", `+
			`"behavior": "Isolated", "pattern": {"Regex": "\\p{N}"}}, {"type": "ByteLevel", "use_regex": false}]},`,
			"1 2", "a Ġ"), "12a ", []uint64{'1', '2', 257}},
		"digits": {small(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", `+
			`"individual_digits": true}, {"type": "ByteLevel"}]},`, "1 2"), "a12", []uint64{'a', '1', '2'}},
		"only matches": {small(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", `+
			`"behavior": "Removed", "invert": true, "pattern": {"Regex": "[ab]+"}}, {"type": "ByteLevel", "use_regex": `+
			`false}]},`, "a b"), "ab-ab", []uint64{256, 256}},
		"ignore merges": {strings.Replace(strings.Replace(small(byteLevel, "a b"), `"merges"`, `"ignore_merges": `+
			`true, "merges"`, 1), `"ab":256`, `"ab":256,"xyz":300`, 1), "xyz", []uint64{300}},
		"prefix space": {small(`"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true},`, "Ġ a"), "a",
			[]uint64{256}},
		"stripping": {small(byteLevel + `"added_tokens": [{"id": 900, "content": "<l>", "lstrip": true}, {"id": 901, ` +
			`"content": "<r>", "rstrip": true}, {"id": 902, "content": "aa", "single_word": true}],`), "b <l> <r> \naa baa",
			[]uint64{'b', 900, ' ', 901, 902, ' ', 'b', 'a', 'a'}},
		"bytes of a character": {pieces(`"normalizer": {"type": "Sequence", "normalizers": [` +
			`{"type": "Prepend", "prepend": "▁"}, ` +
			`{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},`), "a é", []uint64{260, 257, 195, 169}},
		"first word": {pieces(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", ` +
			`"split": false}, "added_tokens": [{"id": 900, "content": "<s>"}],`), "a<s>a", []uint64{260, 900, 258}},
		"unigram":     {unigramFile, "ab abc?? a", []uint64{4, 1, 3, 0, 1}},
		"word pieces": {wordPieceFile, "Ábc, abd 日", []uint64{1, 2, 4, 0, 0}},
		"nothing":     {small(byteLevel), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := must.Get(Parse([]byte(c.file)))(t).Encode(nil, c.text)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q is %v and error %v, want %v", c.text, got, err, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"no JSON":       {"x", "want a tokenizer.json of Hugging Face"},
		"model":         {strings.Replace(small(""), "BPE", "WordLevel", 1), `the model "WordLevel" is not supported`},
		"word of bytes": {strings.Replace(small(byteLevel), "BPE", "WordPiece", 1), "with the pre-tokenizer ByteLevel"},
		"normalizer":    {small(byteLevel + `"normalizer": {"type": "Rot13"},`), `the normalizer "Rot13" is not supported`},
		"long content": {small(`"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "` +
			strings.Repeat("b", 99) + `"},`), "a content of 99 bytes"},
		"charsmap": {small(`"normalizer": {"type": "Precompiled", "precompiled_charsmap": "A"},`),
			"want a charsmap"},
		"pre-tokenizer": {small(`"pre_tokenizer": {"type": "Spaces"},`), `the pre-tokenizer "Spaces" is not supported`},
		"after bytes": {small(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": ` +
			`"Digits"}]},`), `the pre-tokenizer "Digits" after ByteLevel`},
		"mark": {small(`"pre_tokenizer": {"type": "Metaspace"},`), "want one character"},
		"scheme": {small(`"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": ` +
			`"last"},`), "want always"},
		"pattern": {small(`"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": ` +
			`{"Regex": "("}},`), `pattern "("`},
		"behavior": {small(`"pre_tokenizer": {"type": "Split", "behavior": "Kept", "pattern": {"Regex": "a"}},`),
			`with behavior "Kept"`},
		"unknown": {strings.Replace(small(""), `"vocab"`, `"unk_token": "<?>", "vocab"`, 1), `unknown token "<?>"`},
		"scores":  {`{"model": {"type": "Unigram", "vocab": [["a", -1], ["b", "x"]]}}`, "token 1 of the vocabulary"},
		"long token": {`{"model": {"type": "Unigram", "vocab": [["` + strings.Repeat("a", 513) + `", -1]]}}`,
			"a token of 513 bytes"},
		"unk_id": {`{"model": {"type": "Unigram", "unk_id": 2, "vocab": [["a", -1]]}}`, "unk_id is 2"},
		"suffix": {strings.Replace(small(""), `"vocab"`, `"end_of_word_suffix": "</w>", "vocab"`, 1),
			"end_of_word_suffix"},
		"empty token": {small(byteLevel + `"added_tokens": [{"id": 7, "content": ""}],`), "the added token 7 is empty"},
		"byte fallback": {strings.Replace(small(byteLevel), `"vocab"`, `"byte_fallback": true, "vocab"`, 1),
			"byte_fallback with the pre-tokenizer ByteLevel"},
		"no bytes": {`{` + byteLevel + `"model": {"type": "BPE", "vocab": {"a": 1}, "merges": []}}`, "the " +
			"vocabulary lacks the byte 0"},
		"wrong merge": {strings.Replace(small(byteLevel, "a b"), `["a","b"]`, `["a","Z Z"]`, 1), "merge 1 of " +
			"\"a\" and \"Z Z\""},
		"odd merge": {strings.Replace(small(byteLevel, "a b"), `["a","b"]`, `7`, 1), "merge 7: want a pair of tokens"},
	} {
		_, err := Parse([]byte(c.file))
		must.Fail(t, err, c.want, name)
	}
}

// TestLongWords: a word without end takes no longer than others.
func TestLongWords(t *testing.T) {
	word := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct {
		file string
		want int
	}{
		"bytes":       {small(byteLevel, "a a", "aa aa", "aaaa aaaa"), 1 << 17},
		"characters":  {pieces(""), 1 << 20},
		"unigram":     {strings.Replace(unigramFile, `"b"`, `"a"`, 1), 1 << 20},
		"word pieces": {wordPieceFile, 1},
	} {
		tk := must.Get(Parse([]byte(c.file)))(t)
		if got := must.Get(tk.Encode(nil, word))(t); len(got) != c.want {
			t.Errorf("%s: %d tokens, want %d", name, len(got), c.want)
		}
	}
	double := `{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}`
	growing := pieces(`"normalizer": {"type": "Sequence", "normalizers": [` + strings.Repeat(double+",", 63) + double +
		`]},`)
	_, err := must.Get(Parse([]byte(growing)))(t).Encode(nil, strings.Repeat("a", 1000))
	must.Fail(t, err, "the normalizers of the tokenizer make more than 33024 bytes of 1032")
	if testing.Short() {
		return
	}
	_, err = must.Get(Parse([]byte(pieces(""))))(t).Encode(nil, strings.Repeat("a", 17<<20))
	must.Fail(t, err, "a word of 17825792 bytes for the tokenizer: want at most 16777216")
}

// original trains tokenizers in the form of those of several families on made-up texts, and prints them, 1 000 other
// texts, and the tokens of these by Hugging Face's own library.
//
//go:embed testdata/original.py
var original string

// TestAsTheOriginal compares the tokens of 1 000 texts with those of Hugging Face's tokenizers, for the forms of
// many families. It needs Python with that package: pip install tokenizers.
func TestAsTheOriginal(t *testing.T) {
	python := interpreter.Python(t, "tokenizers")
	command := exec.Command(python, "-c", original)
	command.Env = append(command.Environ(), "PYTHONIOENCODING=utf-8")
	var said struct {
		Texts      []string
		Tokenizers []struct {
			Name, File string
			IDs        [][]uint64
		}
	}
	must.Do(t, json.Unmarshal(must.Get(command.Output())(t), &said))
	if len(said.Texts) != 1000 || len(said.Tokenizers) < 23 {
		t.Fatalf("%d texts, %d tokenizers", len(said.Texts), len(said.Tokenizers))
	}
	for _, theirs := range said.Tokenizers {
		tk := must.Get(Parse([]byte(theirs.File)))(t)
		different := 0
		for i, text := range said.Texts {
			got := must.Get(tk.Encode(nil, text))(t)
			if !slices.Equal(got, theirs.IDs[i]) {
				if different++; different == 1 {
					t.Errorf("%s: %q is %v, want %v", theirs.Name, text, got, theirs.IDs[i])
				}
			}
		}
		if different > 0 {
			t.Errorf("%s: %d of %d texts have other tokens", theirs.Name, different, len(said.Texts))
		}
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add([]byte(small(byteLevel+specials, "a b")), "ab<|a|>c")
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}`), "")
	f.Add([]byte(pieces(`"normalizer": {"type": "Replace", "pattern": {"Regex": " +"}, "content": "▁"},`)), "a  é")
	f.Add([]byte(unigramFile), "ab c")
	f.Add([]byte(wordPieceFile), "abc, Á")
	f.Add([]byte(`{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAAAAAAAYQA="}, "model": `+
		`{"type": "Unigram", "vocab": [["a", -1]]}}`), "a")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tk, err := Parse(file)
		if err != nil {
			return
		}
		if _, err := tk.Encode(nil, text); err != nil && !strings.HasPrefix(err.Error(), "the pattern of the tokenizer") &&
			!errors.Is(err, errNoUnknown) && !strings.HasPrefix(err.Error(), "the normalizers of the tokenizer") {
			t.Error(err)
		}
	})
}

// TestBlankTokens: white space that is a token itself is taken once by the tokens beside it, and each is passed over
// once, as otherwise a long run of it takes quadratic time.
func TestBlankTokens(t *testing.T) {
	for name, c := range map[string]struct {
		strips, text string
		want         []uint64
	}{
		"left":         {`"lstrip": true`, "a  b", []uint64{'a', 900, 900, 'b'}},
		"right":        {`"rstrip": true`, "a  b", []uint64{'a', 900, 900, 'b'}},
		"right, mixed": {`"rstrip": true`, " \n b c", []uint64{900, 900, 'b', 900, 'c'}},
		"left, mixed":  {`"lstrip": true`, "\n \n b", []uint64{900, 900, 'b'}},
	} {
		file := small(byteLevel + `"added_tokens": [{"id": 900, "content": " ", ` + c.strips + `}],`)
		tokenizer := must.Get(Parse([]byte(file)))(t)
		if got, err := tokenizer.Encode(nil, c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v and error %v, want %v", name, got, err, c.want)
		}
		const long = 1 << 20
		if got := must.Get(tokenizer.Encode(nil, strings.Repeat(" ", long)))(t); len(got) != long {
			t.Errorf("%s: %d tokens of %d blanks", name, len(got), long)
		}
	}
}
