package tabular

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/terminal"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

var byPolicy = Grid{
	Heads: []Head{
		{Name: "capacity"},
		{Name: "policy", IsText: true, Weight: Key, Wrap: 8},
		{Name: "misses", Weight: 2},
		{Name: "hit ratio", Weight: 3},
		{Name: "ns", Weight: 2},
	},
	Rows: [][]string{
		{"100", "lru", "75,673", "34.20%", "8.1"},
		{},
		{"1,000", "s3fifo(small=0.1)", "62,009", "46.08%", "9.25"},
	},
}

func TestTextThatFits(t *testing.T) {
	want := `
 capacity  policy             misses  hit ratio    ns
──────────────────────────────────────────────────────
      100  lru                75,673     34.20%   8.1
──────────────────────────────────────────────────────
    1,000  s3fifo(small=0.1)  62,009     46.08%  9.25`
	for _, width := range []int{0, 54, 200} {
		if got := "\n" + byPolicy.Text(width); got != want {
			t.Errorf("at %d columns: got%s\nwant%s", width, got, want)
		}
	}
}

// Heads and text are broken first; then the column of the least weight leaves, of equal ones the last.
func TestColumnsLeaveByWeight(t *testing.T) {
	for width, want := range map[int]string{
		53: `
 capacity  policy      misses  hit ratio    ns
───────────────────────────────────────────────
      100  lru         75,673     34.20%   8.1
───────────────────────────────────────────────
    1,000  s3fifo(     62,009     46.08%  9.25
           small=0.1)`,
		41: `
 capacity  policy      misses  hit ratio
─────────────────────────────────────────
      100  lru         75,673     34.20%
─────────────────────────────────────────
    1,000  s3fifo(     62,009     46.08%
           small=0.1)
1 column left out: ns; a wider terminal
or --format csv has it`,
		38: `
                               hit
 capacity  policy   misses   ratio
───────────────────────────────────
      100  lru      75,673  34.20%
───────────────────────────────────
    1,000  s3fifo(  62,009  46.08%
           small=
           0.1)
1 column left out: ns; a wider
terminal or --format csv has it`,
		28: `
                       hit
 capacity  policy    ratio
───────────────────────────
      100  lru      34.20%
───────────────────────────
    1,000  s3fifo(  46.08%
           small=
           0.1)
2 columns left out: misses,
ns; a wider terminal or
--format csv has them`,
		20: `
 capacity  policy
───────────────────
      100  lru
───────────────────
    1,000  s3fifo(
           small=
           0.1)
3 columns left out:
misses, hit ratio,
ns; a wider terminal
or --format csv has
them`,
	} {
		if got := "\n" + byPolicy.Text(width); got != want {
			t.Errorf("at %d columns: got%s\nwant%s", width, got, want)
		}
	}
}

// Where every column matters the others are below, and those that belong together stay so.
func TestFolds(t *testing.T) {
	g := Grid{Folds: true, Heads: []Head{{Name: "policy", IsText: true}, {Name: "1%"}, {Name: "10%"},
		{Name: "published", Beside: true}, {Name: "off", Beside: true}, {Name: "30%"}},
		Rows: [][]string{{"lru", "1.00", "2.00", "3.00", "1.00", "4.00"}}}
	want := `
 policy    1%
──────────────
 lru     1.00

 policy   10%  published   off
───────────────────────────────
 lru     2.00       3.00  1.00

 policy   30%
──────────────
 lru     4.00`
	if got := "\n" + g.Text(32); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// In a file one long cell does not push apart those of all other rows, and nothing is left out or broken.
func TestTextInAFile(t *testing.T) {
	long := strings.Repeat("word ", 20) + "end"
	g := Grid{Heads: []Head{{Name: "policy"}, {Name: "evicts", IsText: true, Wrap: 20}, {Name: "source", IsText: true,
		Wrap: 20}}, Rows: [][]string{{"lru", "short", "here"}, {"arc", long, "there"}}}
	lines := strings.Split(g.Text(0), "\n")
	for i, want := range map[int]string{2: "    lru  short" + strings.Repeat(" ", 37) + "here",
		3: "    arc  " + long + "  there"} {
		if lines[i] != want {
			t.Errorf("got %q, want %q", lines[i], want)
		}
	}
}

func TestStyleOfBrokenCells(t *testing.T) {
	g := Grid{Heads: []Head{{Name: "p", IsText: true, Wrap: 4}},
		Rows: [][]string{{"\x1b[2m\x1b[1mone two\x1b[0m\x1b[0m"}, {"a\x1b[2Jb\tc"}}}
	want := " p\n───────\n \x1b[2m\x1b[1mone\x1b[0m\n \x1b[2m\x1b[1mtwo\x1b[0m\n a\\x1b\n [2Jb\n c"
	if got := g.Text(7); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMarkdownAndCSV(t *testing.T) {
	g := Grid{Heads: []Head{{Name: "a|b", IsText: true}, {Name: "n"}}, Rows: [][]string{{"x|y\nz", "1"}, {}, {`"q"`, "2"}}}
	if got, want := g.Markdown(), "| a\\|b | n |\n|:--- | ---:|\n| x\\|y<br/>z | 1 |\n| \"q\" | 2 |"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var csv strings.Builder
	if err := g.CSV(&csv); err != nil || csv.String() != "a|b,n\n\"x|y\nz\",1\n\"\"\"q\"\"\",2\n" {
		t.Errorf("got %q, %v", csv.String(), err)
	}
}

// No line is wider than a terminal that has room for the columns that never leave, and every row stays.
func TestTextFitsAnyTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab ,(=日\u0301é-")), 0, 60, -1)
		g := Grid{Folds: rapid.Bool().Draw(t, "folds"), Heads: []Head{{Name: "key", IsText: true, Wrap: 8}}}
		for range rapid.IntRange(0, 9).Draw(t, "columns") {
			g.Heads = append(g.Heads, Head{
				Name:   rapid.StringOfN(rapid.RuneFrom([]rune("abc ")), 1, 12, -1).Draw(t, "name"),
				IsText: rapid.Bool().Draw(t, "is text"), Weight: rapid.IntRange(0, 3).Draw(t, "weight"),
				Wrap: rapid.SampledFrom([]int{0, 8, 12}).Draw(t, "wrap")})
		}
		rows := rapid.IntRange(1, 4).Draw(t, "rows")
		for range rows {
			row := []string{text.Draw(t, "key")}
			for range g.Heads[1:] {
				row = append(row, rapid.StringOfN(rapid.RuneFrom([]rune("0123.%")), 0, 14, -1).Draw(t, "number"))
			}
			g.Rows = append(g.Rows, row)
		}
		width := rapid.IntRange(30, 130).Draw(t, "width")
		lines := strings.Split(g.Text(width), "\n")
		for _, line := range lines {
			if n := terminal.StringWidth(line); n > width || strings.TrimRight(line, " ") != line {
				t.Fatalf("%d columns of %d: %q", n, width, line)
			}
		}
		if len(lines) < 2+rows {
			t.Fatalf("%d lines for %d rows", len(lines), rows)
		}
	})
}

// Sentences are below the rows of a terminal, and the last column of a file.
func TestBelow(t *testing.T) {
	g := Grid{Heads: []Head{{Name: "stream", IsText: true, Weight: Key}, {Name: "hits"}, {Name: "because", IsText: true,
		Below: true}}, Rows: [][]string{{"train", "12", "read in order\nat least"}, {"val", "7", ""}}}
	want := ` stream  hits
──────────────
 train     12
   read in
   order
   at least
 val        7`
	if got := g.Text(30); got != want {
		t.Errorf("in a terminal:\n%s\nwant\n%s", got, want)
	}
	g.Rows[0][2] = "read in order"
	want = ` stream  hits  because
─────────────────────────────
 train     12  read in order
 val        7`
	if got := g.Text(0); got != want {
		t.Errorf("in a file:\n%s\nwant\n%s", got, want)
	}
}
