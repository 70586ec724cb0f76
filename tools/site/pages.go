package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// repository is where links lead whose target is no page: to code, examples and experiments.
const repository = "https://github.com/cachesim/cachesim/blob/main/"

// policyFolder has the pages of policies, which are made, not staged.
const policyFolder = "policy"

// renamed are the pages that have another place on the site than in the repository, beside those in docs.
var renamed = map[string]string{
	"README.md":        "index.md",
	"CONTRIBUTING.md":  "contributing.md",
	"CHANGELOG.md":     "changelog.md",
	"python/README.md": "python.md",
	"docs/README.md":   "contents.md", // README.md would be the front page
}

// pages returns where each page and picture of the repository is on the site.
func pages(root string) (map[string]string, error) {
	all := map[string]string{}
	for from, to := range renamed {
		all[from] = to
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if _, done := all[name]; !done && slices.Contains([]string{".md", ".svg", ".png"}, path.Ext(name)) {
			all[name] = strings.TrimPrefix(name, "docs/")
		}
		return nil
	})
	return all, err
}

// stage copies all pages and pictures, and returns the pages of the site.
func stage(root, out string) (staged []string, err error) {
	all, err := pages(root)
	if err != nil {
		return nil, err
	}
	for from, to := range all {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return nil, err
		}
		if path.Ext(from) == ".md" {
			staged = append(staged, to)
			turned, err := turn(root, string(text), from, all)
			if err != nil {
				return nil, err
			}
			text = []byte(lift(turned))
		}
		if err := writeFile(filepath.Join(out, to), text); err != nil {
			return nil, err
		}
	}
	slices.Sort(staged)
	return staged, nil
}

func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

var (
	linked   = regexp.MustCompile(`(\]\(|<img src=")([^)\s"]+)([)"])`)
	listed   = regexp.MustCompile(`^( *)([-*]|\d+\.) `)
	codeSpan = regexp.MustCompile("`[^`]*`")

	underTitle = regexp.MustCompile(`(?m)^#(#+ )`)
)

// turn makes the links of a page lead to where their targets are on the site, or else in the repository. It puts an
// empty line before each list, without which MkDocs, unlike GitHub, takes it for a part of the paragraph above.
func turn(root, text, from string, all map[string]string) (string, error) {
	var w, paragraph strings.Builder // code may go on in the next line, so that links are found in paragraphs
	var problem error
	flush := func() {
		turned, err := turnLinks(root, paragraph.String(), from, all)
		problem = cmp.Or(problem, err)
		w.WriteString(turned)
		paragraph.Reset()
	}
	fenced, above := false, ""
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fenced || fence || strings.HasPrefix(line, "    ") {
			flush()
			w.WriteString(line)
		} else {
			if listed.MatchString(line) && above != "" && !listed.MatchString(above) && !strings.HasPrefix(above, " ") {
				paragraph.WriteString("\n")
			}
			paragraph.WriteString(line)
			if strings.TrimSpace(line) == "" {
				flush()
			}
		}
		fenced = fenced != fence
		above = strings.TrimRight(line, "\n")
	}
	flush()
	return w.String(), problem
}

// lift makes the headings of a page without a title those of a level above, as the pages of commands need it.
func lift(text string) string {
	if !strings.HasPrefix(text, "## ") {
		return text
	}
	return underTitle.ReplaceAllString(text, "$1")
}

// turnLinks leaves code as it is.
func turnLinks(root, text, from string, all map[string]string) (turned string, err error) {
	var w strings.Builder
	at := 0
	for _, m := range linked.FindAllStringSubmatchIndex(hideCode(text), -1) {
		target, problem := turnLink(root, text[m[4]:m[5]], from, all)
		if problem != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", from, problem))
		}
		w.WriteString(text[at:m[4]] + target)
		at = m[5]
	}
	return w.String() + text[at:], err
}

// hideCode returns the text with blanks for its code, byte by byte.
func hideCode(text string) string {
	return codeSpan.ReplaceAllStringFunc(text, func(code string) string { return strings.Repeat(" ", len(code)) })
}

func turnLink(root, link, from string, all map[string]string) (string, error) {
	target, anchor, found := strings.Cut(link, "#")
	if target == "" || strings.Contains(target, ":") {
		return link, nil
	}
	if found {
		anchor = "#" + anchor
	}
	file := path.Join(path.Dir(from), target)
	if to, ok := all[file]; ok {
		relative, err := filepath.Rel(path.Dir(all[from]), to)
		return filepath.ToSlash(relative) + anchor, err
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return "", fmt.Errorf("a link to %s, which is no file; want one from the folder of the page", link)
	}
	return repository + file + anchor, nil
}

// policyMark is the line of the configuration that the pages of policies replace.
var policyMark = regexp.MustCompile(`(?m)^( *)# policies\n`)

// configure writes the configuration, with the pages of policies, and checks that it names each page once.
func configure(root, out string, staged []string, all policies) error {
	base := filepath.Join(root, "packaging/site")
	text, err := os.ReadFile(filepath.Join(base, "mkdocs.yml"))
	if err != nil {
		return err
	}
	if err := named(string(text), staged); err != nil {
		return err
	}
	config := policyMark.ReplaceAllStringFunc(string(text), func(mark string) string {
		return all.navigation(strings.Repeat(" ", strings.Index(mark, "#")))
	})
	if err := os.WriteFile(filepath.Join(out, "mkdocs.yml"), []byte(config), 0o644); err != nil {
		return err
	}
	style, err := os.ReadFile(filepath.Join(base, "site.css"))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, "docs/site.css"), style)
}

var navigated = regexp.MustCompile(`(?m)^ *- (?:[^:\n]*: )?(\S+\.md)$`)

// named checks that the navigation has each page once, and no other ones.
func named(config string, staged []string) error {
	if len(policyMark.FindAllString(config, -1)) != 1 {
		return fmt.Errorf("mkdocs.yml: the line # policies must be there once, where their pages go")
	}
	times := map[string]int{}
	for _, m := range navigated.FindAllStringSubmatch(config, -1) {
		times[m[1]]++
	}
	var wrong []string
	for _, page := range staged {
		if times[page] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", page, times[page]))
		}
		delete(times, page)
	}
	for page := range times {
		wrong = append(wrong, page+", which is no page")
	}
	if slices.Sort(wrong); len(wrong) > 0 {
		return fmt.Errorf("mkdocs.yml: nav has %s; want each page once", strings.Join(wrong, ", "))
	}
	return nil
}
