package kv

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Name is the name of the cache.
const Name = "attention"

// Generated tokens that stay visible. QSAC (section 6.1) leaves it open.
const (
	appendAll    = "all"        // all of them: sets come from the prompt, so that more loads are never worse
	appendWindow = "window"     // the most recent ones only
	appendSince  = "since-miss" // those since the head's set was loaded
)

// Queries that look up and load sets.
const (
	queriesTrue      = "true"
	queriesPredicted = "predicted"
)

var parameters = []params.Param{
	{Name: "append", Default: appendAll, Choices: []string{appendAll, appendWindow, appendSince},
		Doc: "generated tokens that stay visible: all (sets then come from the prompt), window (the recent ones only) or " +
			"since-miss (those since the head's set was loaded)"},
	{Name: "sink", Default: attention.Sink, Max: 1 << 20, Doc: "first tokens, which are always visible"},
	{Name: "recent", Default: attention.Recent, Min: 1, Max: 1 << 20,
		Doc: "last tokens, the current one included, which are always visible"},
	{Name: "ratio", Default: "", Doc: "share of the candidates that a step reads, as in 10%, which is the default; the " +
		"capacity is what a store holds of them. Not with " + oneSet + ", whose capacity is what a step reads"},
	{Name: "dense", Default: 1, Max: 1 << 12, Doc: "first layers of the model, all of whose rows are on the GPU"},
	{Name: "resident", Default: "0", Doc: "heads all of whose rows are on the GPU since reuse would not pay: a share of " +
		"the heads (4%) or a budget (2GiB); the reuse rule ranks them, as qsac does"},
	{Name: "queries", Default: queriesTrue, Choices: []string{queriesTrue, queriesPredicted},
		Doc: "queries that look up and load sets: true, or predicted (a layer earlier, so that rows are loaded meanwhile)"},
	{Name: "errors-every", Default: 1, Min: 1, Max: 1 << 20, Doc: fmt.Sprintf("output errors are measured in one of n "+
		"blocks of %d steps, the middle one; they take about half of the time of a long replay", errorBlock)},
	{Name: "importance", Default: "", File: true, Doc: "file with the importance of KV heads, cut to 0 to 1: lines of " +
		"layer, head and number, or a row of numbers per layer. Without it, what the trace's own file " +
		"TRACE-importance.tsv states (the effect of a head, in any unit) ranks the heads; without that file importances " +
		"are drawn by the seed"},
	{Name: "query-importance", Default: "", File: true, Doc: "file with the importance of query heads, cut to 0 to 1: " +
		"lines of layer, KV head, query head of the layer, and number. Rules that weigh the similarities of a group by it " +
		"take the importance of the KV head for all of them without the file"},
	{Name: "ranks", Default: "", File: true, Doc: "file of numbers from 0 to 1, whose quantiles become the importances " +
		"of heads in the order of what the files above state; without those, importances are drawn from them. By default " +
		"the importances of DuoAttention's Llama-3-8B, for what the trace's own file states and for draws"},
}

// options are what the parameters of the cache and a capacity say.
type options struct {
	share  float64 // of the candidates that a step reads: the capacity for OneSet, ratio for all others
	ratio  float64
	append string
	sink   int
	recent int
	dense  int // layers of the model before this one are on the GPU

	residentShare float64 // of the heads; 0 if residentBytes is set
	residentBytes int64

	errorsEvery int // blocks

	predicted         bool
	importance, ranks string // files
	queryImportance   string // likewise
}

func optionsOf(v params.Values, share float64) (o options, err error) {
	o = options{share: share, append: v.Text("append"), sink: v.Int("sink"), recent: v.Int("recent"),
		dense:     v.Int("dense"),
		predicted: v.Text("queries") == queriesPredicted, errorsEvery: v.Int("errors-every"),
		importance: v.Text("importance"), ranks: v.Text("ranks"), queryImportance: v.Text("query-importance")}
	o.ratio = defaultRatio
	if text := v.Text("ratio"); text != "" {
		var ok bool
		if o.ratio, ok = parseShare(text); !ok || o.ratio == 0 {
			return o, fmt.Errorf("ratio=%s: want a share above 0%% and up to 100%%, such as 10%%", text)
		}
	}
	text := v.Text("resident")
	switch {
	case text == "0":
	case strings.HasSuffix(text, "%"):
		var ok bool
		if o.residentShare, ok = parseShare(text); !ok {
			return o, fmt.Errorf("resident=%s: want a share from 0%% to 100%%, or bytes such as 2GiB", text)
		}
	default:
		if o.residentBytes, err = capacity.ParseBytes(text); err != nil {
			return o, fmt.Errorf("resident=%w, or a share such as 4%%", err)
		}
	}
	return o, nil
}

// defaultRatio is the share of the candidates that a step reads (LiteCache, section 7.1).
const defaultRatio = 0.1

func parseShare(text string) (share float64, ok bool) {
	number, isShare := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	return percent / 100, isShare && err == nil && percent >= 0 && percent <= 100
}

// errorBlock is how many steps in a row have errors measured or not: a set for several goes over its values once.
const errorBlock = 8

// measuresErrors reports whether output errors are measured in one of so many steps. It always is in some of them. The
// first blocks would be better than the mean, as all sets are new there.
func (o *options) measuresErrors(step, steps int) bool {
	every := min(o.errorsEvery, (steps+errorBlock-1)/errorBlock)
	return step/errorBlock%every == every/2
}

func (o *options) resident() bool { return o.residentShare > 0 || o.residentBytes > 0 }

// view says which tokens a set is chosen from. Cells with equal views have the same exact sets.
type view struct {
	append       string
	share        float64
	sink, recent int
}

func (o *options) view() view { return view{o.append, o.share, o.sink, o.recent} }

// candidates returns the tokens [from, to) that a set of a step is chosen from.
func (v view) candidates(shape *attention.Shape, step int) (from, to int) {
	visible := shape.Visible(step)
	if v.append == appendAll {
		visible = shape.Visible(0)
	}
	return v.sink, max(v.sink, visible-v.recent)
}

func (v view) size(shape *attention.Shape, step int) int {
	from, to := v.candidates(shape, step)
	return min(to-from, shareOf(v.share, to-from))
}

// shareOf returns a share of a number of tokens: 10% of 4090 are 409, though 0.1 is not exact in binary.
func shareOf(share float64, tokens int) int {
	return int(math.Floor(float64(share*float64(tokens)) + 1e-9))
}

// tail returns the first of the last tokens that are visible in a step beside a set that was loaded in the step label.
func (v view) tail(shape *attention.Shape, step, label int) int {
	visible := shape.Visible(step)
	switch v.append {
	case appendAll:
		visible = shape.Visible(0)
	case appendSince:
		visible = shape.Visible(label)
	}
	return max(v.sink, visible-v.recent)
}

// AlwaysVisible returns the number of tokens that a head has whatever its set: the first and the recent ones.
func AlwaysVisible(v params.Values) int { return v.Int("sink") + v.Int("recent") }

// KeepsGenerated reports whether a head has all generated tokens besides.
func KeepsGenerated(v params.Values) bool { return v.Text("append") == appendAll }
