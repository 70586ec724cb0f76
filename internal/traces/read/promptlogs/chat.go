package promptlogs

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var chatFormat = source.Format{
	Name: "chat",
	Options: []params.Param{
		{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens,
			Doc: "tokens in a block; a last, partial block is left out"},
		{Name: "history", Default: "included", Choices: []string{"included", "added"},
			Doc: "included: input is the whole prompt; added: inputs and outputs of the earlier turns of the session come " +
				"before it"},
		{Name: "time-unit", Default: "us", Choices: []string{"s", "ms", "us", "ns"}, Doc: "unit of timestamp"},
		tenantParam(),
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "input", "output", "session_id")
	}),
	Open: openChat,
}

// chatReader returns the turns of a file by time. It implements promptSource.
type chatReader struct {
	src         *source.Source
	timeUnit    int64
	scanner     source.JSONScanner
	blockTokens int
	turns       []chatTurn
	histories   map[uint64]*blockChain // by session; nil if inputs are whole prompts
	tenant      *tenantField
}

type chatTurn struct {
	line          int
	time          int64
	session       uint64
	input, output []byte
	hasOutput     bool
	tenant        string
	usage         prompts.Usage
}

func openChat(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c := &chatReader{src: src, timeUnit: source.TimeUnits[opts.Text("time-unit")], blockTokens: opts.Int("block"),
		tenant: newTenantField(src, opts)}
	if opts.Text("history") == "added" {
		c.histories = map[uint64]*blockChain{}
	}
	if err := c.readTurns(); err != nil {
		return nil, stream.Fields{}, err
	}
	if err := c.tenant.check(src); err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Layout, src.Reading.Time = "sorted by time", "time in "+opts.Text("time-unit")
	src.Reading.Key = "words and other characters as tokens"
	slices.SortStableFunc(c.turns, func(a, b chatTurn) int { return cmp.Compare(a.time, b.time) })
	return opened(src.NextNumber(), c, prompts.Kind{BlockTokens: c.blockTokens, Sessions: true, Answers: true}, true,
		c.tenant)
}

// readTurns reads all lines: they are not sorted by time.
func (c *chatReader) readTurns() error {
	for {
		text, err := c.src.Line()
		if err == nil && len(source.TrimBlanks(text)) == 0 {
			err = c.src.OnlyBlankLines()
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		turn, err := c.parse(text)
		if err != nil {
			if err := c.src.Skip(c.src.LineSyntaxError(err)); err != nil {
				return err
			}
			continue
		}
		turn.line = c.src.LineNumber
		c.turns = append(c.turns, turn)
	}
}

// parse reads a line. It skips unknown fields.
func (c *chatReader) parse(text []byte) (chatTurn, error) {
	c.scanner = source.JSONScanner{Text: text}
	s := &c.scanner
	turn := chatTurn{time: -1}
	hasSession := false
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "timestamp":
			turn.time, err = s.Time(c.timeUnit)
		case "session_id":
			hasSession = true
			turn.session, err = s.SessionKey()
		case "input":
			turn.input, err = s.String()
		case "output":
			turn.hasOutput = true
			turn.output, err = s.String()
		default:
			err = ReadUsage(&turn.usage, key, s)
		}
		return err
	})
	switch {
	case err != nil:
		return turn, err
	case turn.time < 0 || !hasSession || turn.input == nil:
		return turn, fmt.Errorf("want timestamp, session_id and input in every line")
	}
	turn.input, turn.output = slices.Clone(turn.input), slices.Clone(turn.output)
	if turn.tenant, err = c.tenant.of(text); err != nil {
		return turn, err
	}
	return turn, s.End()
}

func (c *chatReader) next(p *prompt) error {
	if len(c.turns) == 0 {
		return io.EOF
	}
	turn := c.turns[0]
	c.turns = c.turns[1:]
	chain := c.historyOf(turn.session)
	chain.add(turn.input)
	if chain.tokens == 0 || chain.tokens > maxTokens {
		c.src.LineNumber = turn.line
		return c.src.LineErrorf("a prompt of %d tokens: want 1 to 2^31-1", chain.tokens)
	}
	p.Head = prompts.Head{InputTokens: int32(chain.tokens), OutputTokens: -1, Session: turn.session}
	p.time, p.tenant = turn.time, turn.tenant
	p.Measured = measured(&turn.usage, p.InputTokens, c.src.Reading)
	p.blocks = append(p.blocks, chain.blocks...)
	if turn.hasOutput {
		before, blocks := chain.tokens, len(chain.blocks)
		chain.add(turn.output)
		p.OutputTokens = int32(chain.tokens - before)
		p.Answer = chain.blocks[blocks:max(blocks, (chain.tokens-1)/chain.size):len(chain.blocks)]
		if p.Answer == nil {
			p.Answer = []uint64{}
		}
	}
	return nil
}

// historyOf returns the blocks that come before the input of a session's next turn.
func (c *chatReader) historyOf(session uint64) *blockChain {
	chain := c.histories[session]
	if chain == nil {
		chain = &blockChain{size: c.blockTokens}
		if c.histories != nil {
			c.histories[session] = chain
		}
	}
	return chain
}

// blockChain splits text into tokens and these into blocks. The id of a block is a hash of all tokens up to its end.
type blockChain struct {
	size   int // tokens in a block
	tokens int
	hash   uint64 // of all tokens
	blocks []uint64
}

// add appends the tokens of a text. A token is a run of letters, digits and marks, or any other single character that
// is not white space.
func (b *blockChain) add(text []byte) {
	for len(text) > 0 {
		r, end := utf8.DecodeRune(text)
		if isWordRune(r) {
			if end = bytes.IndexFunc(text, func(r rune) bool { return !isWordRune(r) }); end < 0 {
				end = len(text)
			}
		}
		if !unicode.IsSpace(r) {
			b.hash = random.Scramble(b.hash ^ stream.HashText(text[:end]))
			if b.tokens++; b.tokens%b.size == 0 {
				b.blocks = append(b.blocks, b.hash)
			}
		}
		text = text[end:]
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
