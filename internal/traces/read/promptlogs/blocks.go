package promptlogs

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// BlockPrompt is a prompt of a trace that has the ids of its blocks, while it is read.
type BlockPrompt struct {
	prompt
	served    served
	Usage     prompts.Usage // what its server counted
	hasBlocks bool
}

// Begin begins a prompt.
func (p *BlockPrompt) Begin() {
	p.prompt = prompt{blocks: p.blocks[:0]}
	p.OutputTokens, p.hasBlocks, p.Usage = -1, false, prompts.Usage{}
	p.served.reset()
}

// Input reads how many tokens the prompt has.
func (p *BlockPrompt) Input(s *source.JSONScanner) (err error) {
	p.InputTokens, err = readTokens(s, 1)
	return err
}

// SetInput is Input for a text.
func (p *BlockPrompt) SetInput(text []byte) (err error) {
	p.InputTokens, err = parseTokens(text, 1)
	return err
}

// SetOutput is Output for a text.
func (p *BlockPrompt) SetOutput(text []byte) { p.OutputTokens = countOf(text) }

// Output reads how many tokens its answer has.
func (p *BlockPrompt) Output(s *source.JSONScanner) error { return readCount(s, &p.OutputTokens) }

// BlockIDs reads the ids of its blocks.
func (p *BlockPrompt) BlockIDs(s *source.JSONScanner) (err error) {
	p.hasBlocks = true
	p.blocks, err = s.IDs(p.blocks[:0])
	return err
}

// Other reads any other field, which may say what served the prompt, or what its server counted.
func (p *BlockPrompt) Other(key []byte, s *source.JSONScanner) error {
	if ok, err := p.served.read(string(key), s); ok {
		return err
	}
	return ReadUsage(&p.Usage, key, s)
}

// IsWhole reports whether the length and the blocks of the prompt are known.
func (p *BlockPrompt) IsWhole() bool { return p.InputTokens > 0 && p.hasBlocks }

// EndWithout ends a prompt that was sent at a time, in nanoseconds, and has no blocks.
func (p *BlockPrompt) EndWithout(at int64, src *source.Source, opts params.Values) {
	src.Reading.NameModel(p.served.model)
	p.time, p.OutputTokens = at, known(p.OutputTokens, src.Reading)
	p.Scope, p.Measured = p.served.scope(opts), measured(&p.Usage, p.InputTokens, src.Reading)
}

// End is EndWithout for a prompt with blocks. scope keeps their ids apart from those of other scopes.
func (p *BlockPrompt) End(at int64, blockTokens int, scope uint64, src *source.Source, opts params.Values) error {
	p.EndWithout(at, src, opts)
	for i, id := range p.blocks {
		p.blocks[i] = random.Scramble(id ^ scope)
	}
	return checkBlocks(blockTokens, p.InputTokens, len(p.blocks))
}

// BlockPrompts reads prompts one by one, and returns io.EOF after the last.
type BlockPrompts func(*BlockPrompt) error

// blockSource implements promptSource.
type blockSource struct {
	read BlockPrompts
	p    BlockPrompt
}

func (b *blockSource) next(p *prompt) error {
	b.p.blocks = p.blocks
	err := b.read(&b.p)
	*p = b.p.prompt
	return err
}

// Open returns the reader of the prompts of a file of this number; clock says that they have times.
func (r BlockPrompts) Open(number int, kind prompts.Kind, clock bool) (stream.Reader, stream.Fields, error) {
	return opened(number, &blockSource{read: r}, kind, clock, nil)
}

// OpenInOrder is Open for a file that has its prompts in another order than that of their times.
func (r BlockPrompts) OpenInOrder(src *source.Source, kind prompts.Kind) (stream.Reader, stream.Fields, error) {
	return opened(src.NextNumber(), &inOrder{src: src, from: &blockSource{read: r}}, kind, true, nil)
}

// ScopeOf returns a value that keeps the ids of a file apart.
func ScopeOf(number int) uint64 { return scopeOf(number) }

// ShareParam is the option of formats whose prompts may name what serves them.
func ShareParam() params.Param { return shareParam() }

// ReadBlockTokens reads how many tokens a block has.
func ReadBlockTokens(s *source.JSONScanner) (int, error) {
	n, err := readTokens(s, 1)
	if err == nil && n > maxBlockTokens {
		err = fmt.Errorf("%d tokens in a block: want at most %d", n, maxBlockTokens)
	}
	return int(n), err
}

// inOrder reads all prompts and gives them in the order of their times; those of one time stay as they come. It
// implements promptSource.
type inOrder struct {
	src  *source.Source
	from promptSource
	all  []prompt
	held int64 // bytes since the budget was asked
	done bool  // all is in order
}

func (o *inOrder) next(p *prompt) error {
	for !o.done {
		var one prompt
		err := o.from.next(&one)
		switch {
		case err == io.EOF:
			slices.SortStableFunc(o.all, func(a, b prompt) int { return cmp.Compare(a.time, b.time) })
			o.done = true
		case err != nil:
			return err
		default:
			if err := o.add(one); err != nil {
				return err
			}
		}
	}
	if len(o.all) == 0 {
		return io.EOF
	}
	*p = o.all[0]
	o.all = o.all[1:]
	return nil
}

func (o *inOrder) add(p prompt) error {
	const step = 16 << 20
	o.all = append(o.all, p)
	if o.held += int64(8*cap(p.blocks) + 200); o.held < step {
		return nil
	}
	o.held = 0
	return o.src.In.Budget.Need(2*step, fmt.Sprintf("%s: its first %d prompts, which are not in the order of their times",
		o.src.Place, len(o.all)), "a part of the file, such as its first lines: head -n 100000 FILE | cachesim run -")
}

// FirstLines returns the lines at the beginning without consuming them.
func FirstLines(src *source.Source) ([][]byte, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	if len(head.Lines) == 0 { // the first line is longer
		b, err := src.Peek(source.MaxLine)
		if err != nil && err != io.EOF {
			return nil, err
		}
		head = source.NewHead(b, err == io.EOF)
	}
	return head.Lines, nil
}
