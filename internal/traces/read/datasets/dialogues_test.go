package datasets_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// readQueries returns the queries of a file, each as "session topic answer: text" with - for unknown fields.
func readQueries(t testing.TB, content, format string) (asked []string, err error) {
	s, err := tracetest.OpenText(t, content, format)
	if err != nil {
		return nil, err
	}
	if s.Fields.Kind != (queries.Kind{}) {
		t.Error("it does not say that its requests are queries")
	}
	known := func(name []byte) string {
		if name == nil {
			return "-"
		}
		return string(name)
	}
	var rec stream.Record
	for {
		if err := s.Read(&rec); err == io.EOF {
			return asked, nil
		} else if err != nil {
			return asked, err
		}
		q := queries.HeadOf(&rec)
		if key := (stream.Key{Num: rec.Num, Text: string(rec.Text)}); key.String() != string(q.Text) {
			t.Errorf("key %v of the text %q", key, q.Text)
		}
		asked = append(asked, fmt.Sprintf("%s %s %s: %s", known(q.Session), known(q.Topic), known(q.Answer), q.Text))
	}
}

const sgdTwoDialogues = `[
 {"dialogue_id": "1_0", "services": ["Media_2", "Weather_1"], "turns": [
  {"frames": [{"service": "Media_2", "state": {"slots": [[1], {}]}}], "speaker": "USER",
"utterance": "A film, please."},
  {"frames": [{"service": "Media_2"}], "speaker": "SYSTEM", "utterance": "Which \"one\"?"},
  {"frames": [{"service": "Weather_1"}, {"service": "Media_2"}], "speaker": "USER",
"utterance": "How is the weather?"},
  {"frames": [], "speaker": "SYSTEM", "utterance": "7"},
  {"frames": [{"service": "Weather_1"}, {"service": "Media_2"}], "speaker": "USER", "utterance": "No, the film."}]},
 {"turns": [{"speaker": "USER", "utterance": "7"}], "more": null, "services": [], "dialogue_id": "1_1"}
]`

// oasstTrees has a tree of two branches after a second that is older, one without a message and one without a text.
const oasstTrees = `{"message_tree_id": "t1", "tree_state": "ready_for_export", ` +
	`"prompt": {"replies": [{"message_id": "m2", ` +
	`"parent_id": "t1", "text": "7", "role": "assistant", "replies": [{"message_id": "m3", "text": "more", ` +
	`"role": "prompter", "lang": "en", "created_date": "2023-02-05T14:00:02.5+00:00", "replies": []}]}, ` +
	`{"message_id": "m4", "text": "other", "role": "assistant", "replies": [{"message_id": "m5", ` +
	`"text": "else", "role": "prompter", "lang": "de", "deleted": true}]}], "message_id": "t1", ` +
	`"parent_id": null, "text": "first", "role": "prompter", "lang": "en", ` +
	`"created_date": "2023-02-05T14:00:01+00:00", "emojis": {"+1": 2}, "labels": {"spam": {"value": 0.0, ` +
	`"count": 3}}}}` + "\n" +
	`{"message_tree_id": "t2", "prompt": {"message_id": "t2", "text": "second", "role": "prompter", ` +
	`"created_date": "2023-02-05T14:00:00.983374+00:00", "synthetic": false}, "origin": null}` + "\n" +
	`{"message_tree_id": "t3", "prompt": null}` + "\n" +
	`{"message_tree_id": "t4", "prompt": {"message_id": "t4", "text": " ", "role": "prompter", ` +
	`"created_date": "2023-02-05T14:00:00+00:00"}}` + "\n"

// oasstFlat has a reply before its parent, and one whose parent is not there.
const oasstFlat = `{"message_id": "m3", "parent_id": "m2", "text": "more", "role": "prompter"}` + "\n" +
	`{"message_id": "t1", "parent_id": null, "text": "first", "role": "prompter", "message_tree_id": "t1", ` +
	`"lang": null, "replies": null}` + "\n" +
	`{"message_id": "m2", "parent_id": "t1", "text": "7", "role": "assistant", "message_tree_id": "t1"}` + "\n" +
	`{"message_id": "m4", "parent_id": "gone", "text": "other", "role": "assistant", "message_tree_id": "t1"}` + "\n" +
	`{"message_id": "lost", "parent_id": "away", "text": "alone", "role": "prompter", "created_date": null}` + "\n"

func TestDialogueFormats(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            []string
	}{
		"sgd": {sgdTwoDialogues, "", []string{"0:1_0 Media_2 -: A film, please.", "0:1_0 Weather_1 -: How is the weather?",
			"0:1_0 Media_2 -: No, the film.", "0:1_1 - -: 7"}},
		"sgd, both roles, topic of the dialogue": {sgdTwoDialogues, "sgd:roles=both,topic=dialogue", []string{
			"0:1_0 Media_2+Weather_1 -: A film, please.", `0:1_0 Media_2+Weather_1 -: Which "one"?`, "0:1_0 Media_2+Weather_1 " +
				"-: How is the weather?",
			"0:1_0 Media_2+Weather_1 -: 7", "0:1_0 Media_2+Weather_1 -: No, the film.", "0:1_1 - -: 7"}},
		"sgd without topics": {sgdTwoDialogues, "sgd:topic=none", []string{"0:1_0 - -: A film, please.", "0:1_0 - -: How " +
			"is the weather?",
			"0:1_0 - -: No, the film.", "0:1_1 - -: 7"}},
		"qqp, one pair": {`[{"origin": "a?", "similar": "b?"}]`, "qqp:seed=1", []string{"- - 0:0: b?", "- - 0:0: a?"}},
		"qqp, repeats beyond the questions": {`[{"origin": "a?", "similar": "b?"}]`, "qqp:repeats=3,distance=0", []string{
			"- - 0:0: b?", "- - 0:0: a?", "- - 0:0: b?", "- - 0:0: a?"}},
		"qqp, word for word": {`[{"origin": "a?", "similar": "b?"}]`, "qqp:requests=5,exact=1,distance=0", []string{
			"- - 0:0: b?", "- - 0:0: b?", "- - 0:0: a?", "- - 0:0: a?", "- - 0:0: b?"}},
		"tiage": {`{"7": [["hi", "-1"], ["a\u00e9", "0"], ["b", "1"], ["hi", "1"]], "8": [["12", "1"], ["d", "0"]]}`,
			"", []string{
				"0:7 0:7/0 -: hi", "0:7 0:7/0 -: aé", "0:7 0:7/1 -: b", "0:7 0:7/2 -: hi", "0:8 0:8/0 -: 12", "0:8 0:8/0 -: d"}},
		"clinc, one split": {`{"oos_val": [["who", "oos"]], "val": [], "more": {"x": 1}, "train": [["a", "i"]], ` +
			`"oos_train": [["b", "oos"]]}`, "clinc:split=train", []string{
			"- i i: a", "- oos oos: b: b"}},
		"clinc without those out of scope": {`{"val": [["a", "i"]], "oos_val": [["who", "oos"]]}`, "clinc:oos=drop," +
			"requests=3", []string{"- i i: a", "- i i: a", "- i i: a"}},
		"clinc in episodes": {`{"val": [["a", "i"], ["b", "i"]]}`, "clinc:episode=1000",
			[]string{"0:0 i i: b", "0:0 i i: a"}},
		"oasst": {oasstTrees, "", []string{"t2 - -: second", "t1 - -: first", "t1 - -: more",
			"t1 - -: else"}},
		"oasst, both roles": {oasstTrees, "oasst:roles=both,deleted=drop", []string{"t2 - -: second",
			"t1 - -: first", "t1 - -: 7", "t1 - -: more", "t1 - -: other"}},
		"oasst, a language": {oasstTrees, "oasst:lang=de,roles=both", []string{"t1 - -: else"}},
		"oasst, flat": {oasstFlat, "oasst:roles=both", []string{"t1 - -: first", "t1 - -: 7",
			"t1 - -: more", "t1 - -: other", "lost - -: alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readQueries(t, c.content, c.format)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestDialogueFormatsRefuse(t *testing.T) {
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for name, c := range map[string]struct{ content, format, want string }{
		"sgd, schema":      {`[{"service_name": "Alarm_1", "intents": []}]`, "", "not dialogues: leave schema.json out"},
		"sgd, cut off":     {sgdTwoDialogues[:300], "", `byte 300: want a colon after the name "frames", got the end`},
		"sgd, no dialogue": {`[{"dialogue_id": "1"}]`, "sgd", "byte 21: a dialogue without dialogue_id or turns"},
		"sgd, another speaker": {`[{"dialogue_id": "1", "turns": [{"speaker": "BOT"}]}]`, "", `byte 44: want one of ` +
			`["USER" "SYSTEM"], got "\"BOT\"`},
		"sgd, no utterance": {`[{"dialogue_id": "1", "turns": [{"speaker": "USER"}]}]`, "", "a turn without speaker or " +
			"utterance"},
		"sgd, blank utterance": {`[{"dialogue_id": "1", "turns": [{"speaker": "USER", "utterance": " "}]}]`, "", "want a " +
			"text that is not blank"},
		"sgd, a number": {`[{"dialogue_id": 1, "turns": []}]`, "", "byte 17: want a string in double quotes"},
		"sgd, too deep": {`[{"dialogue_id": "1", "turns": [], "x": ` + deep + `}]`, "", "at most 100 nested arrays " +
			"and objects"},
		"sgd, more behind": {`[] x`, "sgd", "byte 3: want nothing after the object"},
		"qqp, cut off":     {`[{"origin": "a", "similar": "b"}, {"origin"`, "", "byte 43: want a colon after the name"},
		"qqp, half a pair": {`[{"origin": "a", "similar": "b"}, {"origin": "c"}]`, "", "byte 49: a pair without origin " +
			"or similar"},
		"qqp, blank question": {`[{"origin": "", "similar": "b"}]`, "", "byte 12: want a text that is not blank"},
		"qqp, no pairs":       {`[]`, "qqp", "holds no pairs of questions"},
		"qqp, JSON lines":     {`{"origin": "a", "similar": "b"}`, "qqp", "byte 0: want an array in brackets"},
		"tiage, a mark":       {`{"1": [["a", "0"], ["b", "2"]]}`, "", `byte 25: want one of ["1" "0" "-1"], got "\"2\"`},
		"tiage, one string":   {`{"1": [["a", "0"], ["b"]]}`, "", "byte 23: want a comma and a second string"},
		"tiage, three strings": {`{"1": [["a", "0"], ["b", "1", "2"]]}`, "", "byte 28: want a closing bracket after two " +
			"strings"},
		"tiage, cut off":       {`{"1": [["a", "0"], `, "", "byte 19: want a pair of strings in brackets, got the end"},
		"tiage, a number":      {`{"1": [["a", "0"], ["b", 1]]}`, "", "byte 25: want a string in double quotes"},
		"clinc, no such split": {`{"val": [["a", "b"]]}`, "clinc:split=test", "holds no queries of the split test"},
		"clinc, no query":      {`{"val": [["", "b"]]}`, "clinc", "byte 10: want a text that is not blank"},
		"clinc, cut off":       {`{"val": [["a", "b"`, "clinc", "byte 18: want a closing bracket"},
		"oasst, cut off": {oasstTrees[:700], "", "line 2: column 28: want the double quote that ends a string, got " +
			"the end"},
		"oasst, no role": {`{"message_id": "a", "text": "b", "replies": [{"role": "x"}]}`, "", `line 1: column 55: want ` +
			`one of ["prompter" "assistant"]`},
		"oasst, half a message": {"{\"message_id\": \"a\", \"role\": \"prompter\", \"text\": \"b\"}\n{\"message_id\": " +
			"\"c\"}\n", "", "line 2: a message without message_id, role or text"},
		"oasst, no tree id": {`{"prompt": {"message_id": "a", "role": "prompter", "text": "b"}}`, "", "line 1: a tree " +
			"without message_tree_id"},
		"oasst, twice": {strings.Repeat(`{"message_id": "a", "role": "prompter", "text": "b"}`+"\n", 2), "",
			`line 2: duplicate message_id "a"`},
		"oasst, a circle": {`{"message_id": "a", "parent_id": "a", "role": "prompter", "text": "b"}`, "", "1 " +
			"messages reply to each other in a circle"},
		"oasst, a date": {`{"message_id": "a", "created_date": "x", "role": "prompter", "text": "b"}`, "", `line ` +
			`1: time "x"`},
		"oasst, some dates": {oasstTrees + `{"message_id": "a", "role": "prompter", "text": "b"}`, "", "line 5: want " +
			"a created_date in every tree or in none"},
		"oasst, too deep": {strings.Repeat(`{"message_id": "a", "text": "", "role": "prompter", "replies": [`, 1001), "",
			"at most 1000 levels of replies"},
		"oasst, more behind": {`{"message_id": "a", "role": "prompter", "text": "b"} x`, "", "line 1: column 54: want " +
			"nothing after the object"},
		"oasst, no such part":    {oasstTrees, "oasst:part=1,length=2", "has 1 whole parts of 2 requests"},
		"JSON arrays of numbers": {"[1,2,3]", "", "looks like JSON, which is not a supported format"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, err := readQueries(t, c.content, c.format)
			must.Fail(t, err, c.want, asked)
		})
	}
}

// TestNoTurns: a file without any turn is an error, like every trace without requests.
func TestNoTurns(t *testing.T) {
	for format, content := range map[string]string{"sgd": "[]", "tiage": `{"1": []}`, "oasst": `{"message_tree_id": ` +
		`"a", "prompt": null}`} {
		_, err := read.Load(t.Context(), []string{"-"}, read.Options{Selection: read.Selection{Format: format},
			Stdin: strings.NewReader(content)})
		if err == nil || err.Error() != "-: holds no requests" {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

// pairsOf writes pairs that form clusters of these sizes.
func pairsOf(sizes ...int) string {
	var pairs []string
	for c, size := range sizes {
		for q := 1; q < size; q++ {
			pairs = append(pairs, fmt.Sprintf(`{"origin": "c%d q%d", "similar": "c%d q%d"}`, c, q, c, (q-1)/2))
		}
	}
	return "[" + strings.Join(pairs, ",") + "]"
}

// TestQuestionsAreAskedOnce: by default every question is asked once, and equal labels are questions of one cluster.
func TestQuestionsAreAskedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(2, 9), 1, 20).Draw(t, "sizes")
		format := fmt.Sprintf("qqp:seed=%d,distance=%d,gaps=%s", rapid.IntRange(0, 9).Draw(t, "seed"), rapid.IntRange(0,
			30).Draw(t, "distance"),
			rapid.SampledFrom([]string{"geometric", "uniform", "lognormal", "fixed"}).Draw(t, "gaps"))
		s := must.Get(read.Open("-", read.Options{Selection: read.Selection{Format: format},
			Stdin: strings.NewReader(pairsOf(sizes...))}))(t)
		defer s.Close()
		asked, labels, names := map[string]bool{}, map[string]string{}, map[string]bool{}
		var rec stream.Record
		for s.Read(&rec) == nil {
			text, label := string(queries.HeadOf(&rec).Text), string(queries.HeadOf(&rec).Answer)
			cluster, _, _ := strings.Cut(text, " ")
			if asked[text] || labels[cluster] != "" && labels[cluster] != label {
				t.Fatalf("%q with label %s is asked again or its cluster has label %s too", text, label, labels[cluster])
			}
			asked[text], labels[cluster], names[label] = true, label, true
		}
		total := 0
		for _, size := range sizes {
			total += size
		}
		if len(asked) != total || len(names) != len(sizes) {
			t.Fatalf("%d questions of %d clusters, want %d of %d", len(asked), len(names), total, len(sizes))
		}
	})
}

// askedDistances returns the numbers of other requests between the questions of the clusters, which are pairs that are
// each visited once.
func askedDistances(t *testing.T, format string, pairs int) (distances []int) {
	t.Helper()
	asked := must.Get(readQueries(t, pairsOf(slices.Repeat([]int{2}, pairs)...), format))(t)
	first := map[string]int{}
	for place, q := range asked {
		label, _, _ := strings.Cut(q, ": ")
		if before, ok := first[label]; ok {
			distances = append(distances, place-before-1)
		} else {
			first[label] = place
		}
	}
	return distances
}

func TestDistancesHitTheirMean(t *testing.T) {
	for gaps, want := range map[string]struct{ deviation, most float64 }{
		"geometric": {200, 3000}, "uniform": {200 / math.Sqrt(3), 404}, "lognormal": {400, 1e5}, "fixed": {7, 204},
	} {
		distances := askedDistances(t, "qqp:distance=200,gaps="+gaps, 20000)
		var sum, squares float64
		for _, d := range distances {
			sum += float64(d)
			squares += (float64(d) - 200) * (float64(d) - 200)
		}
		n := float64(len(distances))
		mean, deviation := sum/n, math.Sqrt(squares/n)
		if n != 20000 || math.Abs(mean-200) > 0.03*200 || math.Abs(deviation-want.deviation) > 0.1*want.deviation ||
			float64(slices.Max(distances)) > want.most {
			t.Errorf("%s: %v distances of mean %.1f, deviation %.1f, at most %d; want 20000, 200, %+v", gaps, n, mean,
				deviation, slices.Max(distances), want)
		}
		t.Logf("%s: mean %.2f, deviation %.2f, at most %d", gaps, mean, deviation, slices.Max(distances))
	}
}

// TestPopularClusters: with a Zipf exponent the clusters are visited by popularity, repeatedly, and the stream has the
// requested length.
func TestPopularClusters(t *testing.T) {
	asked, err := readQueries(t, pairsOf(slices.Repeat([]int{2}, 50)...), "qqp:alpha=1,requests=40001,distance=3")
	if err != nil || len(asked) != 40001 {
		t.Fatalf("%d queries, %v", len(asked), err)
	}
	counts := map[string]int{}
	for _, q := range asked {
		label, _, _ := strings.Cut(q, ": ")
		counts[label]++
	}
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	slices.Reverse(all)
	harmonic := 0.0
	for rank := 1; rank <= 50; rank++ {
		harmonic += 1 / float64(rank)
	}
	for rank := range 3 {
		want := 40001 / harmonic / float64(rank+1)
		if math.Abs(float64(all[rank])-want) > 0.1*want {
			t.Errorf("rank %d: %d requests, want about %.0f", rank+1, all[rank], want)
		}
	}
}

func TestQuestionsFollowTheSeed(t *testing.T) {
	content := pairsOf(slices.Repeat([]int{3}, 100)...)
	one, _ := readQueries(t, content, "qqp:seed=1")
	again, _ := readQueries(t, content, "qqp:seed=1")
	other, err := readQueries(t, content, "qqp:seed=2")
	if err != nil || !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("the same seed must give the same requests and another seed others: %v", err)
	}
}

// TestRealDialogues compares counts with those of other tools.
func TestRealDialogues(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	for _, c := range []struct {
		files, format                                string
		requests, objects, sessions, topics, answers int
	}{
		{"sgd-dev/dialogues_*.json.gz", "", 19384, 15941, 2098, 17, 0},
		{"sgd-dev/dialogues_*.json.gz", "sgd:roles=both,topic=none", 38768, 31733, 2098, 0, 0},
		{"qqp-duplicate-pairs.json.gz", "", 44769, 44769, 0, 0, 18105},
		{"clinc150.json.zst", "", 23700, 23695, 0, 151, 1350},
		{"clinc150.json.zst", "clinc:oos=drop,split=test,episode=5", 4500, 4500, 974, 150, 150},
		{"tiage-anno_*.json.zst", "", 7802, 7653, 500, 2005, 0},
		{"oasst-en_100_tree.jsonl.zst", "oasst:roles=both", 1167, 1167, 100, 0, 0},
		{"oasst-en_100_message.jsonl.zst", "oasst:roles=both", 1167, 1167, 100, 0, 0},
		{"oasst-en_100_tree.jsonl.zst", "oasst:roles=both,unit=threads", 2198, 1167, 626, 0, 0},
		{"oasst-en_100_message.jsonl.zst", "oasst:part=1,length=200", 204, 204, 42, 0, 0},
	} {
		files := must.Get(filepath.Glob(filepath.Join(folder, "dialogue", c.files)))(t)
		got := must.Get(read.Load(t.Context(), files, read.Options{Selection: read.Selection{Format: c.format},
			Needs: traces.Needs{Kind: true}}))(t)
		q := queries.Of(got.Kind)
		if len(got.Objects) != c.requests || got.NumObjects != c.objects || q.NumSessions != c.sessions ||
			q.NumTopics != c.topics || q.NumAnswers != c.answers {
			t.Errorf("%s: %d requests, %d objects, %d sessions, %d topics, %d answers, want %+v",
				c.files, len(got.Objects), got.NumObjects, q.NumSessions, q.NumTopics, q.NumAnswers, c)
		}
	}
}

func FuzzDatasets(f *testing.F) {
	tracetest.FuzzAll(f, []string{"sgd:roles=both", "qqp:distance=3", "oasst:roles=both", "oasst:unit=threads", "tiage",
		"clinc:episode=2"},
		sgdTwoDialogues, tracetest.ExampleOf(f, "sgd"), `[{"dialogue_id":"1","turns":[]}]`,
		tracetest.ExampleOf(f, "qqp"), pairsOf(2, 5, 3), `[{"origin":"7","similar":"7"}]`,
		oasstTrees, oasstFlat, tracetest.ExampleOf(f, "oasst"),
		tracetest.ExampleOf(f, "tiage"), `{"1":[]}`,
		tracetest.ExampleOf(f, "clinc"), `{"oos_test":[["7","oos"]],"test":[["7","x"],["8","y"]]}`)
}
