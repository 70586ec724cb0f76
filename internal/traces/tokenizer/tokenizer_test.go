package tokenizer

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/interpreter"
	"github.com/cachesim/cachesim/internal/base/must"
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
		"nothing": {small(byteLevel), "", nil},
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
		"no JSON": {"x", "want a tokenizer.json of Hugging Face"},
		"word pieces": {strings.Replace(small(byteLevel), "BPE", "WordPiece", 1), `the model "WordPiece" is not ` +
			`supported`},
		"sentence piece": {small(""), "a BPE that is not byte-level, as SentencePiece makes"},
		"normalizer": {small(byteLevel + `"normalizer": {"type": "Lowercase"},`), `the normalizer "Lowercase" is ` +
			`not supported`},
		"pre-tokenizer": {small(`"pre_tokenizer": {"type": "Metaspace"},`), `the pre-tokenizer "Metaspace" is not ` +
			`supported`},
		"prefix": {small(`"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true},`), "with " +
			"add_prefix_space is not supported"},
		"pattern": {small(`"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ` +
			`"("}},`), "the pattern of a pre-tokenizer is not supported"},
		"behavior": {small(`"pre_tokenizer": {"type": "Split", "behavior": "MergedWithNext", "pattern": ` +
			`{"Regex": "a"}},`), `with behavior "MergedWithNext"`},
		"stripping": {small(byteLevel + `"added_tokens": [{"id": 1, "content": "x", "rstrip": true}],`), `the ` +
			`added token "x" with single_word, lstrip or rstrip`},
		"empty token": {small(byteLevel + `"added_tokens": [{"id": 7, "content": ""}],`), "the added token 7 is empty"},
		"byte fallback": {strings.Replace(small(byteLevel), `"vocab"`, `"byte_fallback": true, "vocab"`, 1),
			"byte_fallback is not supported"},
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
	tk := must.Get(Parse([]byte(small(byteLevel, "a a", "aa aa", "aaaa aaaa"))))(t)
	got := must.Get(tk.Encode(nil, strings.Repeat("a", 1<<20)))(t)
	if len(got) != 1<<17 {
		t.Errorf("%d tokens, want %d", len(got), 1<<17)
	}
}

// original trains tokenizers in the form of those of several families on made-up texts, and prints them, 1 000 other
// texts, and the tokens of these by Hugging Face's own library.
const original = `
import json, random, sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers, Regex, normalizers
random.seed(31)
words = ["the", "quick", "brown", "fox", "don't", "WE'LL", "naïve", "日本語", "한국어", "Привет", "123", "45678", "x_y", "{}", "=>",
    "\n", "\t", "...", "?!", "e\u0301", "½", "٣", "ﬁ", "🙂", "👩‍👩‍👧"]
def text(n):
    return "".join(random.choice(words) + random.choice(["", " ", " ", "  ", "\n", "\r\n", "\u00a0", "\u3000"]) for _ in range(n))
odd = words + ["a", "Z", "'s", "'S", "ſ", "İ", "ß", "\x00", "\x1c", "\x85", "\u2028", "\u200b", "<|im_start|>", "<|im_end|>", "<|im", "K"]
texts = [text(random.randint(1, 60)) if i % 2 else "".join(random.choice(odd) for _ in range(random.randint(0, 40))) for i in range(1000)]
end = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
start = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
def split(pattern): return pre_tokenizers.Split(Regex(pattern), "isolated")
plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
forms = {
    "gpt-2": (None, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama-3": (None, pre_tokenizers.Sequence([split(start + r"\p{N}{1,3}|" + end), plain])),
    "qwen-2": (normalizers.NFC(), pre_tokenizers.Sequence([split(start + r"\p{N}|" + end), plain])),
    "deepseek-3": (None, pre_tokenizers.Sequence([split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
        split(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_{|}~` + "`" + `][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), plain])),
    "smollm": (None, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])),
}
result = []
for name, (normalizer, pre) in forms.items():
    t = Tokenizer(models.BPE(ignore_merges=name == "llama-3"))
    if normalizer: t.normalizer = normalizer
    t.pre_tokenizer = pre
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|im_start|>", "<|im_end|>"], show_progress=False)
    t.train_from_iterator([text(50) for _ in range(300)], trainer)
    result.append({"name": name, "file": t.to_str(), "ids": [t.encode(x, add_special_tokens=False).ids for x in texts]})
json.dump({"texts": texts, "tokenizers": result}, sys.stdout)
`

// TestAsTheOriginal compares the tokens of 1 000 texts with those of Hugging Face's tokenizers, for the forms of five
// families. It needs Python with that package: pip install tokenizers.
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
	if len(said.Texts) != 1000 || len(said.Tokenizers) != 5 {
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
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tk, err := Parse(file)
		if err != nil {
			return
		}
		if _, err := tk.Encode(nil, text); err != nil && !strings.HasPrefix(err.Error(), "the pattern of the tokenizer") {
			t.Error(err)
		}
	})
}
