package gen

import (
	"fmt"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// asShape is the value of a parameter of llm that the shape decides.
const asShape = -1

var llmParams = []params.Param{
	{Name: "shape", Default: "online-qa", Choices: shapeNames(), Doc: "published workload that gives every parameter " +
		"with value -1 or shape its value"},
	{Name: "conversations", Default: asShape, Min: asShape, Max: 1 << 24, Doc: "number of conversations; of fewer " +
		"prompts than the shape's conversations, the shape's share of them"},
	{Name: "prompts", Default: asShape, Min: asShape, Max: 1 << 26,
		Doc: "number of prompts in all conversations together"},
	{Name: "turns", Default: "shape", Choices: []string{"shape", "geometric", "normal"}, Doc: "distribution of the " +
		"prompts of a conversation, of mean prompts/conversations"},
	{Name: "turns-sd", Default: float64(asShape), Min: asShape, Max: 1e6, Doc: "standard deviation of normal turns"},
	{Name: "prompt-mean", Default: float64(asShape), Min: asShape, Max: 1e7, Doc: "mean length of a prompt in tokens, " +
		"including what it repeats; turns are scaled to reach it"},
	{Name: "lengths", Default: "shape", Choices: []string{"shape", "lognormal", "normal", "pareto"}, Doc: "distribution " +
		"of the tokens that a turn adds, and of the tokens of an output"},
	{Name: "length-cv", Default: float64(asShape), Min: asShape, Max: 100, Doc: "standard deviation of lengths over " +
		"their mean; pareto takes the shape 2 + 1/length-cv^2"},
	{Name: "output-mean", Default: float64(asShape), Min: asShape, Max: 1e6, Doc: "mean length of an output in tokens"},
	{Name: "history", Default: "shape", Choices: []string{"shape", "inputs", "all"}, Doc: "which parts of " +
		"earlier turns a prompt repeats: their inputs, or their outputs too"},
	{Name: "shared", Default: asShape, Min: asShape, Max: 1e7, Doc: "tokens of a system prompt, with which " +
		"conversations begin"},
	{Name: "systems", Default: asShape, Min: asShape, Max: 1 << 20, Doc: "number of system prompts; each conversation " +
		"has one of them, all equally likely"},
	{Name: "next-turn", Default: "shape", Choices: []string{"shape", "gaps", "closed"}, Doc: "when the next turn of a " +
		"conversation comes: after a lognormal number of prompts of others, or when the output is complete"},
	{Name: "gap-mean", Default: float64(asShape), Min: asShape, Max: 1e9, Doc: "mean number of prompts of others " +
		"between two of a conversation, with next-turn=gaps"},
	{Name: "gap-sd", Default: float64(asShape), Min: asShape, Max: 1e9, Doc: "its standard deviation"},
	{Name: "active", Default: asShape, Min: asShape, Max: 1 << 24,
		Doc: "number of conversations at a time, with next-turn=closed"},
	{Name: "block", Default: 16, Min: 1, Max: 1 << 20, Doc: "tokens in a block"},
	rateParam(1, "prompts"),
	seedParam,
}

// shapes have the values of the parameters that are left to a shape.
var shapes = []struct {
	name   string
	values params.Values
}{
	// Online-QA of LCR (arXiv 2509.20979, section 5.2): conversations, prompts, mean prompt, outputs of 256 tokens that no
	// prompt repeats, and gaps as stated there. Our choice: geometric turns, and lognormal lengths with a standard
	// deviation equal to their mean.
	{"online-qa", params.Values{
		"conversations": 2000, "prompts": 7268, "turns": "geometric", "turns-sd": 0.0, "prompt-mean": 3455.0,
		"lengths": "lognormal", "length-cv": 1.0, "output-mean": 256.0, "history": "inputs", "shared": 0,
		"systems": 1, "next-turn": "gaps", "gap-mean": 266.0, "gap-sd": 77.5, "active": 1,
	}},
	// Aibrix-Synthetic, same section, by the generator multiturn_prefix_sharing of vllm-project/aibrix. The shared prefix
	// follows from the distinct tokens that cache sizes and ratios imply; the deviation of the turns and the outputs are
	// our choice.
	{"aibrix", params.Values{
		"conversations": 500, "prompts": 1817, "turns": "normal", "turns-sd": 1.0, "prompt-mean": 2761.0,
		"lengths": "pareto", "length-cv": 1.0, "output-mean": 100.0, "history": "all", "shared": 2000,
		"systems": 1, "next-turn": "closed", "gap-mean": 0.0, "gap-sd": 0.0, "active": 5,
	}},
}

func shapeNames() (names []string) {
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return names
}

// shaped returns the parameters with those left to the shape filled in.
func shaped(v params.Values) params.Values {
	all := params.Values{}
	for _, s := range shapes {
		if s.name != v.Text("shape") {
			continue
		}
		for name, value := range v {
			if fromShape, ok := s.values[name]; ok && (value == asShape || value == float64(asShape) || value == "shape") {
				value = fromShape
			}
			all[name] = value
		}
		scaleCounts(v, all, s.values)
	}
	return all
}

// scaleCounts keeps the shape's ratio of prompts to conversations if the user gave one of the two numbers and there
// would be fewer prompts than conversations.
func scaleCounts(given, all, shape params.Values) {
	if all.Int("prompts") >= all.Int("conversations") {
		return
	}
	perConversation := float64(shape.Int("prompts")) / float64(shape.Int("conversations"))
	switch prompts, conversations := all.Int("prompts"), all.Int("conversations"); {
	case given.Int("conversations") == asShape && prompts > 0:
		all["conversations"] = max(1, int(math.Round(float64(prompts)/perConversation)))
	case given.Int("prompts") == asShape:
		all["prompts"] = int(math.Round(float64(conversations) * perConversation))
	}
}

// conversation is one conversation of a trace of prompts.
type conversation struct {
	turns   []turn
	shared  int    // tokens of the system prompt that its prompts begin with
	system  int    // index of that system prompt
	firstID uint64 // of its first own block
}

// turn is a prompt of a conversation.
type turn struct {
	added  int // tokens beyond the repeated ones
	output int
	prompt int // tokens in total
}

// llmTrace is the prompts of a generated trace, in order. Tokens of a conversation never change, so a block is
// identified by the conversation, or the system prompt, and its position.
type llmTrace struct {
	conversations []conversation
	order         []int32 // conversation of each prompt
	turnOf        []int32 // per conversation: turns returned so far
	blockTokens   int
	rate          float64
	given         int // prompts so far

	head  prompts.Head
	block int // index of the next block of the current prompt
	of    *conversation
	total int // blocks of all prompts
}

func newLLMTrace(given params.Values) (RecordSource, error) {
	v := shaped(given)
	conversations, prompts := v.Int("conversations"), v.Int("prompts")
	switch {
	case conversations < 1 || prompts < conversations:
		return nil, fmt.Errorf("conversations=%d, prompts=%d: want at least one conversation, and a prompt for each",
			conversations, prompts)
	case v.Int("systems") < 1:
		return nil, fmt.Errorf("systems=%d: want at least 1; shared=0 means that there is no system prompt", v.Int("systems"))
	}
	if err := checkClock(prompts, v.Float("rate")); err != nil {
		return nil, err
	}
	if err := checkUsed(given, v); err != nil {
		return nil, err
	}
	for _, p := range llmParams {
		if n, ok := v[p.Name].(float64); ok && n < 0 {
			return nil, fmt.Errorf("%s=%v: want at least 0, or -1 for the value of the shape", p.Name, n)
		}
	}
	seed := uint64(v.Int("seed"))
	t := &llmTrace{
		conversations: make([]conversation, conversations), turnOf: make([]int32, conversations),
		blockTokens: v.Int("block"), rate: v.Float("rate"),
	}
	t.drawTurns(v, prompts, seed)
	if err := t.drawLengths(v, seed); err != nil {
		return nil, err
	}
	t.numberBlocks(v, seed)
	order, err := newTurnOrder(v, t.conversations, prompts, seed)
	if err != nil {
		return nil, err
	}
	t.order = order
	return t, nil
}

// checkUsed refuses parameters that have no effect with the values of others.
func checkUsed(given, v params.Values) error {
	for _, use := range []struct{ name, with, is string }{
		{"turns-sd", "turns", "normal"}, {"gap-mean", "next-turn", "gaps"}, {"gap-sd", "next-turn", "gaps"},
		{"active", "next-turn", "closed"},
	} {
		value := given[use.name]
		if value != asShape && value != float64(asShape) && v.Text(use.with) != use.is {
			return fmt.Errorf("%s=%v has no effect with %s=%s; leave it out, or write %[3]s=%s", use.name, value,
				use.with, v.Text(use.with), use.is)
		}
	}
	if mean := float64(v.Int("prompts")) / float64(v.Int("conversations")); v.Float("turns-sd") > maxTurnsSD*mean {
		return fmt.Errorf("turns-sd=%v: want at most %d times the mean, which is %.4g turns", v.Float("turns-sd"),
			maxTurnsSD, mean)
	}
	return nil
}

// maxTurnsSD bounds how far the drawn numbers of turns are from their mean, which they then reach one by one.
const maxTurnsSD = 10

// drawTurns draws the number of turns of every conversation, at least 1, from that distribution, and then changes
// single conversations until the number of prompts is right.
func (t *llmTrace) drawTurns(v params.Values, prompts int, seed uint64) {
	bits := random.Stream(seed, turnBits)
	mean := float64(prompts) / float64(len(t.conversations))
	counts := make([]int, len(t.conversations))
	sum := 0
	for i := range counts {
		if v.Text("turns") == "normal" {
			counts[i] = int(math.Floor(mean + float64(v.Float("turns-sd")*random.Normal(bits)) + 0.5))
		} else {
			counts[i] = random.Geometric(bits, mean)
		}
		counts[i] = min(max(counts[i], 1), prompts)
		sum += counts[i]
	}
	// At random, one by one: scaling all counts would round short conversations away.
	for sum != prompts {
		i, _ := random.Below(bits, len(counts))
		switch {
		case sum < prompts:
			counts[i]++
			sum++
		case counts[i] > 1:
			counts[i]--
			sum--
		}
	}
	for i, n := range counts {
		t.conversations[i].turns = make([]turn, n)
	}
}

// drawLengths draws the additional tokens and the output of each turn, and scales the former so that prompts reach
// their mean length.
func (t *llmTrace) drawLengths(v params.Values, seed uint64) error {
	draw, err := newLengths(v.Text("lengths"), v.Float("length-cv"))
	if err != nil {
		return err
	}
	bits := random.Stream(seed, lengthBits)
	repeatsOutputs := v.Text("history") == "all"
	// Sums over all prompts: of 1, of drawn lengths in units of scale, of tokens that are not scaled.
	var prompts, fromTurns, others float64
	units := make([][]float64, len(t.conversations))
	for i := range t.conversations {
		c := &t.conversations[i]
		c.shared = v.Int("shared")
		units[i] = make([]float64, len(c.turns))
		var before, outputs float64
		for k := range c.turns {
			units[i][k] = draw(bits)
			c.turns[k].output = int(round(v.Float("output-mean")))
			if repeatsOutputs {
				c.turns[k].output = int(round(v.Float("output-mean") * draw(bits)))
			}
			before += units[i][k]
			prompts++
			fromTurns += before
			others += float64(c.shared) + outputs
			if repeatsOutputs {
				outputs += float64(c.turns[k].output)
			}
		}
	}
	scale := (float64(v.Float("prompt-mean")*prompts) - others) / fromTurns
	if scale < 1 {
		return fmt.Errorf("prompt-mean=%v: system prompts and outputs alone give prompts of %.0f tokens; want more, or "+
			"less shared", v.Float("prompt-mean"), others/prompts)
	}
	for i := range t.conversations {
		if err := t.conversations[i].setLengths(units[i], scale, repeatsOutputs, t.blockTokens); err != nil {
			return err
		}
	}
	return nil
}

// setLengths sets the lengths of a conversation. Its first prompt fills at least a block, so that every prompt has one.
func (c *conversation) setLengths(units []float64, scale float64, repeatsOutputs bool, blockTokens int) error {
	tokens := c.shared
	for k := range c.turns {
		u := &c.turns[k]
		u.added = int(max(round(min(units[k]*scale, 2*maxPrompt)), 1))
		if k == 0 {
			u.added = max(u.added, blockTokens-c.shared)
		}
		tokens += u.added
		u.prompt = tokens
		if tokens > maxPrompt || u.output > maxPrompt {
			return fmt.Errorf("drew a prompt or an output of more than %d tokens: want a smaller prompt-mean, "+
				"output-mean or length-cv", maxPrompt)
		}
		if repeatsOutputs {
			tokens += u.output
		}
	}
	return nil
}

// maxPrompt is the largest number of tokens in a prompt.
const maxPrompt = 1 << 30

// numberBlocks chooses system prompts and numbers the blocks of each conversation. The blocks of system prompts have
// the lowest ids.
func (t *llmTrace) numberBlocks(v params.Values, seed uint64) {
	bits := random.Stream(seed, systemBits)
	perSystem := v.Int("shared") / t.blockTokens
	next := uint64(1) + uint64(v.Int("systems")*perSystem)
	for i := range t.conversations {
		c := &t.conversations[i]
		c.system, _ = random.Below(bits, v.Int("systems"))
		c.firstID = next
		last := c.turns[len(c.turns)-1].prompt
		next += uint64(last/t.blockTokens - perSystem)
		for _, u := range c.turns {
			t.total += u.prompt / t.blockTokens
		}
	}
}

func (t *llmTrace) Fields() stream.Fields {
	return prompts.FieldsOf(prompts.Kind{BlockTokens: t.blockTokens, Sessions: true}, t.rate > 0)
}

func (t *llmTrace) Requests() int { return t.total }

// Read returns the next block, with the prompt if it is its first.
func (t *llmTrace) Read(rec *stream.Record) error {
	begins := t.of == nil
	if begins {
		if t.given == len(t.order) {
			return io.EOF
		}
		t.beginPrompt()
	}
	*rec = stream.Record{Num: t.of.id(t.block, t.blockTokens), Time: timeOf(t.given-1, t.rate), Begins: begins}
	if begins {
		rec.Extra = &t.head
	}
	if t.block++; t.block == t.head.Blocks {
		t.of = nil
	}
	return nil
}

// beginPrompt moves to the next prompt.
func (t *llmTrace) beginPrompt() {
	number := t.order[t.given]
	t.of = &t.conversations[number]
	u := t.of.turns[t.turnOf[number]]
	t.head = prompts.Head{Blocks: u.prompt / t.blockTokens, InputTokens: int32(u.prompt), OutputTokens: int32(u.output),
		Session: uint64(number) + 1}
	t.block = 0
	t.turnOf[number]++
	t.given++
}

func (c *conversation) id(block, blockTokens int) uint64 {
	perSystem := c.shared / blockTokens
	if block < perSystem {
		return uint64(1 + c.system*perSystem + block)
	}
	return c.firstID + uint64(block-perSystem)
}
