package configs

import (
	"encoding/csv"
	"os"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestNamesHaveTexts(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("there are no experiments")
	}
	for _, name := range Names() {
		if len(Text(name)) == 0 {
			t.Errorf("%s has no text", name)
		}
	}
	if Text("no-such") != nil || Text("../configs") != nil {
		t.Error("a name that does not exist has a text")
	}
}

// The list of experiments states the times of the runs whose verdicts docs/verdicts.tsv has.
func TestTimesAreThoseOfTheVerdicts(t *testing.T) {
	file := must.Get(os.Open("../docs/verdicts.tsv"))(t)
	defer file.Close()
	table := csv.NewReader(file)
	table.Comma = '\t'
	took := map[string]time.Duration{}
	for _, row := range must.Get(table.ReadAll())(t)[1:] {
		if row[3] != "" {
			took[row[0]] = must.Get(time.ParseDuration(row[3]))(t)
		}
	}
	for name, full := range took {
		of, ok := TimesOf(name)
		if !ok || of.Full != full || of.Quick <= 0 || of.Machine == "" {
			t.Errorf("times.tsv has %+v of %s, which took %v; `make verdicts` writes both", of, name, full)
		}
	}
	if of, ok := TimesOf("no-such"); ok {
		t.Errorf("an experiment that does not exist takes %+v", of)
	}
}
