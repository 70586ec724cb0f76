package cost

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
)

// chromium returns the path of a browser; the test is skipped without one.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here, which shows whether the page computes what the program does; install it (apt-get install " +
		"chromium) to run this test")
	return ""
}

// shown returns the page as the browser has it after its script.
func shown(t *testing.T, browser, address string) *html.Node {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--dump-dom", address)
	return must.Get(html.Parse(strings.NewReader(string(must.Get(cmd.Output())(t)))))(t)
}

// texts returns the texts of the elements with a class.
func texts(root *html.Node, class string) (all []string) {
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key != "class" || a.Val != class {
				continue
			}
			var text strings.Builder
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					text.WriteString(d.Data)
				}
			}
			all = append(all, text.String())
		}
	}
	return all
}

// TestPageComputesAsTheProgram: at any prices, the sentence that the page's script computes is the program's, with the
// same minimum, and the mark is at it.
func TestPageComputesAsTheProgram(t *testing.T) {
	browser := chromium(t)
	var recs []records.Record
	for i, hits := range [][3]int64{{310, 420, 700}, {505, 600, 900}, {550, 613, 950}, {987, 620, 990}} {
		recs = append(recs, rec("lru", records.Online, gib<<i, hits[0]), rec("s3fifo", records.Online, gib<<i, hits[1]),
			rec("opt", records.Offline, gib<<i, hits[2]))
	}
	today := new(int64(4 * gib))
	written := Bill{Prices: must.Get(Parse("memory=1 EUR/GiB-month,miss=1/M"))(t), PerSecond: 1, Today: today}
	path := filepath.Join(t.TempDir(), page.Name)
	file := must.Get(os.Create(path))(t)
	must.Do(t, page.Page{Title: "t", Sections: []page.Section{{ID: "cost", Title: "c",
		Parts: Parts(written.Answers(recs, nil))}}}.Write(file))
	must.Do(t, file.Close())

	winners := map[string]bool{}
	for _, other := range []struct {
		memory, miss, egress string
		rate                 float64
	}{{"0.001", "3", "7", 12.5}, {"250", "0.4", "0.09", 1}, {"3", "0.5", "10", 0.75}} {
		prices := fmt.Sprintf("memory=%s EUR/GiB-month,miss=%s/M", other.memory, other.miss)
		query := url.Values{"memory": {other.memory}, "miss": {other.miss}, "rate": {fmt.Sprint(other.rate)}}
		if other.egress != "" {
			prices += ",egress=" + other.egress + "/GB"
			query.Set("egress", other.egress)
		}
		b := Bill{Prices: must.Get(Parse(prices))(t), PerSecond: other.rate, Today: today}
		a := b.Answers(recs, nil)[0]
		winners[a.Best().name()] = true
		root := shown(t, browser, "file://"+path+"#cost?"+query.Encode())
		said := texts(root, "computed")
		if len(said) != 2 || said[0] != a.Sentence() {
			t.Errorf("%s: the page says\n%q\nand the program\n%q", prices, said, a.Sentence())
		}
		if !a.Best().isNone() && !strings.HasPrefix(said[1], a.Best().name()+": "+b.Amount(a.Best().Cost)) {
			t.Errorf("%s: the slider is at %q, not at the cheapest", prices, said[1])
		}
		if spots := len(texts(root, "spot")); spots != len(recs) {
			t.Errorf("%s: %d points show their values, want %d", prices, spots, len(recs))
		}
	}
	if len(winners) < 3 || !winners["no cache"] {
		t.Errorf("the prices have the same cheapest caches: %v", winners)
	}

	// What a reader does: writes a price, moves the slider, and goes to a point with the keys.
	file = must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600))(t)
	must.Get(file.WriteString(`<script>
const set = (name, value) => {
  const input = document.querySelector(".calculator [name=" + name + "]");
  input.value = value;
  input.dispatchEvent(new Event("input"));
};
set("memory", "250");
set("policy", "0");
set("capacity", "1");
const drawing = document.querySelector(".calculator .drawing");
for (const key of ["Home", "ArrowRight"]) drawing.dispatchEvent(new KeyboardEvent("keydown", { key }));
</script>`))(t)
	must.Do(t, file.Close())
	root := shown(t, browser, "file://"+path)
	said := texts(root, "computed")
	if len(said) != 2 || !strings.HasPrefix(said[0], "cheapest: 2.63 EUR a month, no cache: ") ||
		!strings.HasPrefix(said[1], "lru at 2 GiB: 501.30 EUR a month, ") {
		t.Errorf("after changes the page says %q", said)
	}
	if tips := texts(root, "tip"); len(tips) != 1 || tips[0] != "lru at 2 GiB: 501.30 EUR" {
		t.Errorf("the second point shows %q", tips)
	}
}

// Without a script the page has the answer and a table, and the place of the calculator is empty.
func TestPageWithoutScript(t *testing.T) {
	b := bill(t)
	recs := []records.Record{rec("lru", records.Online, gib, 500), rec("lru", records.Online, 2*gib, 700)}
	answers := b.Answers(recs, nil)
	var text strings.Builder
	must.Do(t, page.Page{Sections: []page.Section{{Parts: Parts(answers)}}}.Write(&text))
	root := must.Get(html.Parse(strings.NewReader(text.String())))(t)
	if said := texts(root, "answer"); len(said) != 1 || said[0] != answers[0].Sentence() {
		t.Errorf("%q", said)
	}
	if places := texts(root, "calculator"); len(places) != 1 || places[0] != "" {
		t.Errorf("%q", places)
	}
}
