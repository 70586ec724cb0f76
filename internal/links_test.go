package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markdownCode = regexp.MustCompile("`[^`]*`")
	namedAnchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	noAnchor     = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksLeadSomewhere follows the links of all pages to files and headings of this repository.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := append(must.Get(filepath.Glob("../*.md"))(t), must.Get(filepath.Glob("../docs/*.md"))(t)...)
	links := 0
	for _, page := range pages {
		for _, found := range markdownLink.FindAllStringSubmatch(markdownCode.ReplaceAllString(read(t, page), ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			links++
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is no file", page, found[1])
			} else if anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s links to %s, which is no heading", page, found[1])
			}
		}
	}
	if links < 200 {
		t.Errorf("%d links were followed: this test misses most", links)
	}
}

// anchors returns the names that GitHub gives to the headings of a page, and those that it gives itself.
func anchors(page string) map[string]bool {
	names, code := map[string]bool{}, false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && !code && strings.HasPrefix(line, "#") {
			text = markdownLink.ReplaceAllString(strings.TrimSpace(text), "")
			names[strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
		}
		for _, named := range namedAnchor.FindAllStringSubmatch(line, -1) {
			names[named[1]] = true
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}
