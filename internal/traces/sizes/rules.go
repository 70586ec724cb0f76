// Package sizes finds sizes that a log does not state: the user's (Rules), those of similar objects (Means), and
// earlier ones in the log (Table).
package sizes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Rules are what the user says about sizes. The first rule that knows a size wins.
type Rules []rule

// rule gives a size to the keys that match a pattern, or the sizes of a file to its keys.
type rule struct {
	text    string // as the user wrote it
	used    bool   // some object has its size
	pattern string
	size    int64
	path    string // of a file; "" for a pattern
	listed  *Listed
}

// Parse reads rules: "475B" for every object, "user:*=475B" for the keys that match a pattern, and "@FILE" for a file
// of sizes, which Read reads. In a pattern * is any text, and ? any character.
func Parse(texts []string) (Rules, error) {
	var rules Rules
	for _, text := range texts {
		if path, ok := strings.CutPrefix(text, "@"); ok {
			if path == "" || strings.Contains(path, "\n") {
				return nil, fmt.Errorf("%q: want the path of a file of sizes behind @, without line breaks", text)
			}
			rules = append(rules, rule{text: text, path: path})
			continue
		}
		pattern, size := "*", text
		if at := strings.LastIndexByte(text, '='); at >= 0 {
			pattern, size = text[:at], text[at+1:]
		}
		bytes, err := ParseBytes(strings.TrimSpace(size))
		switch {
		case err != nil && pattern == "*" && !strings.ContainsAny(text, "="):
			return nil, fmt.Errorf("%w, 'user:*=475B' for keys that match a pattern, or @FILE for a file of sizes", err)
		case err != nil:
			return nil, err
		case pattern == "" || strings.Contains(pattern, "\n"):
			return nil, fmt.Errorf("%q: want a pattern of keys before the equals sign, such as user:*", text)
		}
		rules = append(rules, rule{text: text, pattern: pattern, size: bytes})
	}
	return rules, nil
}

// FilesOf returns the paths of the files that rules name.
func FilesOf(texts []string) (paths []string) {
	WithFiles(texts, func(path string) string {
		paths = append(paths, path)
		return path
	})
	return paths
}

// WithFiles returns the rules with other paths of the files that they name.
func WithFiles(texts []string, other func(path string) string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		if path, ok := strings.CutPrefix(text, "@"); ok {
			texts[i] = "@" + other(path)
		}
	}
	return texts
}

// Read reads the files that the rules name. in says where they are, and how much memory there is.
func (rules Rules) Read(in *source.File) error {
	for i := range rules {
		r := &rules[i]
		if r.path == "" {
			continue
		}
		listed, err := in.ReadBeside(r.path, "file of sizes", func(s *source.Source) (any, error) { return ReadListed(s) })
		if err != nil {
			return err
		}
		r.listed = listed.(*Listed)
	}
	return nil
}

// Size is what is known about the size of an object.
type Size struct {
	Bytes int64
	// Whole says that Bytes have the key and the server's own bytes, too; otherwise they are those of the value.
	Whole bool
}

// Of returns the size of an object by the first rule that knows it.
func (rules Rules) Of(key []byte, of stream.ValueType) (Size, bool) {
	for i := range rules {
		r := &rules[i]
		if r.listed != nil {
			if size, ok := r.listed.Of(key, of); ok {
				r.used = true
				return size, true
			}
		} else if matches(r.pattern, key) {
			r.used = true
			return Size{Bytes: r.size}, true
		}
	}
	return Size{}, false
}

// Unused returns the texts of the rules that gave no size, neither by Of nor by Each.
func (rules Rules) Unused() (texts []string) {
	for _, r := range rules {
		if !r.used {
			texts = append(texts, r.text)
		}
	}
	return texts
}

// Each calls a function with all keys of files whose sizes stand for those of similar keys.
func (rules Rules) Each(similar func(key []byte, size Size)) {
	for i := range rules {
		r := &rules[i]
		if r.listed == nil || r.listed.summary {
			continue // of a summary only the largest keys are listed
		}
		r.used = true
		for number := range uint32(len(r.listed.sizes)) {
			similar(r.listed.keys.AppendKey(nil, number), Size{r.listed.sizes[number], r.listed.whole})
		}
	}
}

// matches reports whether a key is one of a pattern: * stands for any text, ? for one character.
func matches(pattern string, key []byte) bool {
	p, k, star, mark := 0, 0, -1, 0
	for k < len(key) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, k
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == key[k]):
			p++
			k++
		case star >= 0: // the last star takes one character more
			mark++
			p, k = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
