package scorecard

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// cards are those of all papers, which several tests look at and none changes.
var cards []Card

func all(t *testing.T) []Card {
	t.Helper()
	for _, p := range Papers[len(cards):] {
		cards = append(cards, must.Get(Read(t.Context(), p))(t))
	}
	return cards
}

// The scores are those that one counts in docs/verdicts.tsv and the experiments, without this package.
func TestScoresAreThoseOfTheTable(t *testing.T) {
	table := csv.NewReader(bytes.NewReader(must.Get(os.ReadFile("../../../docs/verdicts.tsv"))(t)))
	table.Comma = '\t'
	rows := must.Get(table.ReadAll())(t)
	for _, card := range all(t) {
		marks := map[string]int{}
		n, own := 0, 0
		for _, name := range configs.Papers() {
			if !card.Has(name) {
				continue
			}
			ours := must.Get(experiment.Load(name))(t).Claims
			for _, row := range rows {
				if row[0] != name {
					continue
				}
				if ours[0].Ours {
					own++
				} else {
					marks[row[5]]++
					n++
				}
				ours = ours[1:]
			}
			if len(ours) > 0 {
				t.Errorf("%s has %d claims more than the table", name, len(ours))
			}
		}
		want := card.Name + " " + strconv.Itoa(marks["✓"]) + " of " + strconv.Itoa(n)
		if got := card.Score(); !strings.HasPrefix(got, want) {
			t.Errorf("the score is %s, want %s", got, want)
		}
		for _, v := range claims.Verdicts {
			if got := count(card.of(false), v); got != marks[v.Mark()] {
				t.Errorf("%s: %d are %s, want %d", card.Name, got, v, marks[v.Mark()])
			}
		}
		if got := len(card.of(true)); got != own {
			t.Errorf("%s has %d questions of ours, want %d", card.Name, got, own)
		}
	}
}

// named finds names of experiments.
var named = regexp.MustCompile(`\b(laru|igtcache|hlem|qsac|rac)-[a-z0-9-]+`)

// A page names every sentence with its mark, is no wider than 80 columns, says why of all but the reproduced, and what
// would settle those that are open.
func TestPages(t *testing.T) {
	for _, card := range all(t) {
		var out bytes.Buffer
		must.Do(t, Print(&out, []Card{card}, "table"))
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > Width {
				t.Errorf("%s: a line of %d columns: %s", card.Name, n, line)
			}
		}
		flat := strings.Join(strings.Fields(out.String()), " ")
		for _, s := range append(card.of(false), card.of(true)...) {
			if text := strings.Join(strings.Fields(s.Verdict.Mark()+" "+s.states()), " "); !strings.Contains(flat, text) {
				t.Errorf("%s: the page lacks %q", card.Name, text)
			}
			if s.Verdict != claims.Reproduced && s.Why == "" {
				t.Errorf("%s: %q is %s, and nothing says why", card.Name, s.Stated, s.Verdict)
			}
			if open := !s.Ours && !s.Verdict.IsMet(); open != (s.SettledBy != "") {
				t.Errorf("%s: %q is %s, settled by %q; want that where a sentence is open alone", card.Name, s.Stated, s.Verdict,
					s.SettledBy)
			}
			if strings.Count(flat, "settled by: "+s.SettledBy) == 0 {
				t.Errorf("%s: the page lacks what settles %q", card.Name, s.Stated)
			}
			for _, name := range named.FindAllString(s.SettledBy, -1) {
				if !slices.Contains(configs.Papers(), name) {
					t.Errorf("%s: %q would be settled by %s, which is no experiment", card.Name, s.Stated, name)
				}
			}
		}
		if !strings.Contains(flat, "could be read off") {
			t.Errorf("%s: the page does not say what is not drawn", card.Name)
		}
	}
}

// JSON, CSV and Markdown have as many sentences as the cards.
func TestFormats(t *testing.T) {
	cards := all(t)
	n := len(sentences(cards))
	var lines, table, page bytes.Buffer
	must.Do(t, Print(&lines, cards, "json"))
	must.Do(t, Print(&table, cards, "csv"))
	must.Do(t, Print(&page, cards, "markdown"))
	for line := range strings.Lines(lines.String()) {
		var s Sentence
		must.Do(t, json.Unmarshal([]byte(line), &s))
		if s.Paper == "" || s.Verdict.Mark() == "" {
			t.Errorf("read back as %+v", s)
		}
	}
	if got := strings.Count(lines.String(), "\n"); got != n {
		t.Errorf("%d lines of JSON, want %d", got, n)
	}
	if rows := must.Get(csv.NewReader(&table).ReadAll())(t); len(rows) != n+1 {
		t.Errorf("%d rows, want %d", len(rows), n+1)
	}
	if rows := regexp.MustCompile(`(?m)^\| [✓↑c≈✗–] \|`).FindAllString(page.String(), -1); len(rows) != n {
		t.Errorf("%d rows of Markdown, want %d", len(rows), n)
	}
	if got := string(must.Get(os.ReadFile("../../../docs/scorecards.md"))(t)); got != page.String() {
		t.Error("docs/scorecards.md is another page; run make docs")
	}
	if err := Print(&page, cards, "junit"); err == nil {
		t.Error("an unknown format is no error")
	}
}

// README has the scores. UPDATE=1 writes them.
func TestReadmeHasTheScores(t *testing.T) {
	const path = "../../../README.md"
	text := string(must.Get(os.ReadFile(path))(t))
	line := regexp.MustCompile(`(?m)^Sentences reproduced: .*$`)
	want := Line(all(t))
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(path, []byte(line.ReplaceAllLiteralString(text, want)), 0o644))
		return
	}
	if got := line.FindAllString(text, -1); len(got) != 1 || got[0] != want {
		t.Errorf("README has %q, want %q; UPDATE=1 go test ./internal/experiment/scorecard writes it", got, want)
	}
}

// Verdicts of other claims, or of a mark that does not exist, are refused: a card never shows one beside another claim.
func TestVerdictsOfOtherClaimsAreRefused(t *testing.T) {
	f := must.Get(experiment.Load("laru-fig4"))(t)
	right := configs.Verdicts(f.Name)
	if e, err := read(Papers[0], f, right); err != nil || len(e.Sentences) != len(f.Claims) {
		t.Fatalf("read %d sentences (%v)", len(e.Sentences), err)
	}
	other := append([]configs.Verdict{}, right...)
	other[0], other[1] = other[1], other[0]
	unknown := append([]configs.Verdict{}, right...)
	unknown[0].Mark = "?"
	for want, verdicts := range map[string][]configs.Verdict{
		"laru-fig4 has 4 claims, and verdicts of 3; want make verdicts EXPERIMENTS=laru-fig4": right[1:],
		`has the verdict "` + other[0].Mark + `" of`:                                          other,
		`has the verdict "?" of`: unknown,
	} {
		if _, err := read(Papers[0], f, verdicts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestChoose(t *testing.T) {
	for key, want := range map[string]int{"laru": 1, "litecache": 1, All: len(Papers)} {
		if got := must.Get(Choose(key))(t); len(got) != want || want == 1 && got[0].Key != key {
			t.Errorf("%s: got %v", key, got)
		}
	}
	must.NotGet(Choose("larv"))(t, `unknown paper "larv"; did you mean "laru"?`)
}

func TestScoreSaysWhatIsNarrowed(t *testing.T) {
	sentence := func(v claims.Verdict, ours, narrowed bool) Sentence {
		return Sentence{Verdict: v, Ours: ours, Narrowed: narrowed}
	}
	card := Card{Paper: Paper{Name: "X"}, Experiments: []Experiment{{Sentences: []Sentence{
		sentence(claims.Reproduced, false, false), sentence(claims.Reproduced, false, true),
		sentence(claims.Refuted, false, true), sentence(claims.Reproduced, true, true),
		sentence(claims.Calibrated, false, false), sentence(claims.Exceeded, false, false),
	}}}}
	if got, want := card.Score(), "X 2 of 5 (1 narrowed)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Line([]Card{card}), "Sentences reproduced: X 2 of 5 (1 narrowed)."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := counts(card.of(false)), "2 ✓, 1 ↑, 1 c, 0 ≈, 1 ✗, 0 –"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
