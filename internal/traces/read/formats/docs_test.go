package formats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
)

// docsOfGroup finds what docs/formats.md has between two remarks, the first of which names a group.
var docsOfGroup = regexp.MustCompile(`(?s)<!-- formats of group ([a-z]+), written by [^>]*-->\n.*?<!-- end -->`)

// TestDocsHaveEveryFormat compares docs/formats.md with the files of formats, and writes it with UPDATE=1.
func TestDocsHaveEveryFormat(t *testing.T) {
	const page = "../../../../docs/formats.md"
	text := string(must.Get(os.ReadFile(page))(t))
	left := map[string][]*layouts.File{}
	for _, f := range must.Get(formats.Described())(t) {
		if len(f.Layouts) > 0 { // the pages on the others are written by hand
			left[f.Group] = append(left[f.Group], f)
		}
	}
	written := docsOfGroup.ReplaceAllStringFunc(text, func(section string) string {
		group := docsOfGroup.FindStringSubmatch(section)[1]
		b := &strings.Builder{}
		fmt.Fprintf(b, "<!-- formats of group %s, written by UPDATE=1 go test ./internal/traces/read/formats -run Docs -->\n",
			group)
		for _, f := range left[group] {
			document(b, f)
		}
		delete(left, group)
		return b.String() + "\n<!-- end -->"
	})
	if len(left) > 0 {
		t.Errorf("docs/formats.md has no section for the groups of %v", reflect.ValueOf(left).MapKeys())
	}
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(page, []byte(written), 0o644))
	} else if written != text {
		t.Error("docs/formats.md is out of date: UPDATE=1 go test ./internal/traces/read/formats -run Docs")
	}
}

// TestCompiledHasEveryFormatOfDocs compares compiled.jsonl with the files of formats that have layouts, and writes it
// with UPDATE=1.
func TestCompiledHasEveryFormatOfDocs(t *testing.T) {
	var b bytes.Buffer
	for _, f := range must.Get(formats.Described())(t) {
		if len(f.Layouts) == 0 {
			continue
		}
		f.Examples, f.Summary, f.Source, f.Detection, f.Notes = nil, "", "", "", ""
		var value any
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(f))(t), &value))
		b.Write(append(must.Get(json.Marshal(withoutZeros(value)))(t), '\n'))
	}
	const path = "compiled.jsonl"
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(path, b.Bytes(), 0o644))
	} else if !bytes.Equal(must.Get(os.ReadFile(path))(t), b.Bytes()) {
		t.Error("compiled.jsonl is out of date: UPDATE=1 go test ./internal/traces/read/formats -run Docs")
	}
}

// withoutZeros leaves out fields that say nothing.
func withoutZeros(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil || field == "" || field == false || field == 0.0 {
				delete(v, name)
				continue
			}
			v[name] = withoutZeros(field)
		}
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	}
	return value
}

// document writes what a file says of a format.
func document(b *strings.Builder, f *layouts.File) {
	about := strings.ToUpper(f.Summary[:1]) + f.Summary[1:] + ". "
	if f.Reads != nil {
		about += fmt.Sprintf("Blocks have %d KiB, and the job is %s. ", f.Reads.Block, f.Reads.Job)
	}
	if f.Notes != "" {
		about += f.Notes + " "
	}
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n```\n%s\n", f.Name, wrapped(about+"Source: "+f.Source+"."), f.Example())
	for _, r := range f.Examples[0].Gives {
		var parts []string
		for v, i := reflect.ValueOf(r), 0; i < v.NumField(); i++ {
			if value := v.Field(i).String(); value != "" {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
				parts = append(parts, name+" "+value)
			}
		}
		fmt.Fprintf(b, "=> %s\n", strings.Join(parts, ", "))
	}
	b.WriteString("```\n")
}

// wrapped breaks a paragraph into lines of at most 120 characters.
func wrapped(text string) string {
	b := &strings.Builder{}
	column := 0
	for _, word := range strings.Fields(text) {
		if n := len([]rune(word)); column > 0 && column+1+n > 120 {
			b.WriteString("\n")
			column = 0
		} else if column > 0 {
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len([]rune(word))
	}
	return b.String()
}
