package promptlogs

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var mooncakeFormat = source.Format{
	Name: "mooncake",
	Options: []params.Param{
		{Name: "block", Default: 0, Min: 0, Max: maxBlockTokens, Doc: "tokens in a block; 0: the value of block_size, or " +
			"else 512 if it fits the first lines, or else the one power of two from 16 to 4096 that does"},
		{Name: "time-unit", Default: "ms", Choices: timeUnits, Doc: "unit of timestamp"},
		historyParam,
		shareParam(),
		tenantParam(),
	},
	JSON:   true,
	Detect: detectMooncake,
	Open:   openLines("mooncake"),
}

// timeUnits are the units of timestamps, as options name them.
var timeUnits = []string{"s", "ms", "us", "ns"}

const (
	DefaultBlockTokens = 512
	maxBlockTokens     = 1 << 20
)

func detectMooncake(head source.Head, _ string) source.Confidence {
	if source.LooksLikeJSON(head, "input_length", "hash_ids") && !looksLikeBailian(head) {
		return source.Certain
	}
	return source.No
}

// mooncakeReader reads one prompt per line. It implements promptSource.
type mooncakeReader struct {
	name        string // of the format
	src         *source.Source
	timeUnit    int64
	blockTokens int
	scanner     source.JSONScanner
	expected    mooncakeFields // the fields that the first line has
	// chats has the first chat of each conversation by the chats in it, if lines name the chat that they continue; nil
	// otherwise.
	chats  map[uint64]uint64
	tenant *tenantField
	opts   params.Values
	served served              // what serves the prompt that is being read
	usage  prompts.Usage       // what its server counted in it
	later  map[uint64]struct{} // chats that others continue, and that have not come
	rounds *rounds             // of sessions whose rows have delays; nil without
}

type mooncakeFields uint8

const (
	hasTimestamp mooncakeFields = 1 << iota
	hasInputLength
	hasOutputLength
	hasHashIDs
	hasSession
	hasBlockSize
	hasPriority
	hasDelay
)

var mooncakeNames = []string{"timestamp", "input_length", "output_length", "hash_ids", "session_id", "block_size",
	"priority", "delay"}

type mooncakeLine struct {
	prompt
	has         mooncakeFields
	blockTokens int
	chat        uint64 // likewise only with mooncakeReader.chats
	parent      uint64
	delay       int64 // nanoseconds, with what tools take
	id          uint64
	waits       []uint64 // ids of the rows whose answers it needs
}

func openLines(name string) func(*source.Source, params.Values) (stream.Reader, stream.Fields, error) {
	return func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		return openMooncake(name, src, opts)
	}
}

func openMooncake(name string, src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &mooncakeReader{name: name, src: src, timeUnit: source.TimeUnits[opts.Text("time-unit")],
		blockTokens: opts.Int("block"), tenant: newTenantField(src, opts), opts: opts}
	if name == bailianName {
		r.chats, r.later = map[uint64]uint64{}, map[uint64]struct{}{}
	}
	lines, err := r.firstLines()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	if len(lines) > 0 {
		r.expected = lines[0].has &^ hasDelay
		if r.blockTokens == 0 {
			r.blockTokens = lines[0].blockTokens
		}
	}
	if r.blockTokens == 0 {
		if r.blockTokens = guessBlockTokens(lines); r.blockTokens == 0 {
			return nil, stream.Fields{}, src.Errorf("the tokens per block do not follow from the first lines: add them, for " +
				"example --input-format mooncake:block=512")
		}
	}
	opts["block"] = r.blockTokens
	src.Reading.Time = "time in " + opts.Text("time-unit")
	from := r.inRounds(lines)
	kind := prompts.Kind{BlockTokens: r.blockTokens, Sessions: r.chats != nil || r.expected&hasSession != 0,
		Priorities: r.expected&hasPriority != 0}
	return opened(src.NextNumber(), from, kind, r.expected&hasTimestamp != 0, r.tenant)
}

// firstLines parses the lines at the beginning without consuming them, up to the first wrong one, which Read will
// report.
func (r *mooncakeReader) firstLines() ([]mooncakeLine, error) {
	texts, err := FirstLines(r.src)
	if err != nil {
		return nil, err
	}
	var lines []mooncakeLine
	for _, text := range texts {
		if len(source.TrimBlanks(text)) == 0 {
			continue
		}
		var line mooncakeLine
		if r.parse(text, &line) != nil {
			break
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// guessBlockTokens returns the number of tokens in a block: 512 if that fits all prompts, or else the only usual size
// that does. If none does, it uses only the first prompt, so that reading finds the wrong line. 0: several sizes fit.
func guessBlockTokens(lines []mooncakeLine) int {
	for _, some := range [][]mooncakeLine{lines, lines[:min(1, len(lines))]} {
		var fitting []int
		for size := 16; size <= 4096; size *= 2 {
			if !slices.ContainsFunc(some, func(l mooncakeLine) bool {
				return !fitsBlocks(size, l.InputTokens, len(l.blocks))
			}) {
				fitting = append(fitting, size)
			}
		}
		switch {
		case slices.Contains(fitting, DefaultBlockTokens):
			return DefaultBlockTokens
		case len(fitting) == 1:
			return fitting[0]
		case len(fitting) > 1:
			return 0
		}
	}
	return 0
}

func (r *mooncakeReader) next(p *prompt) error {
	err := r.readLine(p)
	if err == io.EOF {
		if wrong := r.tenant.check(r.src); wrong != nil {
			return wrong
		}
	}
	return err
}

func (r *mooncakeReader) readLine(p *prompt) error {
	text, err := r.src.Line()
	if err != nil {
		return err
	}
	if len(source.TrimBlanks(text)) == 0 {
		return r.src.OnlyBlankLines()
	}
	line := mooncakeLine{prompt: prompt{blocks: p.blocks}}
	if err := r.parse(text, &line); err != nil {
		return r.src.LineSyntaxError(err)
	}
	missing := (r.expected | hasInputLength | hasHashIDs) &^ line.has
	if missing != 0 && !r.rounds.excuses(&line, missing) {
		return r.src.LineErrorf("no %s%s", missing.firstName(), r.asTheFirst(missing))
	}
	if extra := line.has &^ (r.expected | hasDelay); extra != 0 {
		return r.src.LineErrorf("has %s, which the first line lacks", extra.firstName())
	}
	if r.expected&hasBlockSize != 0 && line.blockTokens != r.blockTokens {
		return r.src.LineErrorf("block_size %d differs from the %d tokens per block that this file is read with",
			line.blockTokens, r.blockTokens)
	}
	if err := checkBlocks(r.blockTokens, line.InputTokens, len(line.blocks)); err != nil {
		return r.src.LineErrorf("%w; %s:block=N sets another number", err, r.name)
	}
	if r.chats != nil {
		line.Session = r.conversation(line.chat, line.parent)
	}
	if err := r.rounds.add(&line); err != nil {
		return r.src.LineErrorf("%w", err)
	}
	*p = line.prompt
	p.OutputTokens = known(p.OutputTokens, r.src.Reading)
	r.src.Reading.NameModel(r.served.model)
	p.Measured = measured(&r.usage, p.InputTokens, r.src.Reading)
	return nil
}

// conversation returns the first chat of the conversation of a chat. A parent that the file lacks is that chat itself.
func (r *mooncakeReader) conversation(chat, parent uint64) uint64 {
	const none = math.MaxUint64 // -1, the parent of first chats
	first := chat
	if _, ok := r.later[chat]; ok {
		r.src.Reading.Notable = stream.Count(r.src.Reading.Notable, "that earlier ones continue", 1)
	}
	if parent == chat {
		r.src.Reading.Notable = stream.Count(r.src.Reading.Notable, "that continue themselves", 1)
	} else if parent != none {
		first = parent
		if known, ok := r.chats[parent]; ok {
			first = known
		} else {
			r.later[parent] = struct{}{}
		}
	}
	r.chats[chat] = first
	return first
}

// asTheFirst says that the first line has the missing field, if it may be missing in all.
func (r *mooncakeReader) asTheFirst(missing mooncakeFields) string {
	if missing&(hasInputLength|hasHashIDs) != 0 {
		return ""
	}
	return ", which the first line has"
}

func (f mooncakeFields) firstName() string {
	for i, name := range mooncakeNames {
		if f>>i&1 != 0 {
			return name
		}
	}
	return ""
}

// parse reads a line. It skips unknown fields.
func (r *mooncakeReader) parse(text []byte, line *mooncakeLine) error {
	r.scanner = source.JSONScanner{Text: text}
	line.OutputTokens = -1
	r.served.reset()
	r.usage = prompts.Usage{}
	err := r.scanner.Object(func(key []byte) error { return r.field(string(key), line) })
	if err == nil {
		err = r.scanner.End()
	}
	if len(line.waits) > 0 {
		line.has |= hasDelay
	}
	line.Scope = r.served.scope(r.opts)
	if err == nil {
		line.tenant, err = r.tenant.of(text)
	}
	return err
}

func (r *mooncakeReader) field(key string, line *mooncakeLine) (err error) {
	s := &r.scanner
	switch key {
	case "timestamp":
		line.time, err = s.Time(r.timeUnit)
	case "delay", "delay_ms":
		if key = "delay"; s.Null() {
			return nil
		}
		var delay int64
		delay, err = s.Time(r.timeUnit)
		line.delay += delay
	case "request_id", "wait_for", "tool_wait_ms":
		return line.readDependence(key, s)
	case "input_length":
		line.InputTokens, err = readTokens(s, 1)
	case "output_length":
		err = readCount(s, &line.OutputTokens)
	case "hash_ids":
		line.blocks, err = s.IDs(line.blocks)
	case "block_size":
		line.blockTokens, err = ReadBlockTokens(s)
	case "session_id":
		line.Session, err = s.SessionKey()
	case "priority":
		line.Priority, err = readPriority(s)
	case "chat_id":
		return r.readChat(&line.chat)
	case "parent_chat_id":
		return r.readChat(&line.parent)
	default:
		if ok, err := r.served.read(key, s); ok {
			return err
		}
		return ReadUsage(&r.usage, []byte(key), s)
	}
	field := mooncakeFields(1) << slices.Index(mooncakeNames, key)
	if err == nil && line.has&field != 0 {
		err = fmt.Errorf("duplicate %s", key)
	}
	line.has |= field
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// readChat reads the number of a chat, if chats count; -1 and null are none.
func (r *mooncakeReader) readChat(to *uint64) error {
	s := &r.scanner
	if r.chats == nil {
		return s.Skip()
	}
	if *to = math.MaxUint64; s.Null() {
		return nil
	}
	text, err := s.Number()
	if n, ok := source.ParseWhole(text); err == nil && ok {
		*to = n
	} else if err == nil && string(text) != "-1" {
		err = fmt.Errorf("chat %.40q: want a whole number from -1", text)
	}
	return err
}

// readPriority reads a priority: a whole number of 32 bits, of any sign.
func readPriority(s *source.JSONScanner) (int32, error) {
	text, err := s.Number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q: want a whole number from -2^31 to 2^31-1", text)
	}
	return int32(n), nil
}
