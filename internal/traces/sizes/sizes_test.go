package sizes

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"475": 475, "475B": 475, "0": 0, "1.5KiB": 1536, "2 kB": 2000} {
		if got := must.Get(ParseBytes(text))(t); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "want bytes", "1.5": "want bytes", "-1": "want bytes",
		"4kb": "did you mean 4kB or 4KiB?", "2000TiB": "at most 2^50", "x": "want bytes"} {
		_, err := ParseBytes(text)
		must.Fail(t, err, want)
	}
}

// TestPatternsAreRegularExpressions compares patterns with regular expressions of the same meaning.
func TestPatternsAreRegularExpressions(t *testing.T) {
	letters := rapid.SampledFrom([]string{"a", "b", ":", "*", "?"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(letters, 1, 8).Draw(t, "pattern"), "")
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ":"}), 0, 10).Draw(t, "key"), "")
		same := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if got, want := matches(pattern, []byte(key)), regexp.MustCompile("^"+same+"$").MatchString(key); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, key, got, want)
		}
	})
}

func TestRules(t *testing.T) {
	rules := must.Get(Parse([]string{"user:*=475B", "user:*:x=1", "a=b=2KiB", "7"}))(t)
	for key, want := range map[string]int64{"user:1": 475, "user:1:x": 475, "a=b": 2048, "other": 7} {
		if got, ok := rules.Of([]byte(key), 0); !ok || got.Bytes != want || got.Whole {
			t.Errorf("%s: %v, %v, want %d", key, got, ok, want)
		}
	}
	if _, ok := must.Get(Parse([]string{"user:*=1"}))(t).Of([]byte("other"), 0); ok {
		t.Error("a key that no rule matches has a size")
	}
	for text, want := range map[string]string{"abc": "@FILE for a file of sizes", "user:*=x": `size "x"`, "=5": "pattern",
		"@": "want the path"} {
		_, err := Parse([]string{text})
		must.Fail(t, err, want)
	}
}

func TestPatternsOfKeys(t *testing.T) {
	for key, want := range map[string]string{
		"user:1234":         "user:*",
		"user:1234:profile": "user:*:profile",
		"12":                "*",
		"s:123e4567-e89b-12d3-a456-426614174000:end": "s:*:end",
		"s:123e4567-e89b-12d3-a456-42661417400z":     "s:*-e*b-*d*-a*-*z",
		"sess:9f86d081884c7d65":                      "sess:*",
		"sess:Zk3lQmPo99aTyuIwReXx":                  "sess:*",
		"sess:abcdef":                                "sess:abcdef", // a word, for all that is known
		"v2:img/7.png":                               "v*:img/*.png",
		"":                                           "",
	} {
		if got := string(AppendPattern(nil, []byte(key))); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestMeansMakeTotalsRight: the objects of a group that get a mean have together as much as that many means, to a byte.
func TestMeansMakeTotalsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMeans()
		known := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 20).Draw(t, "known")
		sum := 0.0
		for i, size := range known {
			m.Add(fmt.Append(nil, "a:", i), stream.ValueHash, float64(size))
			sum += float64(size)
		}
		n := rapid.IntRange(1, 50).Draw(t, "unknown")
		for key, origin := range map[string]traces.SizeOrigin{
			"a:": traces.SizeOfPattern, "b": traces.SizeOfType, "c": traces.SizeOfAll,
		} {
			of, total := stream.ValueHash, 0.0
			if origin == traces.SizeOfAll {
				of = stream.ValueList
			}
			for i := range n {
				name := key
				if origin == traces.SizeOfPattern {
					name += fmt.Sprint(100 + i)
				}
				size, from := m.Of([]byte(name), of)
				if total += float64(size); from != origin {
					t.Fatalf("%s: from %d, want %d", name, from, origin)
				}
			}
			if want := sum / float64(len(known)) * float64(n); math.Abs(total-want) > 0.51 {
				t.Errorf("%s: %d sizes add up to %.0f, want %.1f", key, n, total, want)
			}
		}
	})
	if _, from := NewMeans().Of([]byte("a"), 0); from != traces.SizeUnknown {
		t.Error("a size comes from nothing")
	}
}

// listed reads a file of sizes.
func listed(t testing.TB, text string) (*Listed, error) {
	in := must.Get(source.OpenFile(t.Context(), "-", strings.NewReader(text)))(t)
	in.Together = new(source.Together)
	src, err := source.New(in, "sizes.txt", in.Path, in)
	if err != nil {
		return nil, err
	}
	src.Reading = source.NewReading(in, "")
	return ReadListed(src)
}

// scan is what redis-cli 7.0.15 --memkeys prints for eight keys.
const scan = `
# Scanning the entire keyspace to find biggest keys as well as
# average sizes per key type.  You can use -i 0.1 to sleep 0.1 sec
# per 100 SCAN commands (not usually needed).

[00.00%] Biggest set    found so far '"s:1"' with 200 bytes
[00.00%] Biggest string found so far '"user:2"' with 160 bytes
[00.00%] Biggest hash   found so far '"h:1 \"q\""' with 88 bytes
[00.00%] Biggest string found so far '"user:3"' with 208 bytes

-------- summary -------

Sampled 8 keys in the keyspace!
Total key length in bytes is 38 (avg len 4.75)

Biggest string found '"user:3"' has 208 bytes
Biggest   hash found '"h:1 \"q\""' has 88 bytes

1 hashs with 88 bytes (12.50% of keys, avg size 88.00)
3 strings with 480 bytes (37.50% of keys, avg size 160.00)
0 lists with 0 bytes (00.00% of keys, avg size 0.00)
1 sets with 200 bytes (12.50% of keys, avg size 200.00)
`

func TestListed(t *testing.T) {
	bigkeys := strings.NewReplacer("hash found '\"h:1 \\\"q\\\"\"' has 88 bytes", "hash found '\"h\"' has 2 fields",
		"1 hashs with 88 bytes", "1 hashs with 2 fields", "1 sets with 200 bytes", "1 sets with 2 members",
		"0 lists with 0 bytes", "0 lists with 0 items", "'\"s:1\"' with 200 bytes", "'\"s:1\"' with 2 members",
		"'\"h:1 \\\"q\\\"\"' with 88 bytes", "'\"h\"' with 2 fields").Replace(scan)
	for _, c := range []struct {
		name, text string
		whole      bool
		want       map[string]int64 // by keys, or by types behind a slash
	}{
		{"memkeys", scan, true, map[string]int64{"user:3": 208, "user:2": 160, `h:1 "q"`: 88, "new/string": 160,
			"new/hash": 88, "new/list": -1, "new/": (88 + 480 + 200 + 2) / 5}},
		{"bigkeys", bigkeys, false, map[string]int64{"user:3": 208, "h": -1, "new/string": 160, "new/hash": -1}},
		{"MEMORY USAGE, a line each", "user:1 112\nuser 2 (integer) 160\n\"q\"\t7\nnone \nnil (nil)\n", true,
			map[string]int64{"user:1": 112, "user 2": 160, "q": 7, "none": -1, "nil": -1}},
		{"MEMORY USAGE, keys and answers in turns", "user:1\n(integer) 112\nuser:2\n160\ngone\n\nuser:3\n(nil)\n", true,
			map[string]int64{"user:1": 112, "user:2": 160, "gone": -1, "user:3": -1}},
		{"MEMORY USAGE, a session", "127.0.0.1:6379> MEMORY USAGE user:1\n(integer) 112\n127.0.0.1:6379> memory usage " +
			"\"a \\\"b\" SAMPLES 0\n(integer) 9\n", true, map[string]int64{"user:1": 112, `a "b`: 9}},
		{"rows", "user:1,100\n7.0,200\n\"a,b\",300\nx,\n", false, map[string]int64{"user:1": 100, "7": 200, "a,b": 300,
			"x": -1}},
		{"rows with a header", "type,size,key\nstring,100,user:1\n", false, map[string]int64{"user:1": 100}},
		{"redis-rdb-tools", "database,type,key,size_in_bytes,encoding\n0,string,a,80,raw\n3,hash,a,90,ht\n", true,
			map[string]int64{"a": 80, "3/a": 90}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := must.Get(listed(t, c.text))(t)
			for key, want := range c.want {
				of := stream.ValueStream // of which the files have none
				if name, kind, ok := strings.Cut(key, "/"); ok && name == "new" {
					key = name
					of, _ = stream.ParseValueType(kind)
				}
				size, ok := l.Of([]byte(key), of)
				if ok != (want >= 0) || ok && (size.Bytes != want || size.Whole != c.whole) {
					t.Errorf("%s: %+v, %v, want %d, whole %v", key, size, ok, want, c.whole)
				}
			}
		})
	}
}

func TestListedRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "the file is empty",
		"\n\n":                  "holds no sizes: want rows KEY,SIZE",
		"112\n":                 "line 1: \"112\": a size without a key; print the keys, too",
		"a\nb\n":                `line 2: "b": want the size of the key of line 1`,
		"a 1\nb\n":              `line 2: "b": no size follows`,
		"a,1\nb,x\n":            `line 2: size "x"`,
		"a,1\nb\n":              "line 2: 1 columns",
		",1\n":                  "line 1: the key is empty",
		"a,\n":                  "holds no sizes",
		scan[:300]:              "let redis-cli end its scan",
		"\x00\x01\x02,\x00\xff": "is not text",
		"-------- summary -------\n3 strings with 480 bytes (37.50% of keys, avg size 160.00)\n": "look alike",
		"-------- summary -------\n1 hashs with 4 fields (37.50% of keys, avg size 4.00)\n":      "use redis-cli --memkeys",
	} {
		_, err := listed(t, text)
		must.Fail(t, err, want, text)
	}
}

// FuzzListed reads anything as a file of sizes: no panic, and an error names the file.
func FuzzListed(f *testing.F) {
	for _, seed := range []string{scan, "a,1\nb,2\n", "key,memory\na,1\n", "a 1\nb (integer) 2\n", "a\n(nil)\n",
		"> MEMORY USAGE \"a\"\n5\n", "\"a\",1\n'\"", "-------- summary -------\n9 strings with 9 bytes (\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := listed(t, text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "sizes.txt: ") && !strings.Contains(err.Error(), "standard input") {
				t.Errorf("the error does not say where it is: %v", err)
			}
			return
		}
		for _, size := range l.sizes {
			if size < 0 || size > source.MaxSize {
				t.Errorf("size %d", size)
			}
		}
		for of := range stream.ValueTypes {
			if size, ok := l.Of([]byte("?"), of); ok && size.Bytes < 0 {
				t.Errorf("size %d of %s", size.Bytes, of)
			}
		}
	})
}

// FuzzRules parses anything as a rule. A rule that is accepted has a size from 0, or a file.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"475B", "user:*=475B", "@sizes.csv", "a=b=1KiB", "*=0", "=", "@"} {
		f.Add(seed, "user:1")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		rules, err := Parse([]string{text})
		if err != nil {
			return
		}
		if paths := FilesOf([]string{text}); len(paths) > 0 {
			if paths[0] == "" {
				t.Error("a file without a path")
			}
			return
		}
		if size, ok := rules.Of([]byte(key), 0); ok && size.Bytes < 0 {
			t.Errorf("size %d", size.Bytes)
		}
		if pattern := AppendPattern(nil, []byte(key)); len(pattern) > len(key) {
			t.Errorf("the pattern %q is longer than %q", pattern, key)
		}
	})
}
