package promptlogs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/turns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tokenizer"
)

// textOptions are the options of formats of texts.
func textOptions(more ...params.Param) []params.Param {
	return append([]params.Param{
		{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens,
			Doc: "tokens in a block; a last, partial block is left out"},
		{Name: tokenizerOption, Default: "", File: true, Doc: "the model's tokenizer.json, of Hugging Face, which " +
			"cuts texts " +
			"into tokens; by default a token is 4 bytes"},
		shareParam(),
	}, more...)
}

const tokenizerOption = "tokenizer"

// messageOptions are the options of formats of messages.
func messageOptions(more ...params.Param) []params.Param {
	names := make([]string, len(chattemplate.Templates))
	for i, t := range chattemplate.Templates {
		names[i] = t.Name
	}
	return textOptions(append([]params.Param{{Name: templateOption, Default: chattemplate.Plain, Choices: names,
		File: true, Doc: "chat template by which messages become a text; none: one content after another; a file: the " +
			"model's own, chat_template.jinja or tokenizer_config.json"}}, more...)...)
}

const templateOption = "template"

// message is a turn of a conversation.
type message = chattemplate.Message

// request is a prompt as a log states it. Its texts are valid until the next one is read.
type request struct {
	when       []byte // time, as the log writes it; nil without
	at         int64  // the time in nanoseconds, if timed
	timed      bool
	session    uint64 // key of its conversation
	hasSession bool
	messages   []message
	tools      []byte   // the definitions of tools, as JSON
	options    []byte   // further values for the chat template, as JSON
	text       []byte   // the whole prompt, if there are no messages
	ids        []uint64 // tokens, instead of a text
	output     int32    // tokens, if the log counts them; -1 otherwise
	answer     []byte   // the text of an output without a count; nil if there is none
	answerIDs  []uint64 // likewise, its tokens
	calls      bool     // the answer calls tools, as the log writes it and not as the model did
	most       int32    // tokens that the answer may have; 0 if the log does not say
	served     served
	usage      prompts.Usage // what the server counted in the prompt
	leftOut    string        // why this is no prompt; "" if it is one
	parts      []string      // what was left out of it: images, audio, ...
}

// reset empties a request, and keeps its room.
func (q *request) reset() {
	q.served.reset()
	*q = request{messages: q.messages[:0], ids: q.ids[:0], answerIDs: q.answerIDs[:0], parts: q.parts[:0], output: -1,
		served: q.served}
}

// collected is a prompt with what else is known of it.
type collected struct {
	prompt
	hasSession bool
	thread     uint64 // conversation by its prefix
	tail       tail
}

// collector makes prompts of the requests of a file and keeps their blocks. So times, conversations and what was left
// out are known before the first prompt is returned. It implements promptSource.
type collector struct {
	src      *source.Source
	opts     params.Values
	expected string // what the file should hold, for errors
	fields   string // names in the first object
	key      string // what readings say of tokens; "" for what describe says
	template *chattemplate.Named
	chat     *chattemplate.Template // instead of template, if it is a file
	chatName string                 // what readings call it
	// tokenizer cuts texts into tokens; nil for 4 bytes each.
	tokenizer     *tokenizer.Tokenizer
	tokenizerName string
	size          int // tokens in a block
	threads       *turns.Threads
	tenant        *tenantField
	ofTenant      string // the object that is being read
	whole         bool   // each conversation is known as a whole, so that none is looked for
	prompts       []collected
	lengths       []collected // prompts with a length alone; they count only if all are like that

	// names has the places of prompts by the names of their requests, where the answers are elsewhere in the log.
	names    map[string]int
	finished int // prompts whose answers were found so

	timed    bool // the first prompt has a time
	timeUnit int64
	timeKind string

	byIDs, byText, inTurns, answered int // prompts with ids, with texts, with messages, with a known output
	stated                           int // answers whose tokens are known

	when   time.Time // of the current prompt; zero without, or if the template does not need it
	room   []byte    // for texts
	tokens []uint64  // of the current prompt
	hashes []uint64  // of its first 1, 2, 3, ... tokens
	held   int64     // bytes since the budget was asked
}

// newCollector returns an empty collector for a file, which should hold what is expected.
func newCollector(src *source.Source, opts params.Values, expected string) (*collector, error) {
	size := opts.Int("block")
	shared := src.Shared(fmt.Sprint("threads of blocks of ", size), func() any { return turns.New(size) })
	c := &collector{src: src, opts: opts, expected: expected, template: &chattemplate.Templates[0], size: size,
		threads: shared.(*turns.Threads), tenant: newTenantField(src, opts)}
	if name, ok := opts[templateOption].(string); ok {
		if err := c.setTemplate(name); err != nil {
			return nil, err
		}
	}
	if path, _ := opts[tokenizerOption].(string); path != "" { // formats without texts have none
		read, err := src.ReadBeside(path, "tokenizer", readTokenizer)
		if err != nil {
			return nil, err
		}
		c.tokenizer, c.tokenizerName = read.(*tokenizer.Tokenizer), filepath.Base(path)
	}
	return c, nil
}

func readTokenizer(src *source.Source) (any, error) {
	return parseWhole(src, func(content []byte) (*tokenizer.Tokenizer, error) {
		read, err := tokenizer.Parse(content)
		if err != nil {
			err = fmt.Errorf("%w; without the option %s a token is 4 bytes", err, tokenizerOption)
		}
		return read, err
	})
}

// add collects a request. An error is about its line.
func (c *collector) add(q *request) error {
	if q.leftOut != "" {
		c.leaveOut(q.leftOut)
		return nil
	}
	c.when = time.Time{}
	if c.chat != nil && c.chat.WritesDate() {
		if err := c.setDate(q); err != nil {
			return err
		}
	}
	whole, err := c.tokenize(q)
	if errors.Is(err, chattemplate.ErrRefused) {
		c.leaveOut("refused by the chat template")
		return nil
	} else if err != nil {
		return err
	}
	if len(c.tokens) == 0 {
		c.leaveOut(withoutText)
		return nil
	}
	if len(c.tokens) > maxTokens {
		return fmt.Errorf("a prompt of %d tokens: want at most 2^31-1", len(c.tokens))
	}
	p, err := c.promptOf(q, int32(len(c.tokens)))
	if err != nil {
		return err
	}
	p.blocks = c.blocks()
	if !c.whole {
		p.thread = c.threads.Of(c.hashes, whole, p.Scope)
	}
	p.tail = c.tailOf(q)
	p.Open = p.tail.open()
	if err = c.setAnswer(&p, q); err != nil {
		return err
	}
	if p.OutputTokens >= 0 {
		c.answered++
	}
	for i, part := range q.parts {
		if !slices.Contains(q.parts[:i], part) {
			c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, "with "+part+" left out", 1)
		}
	}
	c.prompts = append(c.prompts, p)
	return c.checkBudget(int64(8*len(p.blocks)) + 150)
}

// named says what the log calls the request that is added next.
func (c *collector) named(name string) {
	if c.names == nil {
		c.names = map[string]int{}
	}
	c.names[name] = len(c.prompts)
}

// finish sets the answer to a request; false if none of this name was added.
func (c *collector) finish(name string, q *request) (found bool, err error) {
	at, ok := c.names[name]
	if !ok || at >= len(c.prompts) {
		return false, nil
	}
	if c.setMeasured(&c.prompts[at], q); c.prompts[at].OutputTokens >= 0 {
		return true, nil
	}
	if err := c.setAnswer(&c.prompts[at], q); err != nil || c.prompts[at].OutputTokens < 0 {
		return true, err
	}
	c.answered++
	c.finished++
	return true, nil
}

// tailOf returns where the tokens of the prompt end that was tokenized last.
func (c *collector) tailOf(q *request) tail {
	n := len(c.tokens)
	t := tail{last: c.tokens[n-1], tokens: int32(n), text: len(q.ids) == 0 && c.tokenizer == nil}
	if n > 1 {
		t.before = c.hashes[n-2]
	}
	return t
}

// dropUnfinished leaves out the requests without an answer, if the log has answers on lines of their own.
func (c *collector) dropUnfinished() {
	if c.finished == 0 {
		return
	}
	c.prompts = slices.DeleteFunc(c.prompts, func(p collected) bool {
		if p.OutputTokens < 0 {
			c.leaveOut("not finished within the log")
		}
		return p.OutputTokens < 0
	})
}

// addLengths collects a request without a text, which the log says to have a number of tokens.
func (c *collector) addLengths(q *request, input int32) error {
	if input <= 0 {
		why := withoutText
		if input == oddCount {
			why = oddCounts
		}
		c.leaveOut(why)
		return nil
	}
	p, err := c.promptOf(q, input)
	p.OutputTokens, p.thread = known(q.output, c.src.Reading), uint64(len(c.lengths))
	if err != nil {
		return err
	}
	c.lengths = append(c.lengths, p)
	return c.checkBudget(150)
}

// promptOf returns the prompt of a request, without blocks and output.
func (c *collector) promptOf(q *request, tokens int32) (p collected, err error) {
	p = collected{hasSession: q.hasSession}
	c.src.Reading.NameModel(q.served.model)
	p.Head, p.tenant = prompts.Head{InputTokens: tokens, Session: q.session, Scope: q.served.scope(c.opts)}, c.ofTenant
	c.setMeasured(&p, q)
	p.time, err = c.timeOf(q)
	return p, err
}

const withoutText = "without text"

func (c *collector) leaveOut(why string) { c.src.Reading.LeaveOut(why) }

// checkBudget refuses more prompts than fit into memory; need is what the last one takes.
func (c *collector) checkBudget(need int64) error {
	const step = 16 << 20
	if c.held += need; c.held < step {
		return nil
	}
	c.held = 0
	return c.src.In.Budget.Need(2*step, fmt.Sprintf("%s: the blocks of its first %d prompts", c.src.Place,
		len(c.prompts)), "a part of the log, such as its first lines: head -n 100000 FILE | cachesim run -",
		"larger blocks, with the option block")
}

// tokenize sets the tokens of a prompt. whole is how many of them stay if the text continues.
func (c *collector) tokenize(q *request) (whole int, err error) {
	c.tokens = c.tokens[:0]
	if len(q.ids) > 0 {
		c.byIDs++
		c.tokens = append(c.tokens, q.ids...)
		return len(c.tokens), nil
	}
	text := q.text
	if len(q.messages) > 0 {
		c.inTurns++
		if c.room, err = c.layOut(c.room[:0], q); err != nil {
			return 0, err
		}
		text = c.room
	}
	if len(text) == 0 {
		return 0, nil
	}
	c.byText++
	if c.tokens, err = c.encode(c.tokens, text); err != nil {
		return 0, err
	}
	return len(c.tokens) - 1, nil
}

// layOut appends the text of a request by the template.
func (c *collector) layOut(to []byte, q *request) ([]byte, error) {
	if c.chat != nil {
		return c.renderChat(to, q)
	}
	if len(q.tools) > 0 {
		q.messages = slices.Insert(q.messages, 0, message{Role: chattemplate.System, Text: q.tools})
	}
	return c.template.Render(to, q.messages), nil
}

// encode appends the tokens of a text.
func (c *collector) encode(to []uint64, text []byte) ([]uint64, error) {
	const long = 64 << 10 // bytes, which take about 0.1 s
	if c.tokenizer == nil {
		return appendBytes(to, text), nil
	}
	copied := string(text)
	if len(text) < long {
		return c.tokenizer.Encode(to, copied)
	}
	return withContext(c.src, func() ([]uint64, error) { return c.tokenizer.Encode(to, copied) })
}

// withContext returns the result of work that takes long, or an error as soon as the user ends the program.
func withContext[T any](src *source.Source, work func() (T, error)) (T, error) {
	if src.In.Context == nil {
		return work()
	}
	return parallel.Await(src.In.Context, work)
}

// bytesPerToken is the length of tokens without a tokenizer: the mean of English texts, as OpenAI documents it.
const bytesPerToken = 4

// appendBytes appends a text as tokens of 4 bytes; the last may be shorter.
func appendBytes(to []uint64, text []byte) []uint64 {
	const noID = uint64(1) << 63 // tells them from the ids of tokens
	for len(text) > 0 {
		n := min(bytesPerToken, len(text))
		token := noID | uint64(n)<<32
		for i, b := range text[:n] {
			token |= uint64(b) << (8 * i)
		}
		to, text = append(to, token), text[n:]
	}
	return to
}

// blocks hashes the tokens and returns the ids of the full blocks.
func (c *collector) blocks() []uint64 {
	c.hashes = slices.Grow(c.hashes[:0], len(c.tokens))
	blocks := make([]uint64, 0, len(c.tokens)/c.size)
	hash := uint64(0)
	for i, token := range c.tokens {
		hash = random.Scramble(hash ^ random.Scramble(token))
		c.hashes = append(c.hashes, hash)
		if (i+1)%c.size == 0 {
			blocks = append(blocks, hash)
		}
	}
	return blocks
}

// outputOf returns the tokens of the output, -1 if they are unknown. It uses the room of the prompt's tokens.
func (c *collector) outputOf(q *request) (int32, error) {
	switch q.output = known(q.output, c.src.Reading); {
	case q.output >= 0:
		return q.output, nil
	case len(q.answerIDs) > 0:
		return int32(len(q.answerIDs)), nil
	case q.answer != nil:
		var err error
		c.tokens, err = c.encode(c.tokens[:0], q.answer)
		return int32(len(c.tokens)), err
	}
	return -1, nil
}

// timeOf returns the time of a prompt: all have one, or none.
func (c *collector) timeOf(q *request) (int64, error) {
	if len(c.prompts)+len(c.lengths) == 0 {
		c.timed = q.when != nil || q.timed
		if c.timeKind = " as dates"; c.timed && !q.timed {
			c.timeUnit = source.TimeUnits["s"]
			if _, chosen := c.opts["time-unit"]; chosen { // others have dates
				c.timeUnit = source.TimeUnit(c.opts, q.when)
			}
			c.timeKind = source.TimeKind(q.when, c.timeUnit)
		}
	}
	switch {
	case !c.timed:
		return 0, nil
	case q.timed:
		return q.at, nil
	case q.when == nil:
		return 0, errors.New("no time, which the first prompt has")
	}
	return source.ParseTime(q.when, c.timeUnit)
}

// open returns the reader of all prompts that were collected, and states how they were read.
func (c *collector) open() (stream.Reader, stream.Fields, error) {
	c.dropUnfinished()
	lengthsOnly := len(c.prompts) == 0
	if lengthsOnly {
		c.prompts = c.lengths
	} else {
		for range c.lengths {
			c.leaveOut(withoutText)
		}
	}
	if len(c.prompts) == 0 {
		return nil, stream.Fields{}, c.nothing()
	}
	if err := c.tenant.check(c.src); err != nil {
		return nil, stream.Fields{}, err
	}
	sessions := c.setSessions()
	if c.timed {
		slices.SortStableFunc(c.prompts, func(a, b collected) int { return cmp.Compare(a.time, b.time) })
		c.src.Reading.Layout, c.src.Reading.Time = "sorted by time", "time"+c.timeKind
	}
	if lengthsOnly {
		c.src.Reading.Key = "lengths as the log counts them"
		named := strings.Contains(sessions, "named")
		if named {
			c.src.Reading.Key += ", conversations as named"
		}
		return opened(c.src.NextNumber(), c, OnlyLengths(named), c.timed, c.tenant)
	}
	if c.answered < len(c.prompts) && c.answered > 0 {
		c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, "without an answer, so that no lengths of outputs are "+
			"used", int64(len(c.prompts)-c.answered))
	}
	if c.src.Reading.Key = c.key; c.key == "" {
		c.src.Reading.Key = c.describe(sessions)
	}
	return opened(c.src.NextNumber(), c, prompts.Kind{BlockTokens: c.size, Sessions: true, Answers: c.stated > 0},
		c.timed, c.tenant)
}

// nothing says why there are no prompts.
func (c *collector) nothing() error {
	reading := c.src.Reading
	expected := c.expected
	if c.fields != "" {
		expected += "; the first object has " + c.fields
	}
	switch bad := reading.FirstBad(); {
	case bad != nil && reading.LeftOut > 0:
		return c.src.Errorf("holds no prompts: %s, and %w; want %s", reading.LeftOutText(), bad, expected)
	case bad != nil:
		return c.src.Errorf("holds no prompts: %w; want %s", bad, expected)
	case reading.LeftOut > 0:
		return c.src.Errorf("holds no prompts: %s; want %s", reading.LeftOutText(), expected)
	}
	return c.src.Errorf("holds no prompts: want %s", expected)
}

// setSessions sets the conversations: those that the log names, if the name comes twice, and those found by prefix. It
// says how.
func (c *collector) setSessions() string {
	if c.whole {
		return "conversations of the file"
	}
	prompts := map[uint64]int{} // by name
	for i := range c.prompts {
		if p := &c.prompts[i]; p.hasSession {
			prompts[p.Session]++
		}
	}
	named := 0
	for i := range c.prompts {
		if p := &c.prompts[i]; p.hasSession && prompts[p.Session] > 1 {
			named++
		} else {
			p.Session = random.Scramble(^p.thread) // apart from the names
		}
	}
	switch named {
	case len(c.prompts):
		return "conversations as named"
	case 0:
		for i := range c.prompts {
			c.prompts[i].Session = c.prompts[i].thread
		}
		return "conversations by prefix"
	}
	return "conversations as named, or by prefix"
}

// takeTurns orders prompts that follow each other in their conversations as if so many conversations took turns: when
// one ends, the next begins.
func (c *collector) takeTurns(concurrent int) {
	var waiting [][]collected // the rest of each conversation
	for from := 0; from < len(c.prompts); {
		to := from + 1
		for to < len(c.prompts) && c.prompts[to].Session == c.prompts[from].Session {
			to++
		}
		waiting = append(waiting, c.prompts[from:to])
		from = to
	}
	ordered := make([]collected, 0, len(c.prompts))
	running := waiting[:min(concurrent, len(waiting))]
	waiting = waiting[len(running):]
	for len(running) > 0 {
		left := running[:0]
		for _, rest := range running {
			ordered = append(ordered, rest[0])
			if rest = rest[1:]; len(rest) == 0 && len(waiting) > 0 {
				rest, waiting = waiting[0], waiting[1:]
			}
			if len(rest) > 0 {
				left = append(left, rest)
			}
		}
		running = left
	}
	c.prompts = ordered
}

// describe says what tokens are, and how messages are laid out; sessions says how conversations were found.
func (c *collector) describe(sessions string) string {
	var text string
	switch {
	case c.byText == 0:
		text = "token ids of the log"
	case c.byIDs > 0:
		text = fmt.Sprintf("token ids of %d prompts, %s of %d", c.byIDs, c.rule(), c.byText)
	default:
		text = c.rule()
	}
	switch {
	case c.inTurns == 0:
	case c.chat != nil:
		text += ", template " + c.chatName
	case c.template.IsPlain():
		text += ", messages one after another (no template)"
	default:
		text += ", template " + c.template.Name
	}
	return text + ", " + sessions
}

// rule says how texts become tokens.
func (c *collector) rule() string {
	if c.tokenizer != nil {
		return "tokens by " + c.tokenizerName
	}
	return "4 bytes as a token"
}

func (c *collector) next(p *prompt) error {
	if len(c.prompts) == 0 {
		return io.EOF
	}
	first := &c.prompts[0]
	blocks := append(p.blocks, first.blocks...)
	*p = first.prompt
	p.blocks = blocks
	first.blocks = nil
	c.prompts = c.prompts[1:]
	return nil
}

// eachObject calls visit with a scanner in front of each object of a file: one on a line, or the elements of an array.
// what is the expected kind of file.
func (c *collector) eachObject(what string, visit func(*source.JSONScanner) error) error {
	src := c.src
	head, err := src.Head()
	if err != nil {
		return err
	}
	c.fields = source.FieldNames(head)
	each := func(s *source.JSONScanner) (err error) {
		if c.ofTenant, err = c.tenant.of(s.Text[s.Pos:]); err != nil {
			return err
		}
		return visit(s)
	}
	if source.LooksLikeJSONArray(head) {
		return src.ScanArray(what, each)
	}
	var s source.JSONScanner
	return eachLine(src, func(line []byte) error {
		s.Reset(line)
		if err := each(&s); err != nil {
			return err
		}
		return s.End()
	})
}

// eachLine calls visit with each line that is not blank, and leaves out those that it cannot read, as far as the user
// allows.
func eachLine(src *source.Source, visit func(line []byte) error) error {
	for {
		line, err := src.LongLine()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if len(source.TrimBlanks(line)) == 0 {
			continue
		}
		if err := visit(line); err != nil {
			if src.IsCut(err) && src.LineNumber > 1 { // the program that writes the log is still at it, or was stopped
				src.Reading.LeaveOut(noEnd)
				continue
			}
			if err := src.Skip(src.LineSyntaxError(err)); err != nil {
				return err
			}
		}
	}
}
