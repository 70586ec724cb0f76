// Package prompts is the workload kind of language models: prompts as chains of blocks, with their columns, and how
// blocks get their numbers and keys. Package promptlogs reads them from files.
package prompts

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Kind are prompts to a language model, in blocks.
type Kind struct {
	BlockTokens int
	Sessions    bool // prompts belong to conversations: Head.Session
	// LengthsOnly says that the contents of prompts are unknown: each is one block that no other prompt has, whatever its
	// length, and nothing can be said about hits.
	LengthsOnly bool
	Priorities  bool // prompts have priorities: Head.Priority
	Answers     bool // the tokens of some answers are known: Head.Answer
}

// KindOf returns the kind of requests that are blocks of prompts; ok is false if they are not.
func KindOf(fields stream.Fields) (kind Kind, ok bool) {
	kind, ok = fields.Kind.(Kind)
	return kind, ok
}

func FieldsOf(kind Kind, clock bool) stream.Fields {
	return stream.Fields{Time: clock, Groups: true, Kind: kind}
}

func (k Kind) Name() string { return "prompts" }

func (k Kind) Request() string {
	if k.LengthsOnly {
		return "prompts without contents, whose hits cannot be known"
	}
	return fmt.Sprintf("prompts in blocks of %d tokens", k.BlockTokens)
}

func (k Kind) Format() string { return "mooncake" }
func (k Kind) Lost() string   { return "which blocks make a prompt, lengths and conversations" }

func (k Kind) Conflict(other stream.Kind) string {
	switch o, ok := other.(Kind); {
	case !ok:
		return "only one of them has prompts"
	case k.LengthsOnly != o.LengthsOnly:
		return "only one of them has the contents of its prompts"
	case k.BlockTokens != o.BlockTokens:
		return fmt.Sprintf("blocks of %d and of %d tokens", k.BlockTokens, o.BlockTokens)
	case k.Sessions != o.Sessions:
		return "only one of them says which prompts belong to one conversation"
	case k.Priorities != o.Priorities:
		return "only one of them has priorities of prompts"
	}
	return ""
}

func (k Kind) Unrepeated() string { return "" }

// Grouped implements Kind: a prompt is a unit.
func (k Kind) Grouped() bool { return true }

func (k Kind) Units(sampled bool) (stream.Units, error) {
	if sampled && !k.Sessions {
		return nil, errors.New("its prompts do not belong to conversations, and a sample of blocks would split prompts: " +
			"use --limit instead of --sample")
	}
	return &units{chains: newChains(), names: newNames()}, nil
}

func (k Kind) NewColumns(fields stream.Fields) stream.ColumnsBuilder {
	b := &builder{Columns: Columns{BlockTokens: k.BlockTokens, LengthsOnly: k.LengthsOnly}, kind: k, clock: fields.Time,
		sessions: map[uint64]int32{}, known: map[uint64]struct{}{}}
	if k.Answers {
		b.texts = &answerBuilder{}
	}
	return b
}

func (k Kind) Table() *stream.Table { return nil }

// units follows the prompts among the records. It implements stream.NumberingUnits.
type units struct {
	chains *chains
	names  *names // nil if keys are not needed
	number uint32 // of the last block
	left   int    // blocks of the prompt that are yet to come
	scopes scopes
}

// NumberOnly, Number and Objects implement stream.NumberingUnits.
func (u *units) NumberOnly()    { u.names = nil }
func (u *units) Number() uint32 { return u.number }
func (u *units) Objects() int   { return u.chains.ids.Len() }

// Take implements Units. It replaces the id of a block by its key.
func (u *units) Take(rec *stream.Record) error {
	if rec.Begins {
		head := HeadOf(rec)
		u.left = head.Blocks
		rec.Num = scoped(rec.Num, u.scopes.of(head))
	}
	u.left--
	number, isNew, ok := u.chains.next(rec.Num, rec.Begins)
	u.number = number
	if ok && u.names != nil {
		rec.Num, ok = u.names.of(number, isNew, rec.Num, rec.Begins)
	}
	if !ok {
		return stream.ErrTooManyObjects
	}
	return nil
}

// scopes tell what prompts of a trace share blocks. Those with the scope of the first one keep their ids.
type scopes struct {
	first uint64
	begun bool
}

// of returns the scope of a prompt, relative to that of the first one.
func (s *scopes) of(head *Head) uint64 {
	if !s.begun {
		s.first, s.begun = head.Scope, true
	}
	return head.Scope ^ s.first
}

// scoped returns the id of the first block of a prompt that shares blocks only with prompts of the same scope.
func scoped(id, scope uint64) uint64 {
	if scope == 0 {
		return id
	}
	return random.Scramble(id ^ scope)
}

// SampledBy implements Units: a sample has all prompts of a conversation, or none.
func (u *units) SampledBy(rec *stream.Record) uint64 { return HeadOf(rec).Session }
func (u *units) Last() bool                          { return u.left == 0 }

// Head is a prompt as a whole. It belongs to the record of the first block. It implements Extra.
type Head struct {
	Blocks       int
	InputTokens  int32
	OutputTokens int32 // -1 if unknown
	// Session is the key of its conversation, a number or the hash of a text; only with Kind.Sessions.
	Session uint64
	// Priority of the prompt, higher for a more important one; only with Kind.Priorities.
	Priority int32
	// Open says that the last token of the prompt is not complete, and becomes another one where the text continues.
	Open bool
	// Scope says with which other prompts this one shares blocks: with those of the same model, adapter and salt, of
	// which it is a hash; 0 if the log names none.
	Scope uint64
	Salt  uint64 // of the tenant, if tenants share no blocks: the id of the first block has it
	// Measured is what the server found of it.
	Measured Measured
	// IDs are those of all blocks of the prompt, and Answer those of the blocks that the answer fills, from the one with
	// the last, partial block of the prompt on; nil if its tokens are unknown. Only with Kind.Answers.
	IDs, Answer []uint64
}

func (h *Head) Clone() stream.Extra {
	copied := *h
	copied.IDs, copied.Answer = slices.Clone(h.IDs), slices.Clone(h.Answer)
	return &copied
}

// HeadOf returns the prompt that begins with rec; nil if none does.
func HeadOf(rec *stream.Record) *Head {
	head, _ := rec.Extra.(*Head)
	return head
}

// Of returns the columns of prompts; nil if the requests are not prompts.
func Of(kind stream.Columns) *Columns {
	p, _ := kind.(*Columns)
	return p
}

// Columns are the requests to a language model. The blocks of a prompt are its group. An object is a block together
// with everything before it in its prompt, so equal objects begin equal prefixes. It implements stream.Chained.
type Columns struct {
	BlockTokens int  // tokens in a full block
	LengthsOnly bool // as in Kind
	// InputTokens are the lengths of the prompts. Block i of a prompt holds min(BlockTokens, InputTokens - i BlockTokens)
	// tokens, so n leading blocks hold min(n BlockTokens, InputTokens). Files that leave out a last, partial block have up
	// to BlockTokens-1 tokens beyond the blocks.
	InputTokens  []int32
	OutputTokens []int32 // per prompt; nil if unknown
	Sessions     []int32 // per prompt: the dense number of its conversation; nil if unknown
	Priorities   []int32 // per prompt, higher for a more important one; nil if there are none
	// Arrivals are in nanoseconds, per prompt, and never negative; nil without a clock. Like Times they go back where the
	// file does.
	Arrivals []int64
	Parents  []int32 // per object: the block before it in its prompt, -1 for the first

	outputs      []int32    // per prompt: as OutputTokens, -1 where it is unknown; nil if all or none are
	stated       *stated    // answers whose tokens the log has; nil if there are none, and in the result of Answer
	measured     []Measured // per prompt; nil if the log says it of none
	answers      AnswerCounts
	answerBlocks []int32       // per prompt: how many blocks of its group belong to its answer; nil before Answer
	open         stream.Bitset // prompts whose last token is not complete; not in the result of Answer
	full         []int32       // per prompt: the full blocks of its group before the answer; nil before Answer
	scopes       int           // different values of Head.Scope; 0 for one
	// Rewritten says that some block of an answer was requested or written before.
	Rewritten bool

	SessionKeys []uint64 // per conversation: its number in the file, or the hash of its name; nil if Sessions is

	// Memory is what the keys and values take; the zero value if the model is unknown.
	Memory Memory

	// Rounded has, per prompt, the tokens at its beginning that earlier prompts have in whole blocks of the file, but not
	// in whole blocks here; nil for blocks of the file.
	Rounded []int32
	// Unjoined are the prompts in the blocks of the file, where Join has joined these; nil if blocks are those of the
	// file.
	Unjoined *Columns
}

// Memory is what the keys and values of prompts take, on all GPUs of a replica.
type Memory struct {
	BlockBytes int64
	TokenBytes float64 // of a token that all layers keep
	Source     string  // where the shape of the model comes from, and the shape

	values llm.KeyValues
	every  bool // layers with a window keep all tokens
}

// Depths implements stream.Chained: the tokens from the root of the prefix tree to the end of the block, counting every
// block as full.
func (p *Columns) Depths() []int32 {
	depths := make([]int32, len(p.Parents))
	for o, parent := range p.Parents {
		depths[o] = int32(p.BlockTokens)
		if parent >= 0 {
			depths[o] += depths[parent] // it appeared first, so its number is lower
		}
	}
	return depths
}

func (p *Columns) Groups() string { return Kind{}.Name() }

func (p *Columns) Slice(_, prompts stream.Span) stream.Columns {
	part := *p
	part.InputTokens = p.InputTokens[prompts.From:prompts.To]
	part.OutputTokens, part.outputs = stream.Cut(p.OutputTokens, prompts), stream.Cut(p.outputs, prompts)
	part.answerBlocks, part.full = stream.Cut(p.answerBlocks, prompts), stream.Cut(p.full, prompts)
	part.Sessions = stream.Cut(p.Sessions, prompts)
	part.Priorities = stream.Cut(p.Priorities, prompts)
	part.Arrivals = stream.Cut(p.Arrivals, prompts)
	part.Rounded = stream.Cut(p.Rounded, prompts)
	part.measured = stream.Cut(p.measured, prompts)
	return &part
}

// Only implements Columns: single blocks make no prompts.
func (p *Columns) Only(stream.Chosen) stream.Columns { return nil }
func (p *Columns) Torn() bool                        { return true }

// Warnings implements stream.Warner.
func (p *Columns) Warnings() []string {
	if !p.LengthsOnly {
		return nil
	}
	return []string{"the trace has lengths of prompts without contents, so hits are unknown; models of " +
		"time count every token as computed"}
}

// IsLengthsOnly reports whether requests are prompts whose contents are unknown.
func IsLengthsOnly(columns stream.Columns) bool {
	p := Of(columns)
	return p != nil && p.LengthsOnly
}

func (p *Columns) Bytes() int64 {
	return stream.ColumnBytes(p.InputTokens) + stream.ColumnBytes(p.OutputTokens) + stream.ColumnBytes(p.Sessions) +
		stream.ColumnBytes(p.Priorities) + stream.ColumnBytes(p.Arrivals) + stream.ColumnBytes(p.Parents) +
		stream.ColumnBytes(p.SessionKeys) + stream.ColumnBytes(p.Rounded) +
		stream.ColumnBytes(p.measured) + stream.ColumnBytes(p.answerBlocks) + stream.ColumnBytes(p.full)
}

// builder collects the prompts of a trace while it loads. It implements ColumnsBuilder.
type builder struct {
	Columns
	kind     Kind
	clock    bool
	last     uint32               // object of the previous block
	parents  memory.Chunks[int32] // as Columns.Parents
	sessions map[uint64]int32     // dense number by key
	unknown  bool                 // the length of some output is unknown
	texts    *answerBuilder       // nil if no tokens of answers are known
	known    map[uint64]struct{}  // scopes
}

// Add implements ColumnsBuilder. The request is for the next block.
func (c *builder) Add(rec *stream.Record, object uint32) error {
	if object > math.MaxInt32-1 { // Columns.Parents has objects as int32
		return stream.ErrTooManyObjects
	}
	if rec.Begins {
		c.addPrompt(rec)
	}
	if c.texts != nil {
		c.texts.add(rec.Num, object)
	}
	if int(object) == c.parents.Len() {
		parent := int32(-1)
		if !rec.Begins {
			parent = int32(c.last)
		}
		c.parents.Append(parent)
	}
	c.last = object
	return nil
}

func (c *builder) addPrompt(rec *stream.Record) {
	head := HeadOf(rec)
	if c.texts != nil {
		c.texts.begin(head, c.kind.BlockTokens)
	}
	if head.Open {
		c.open.Set(len(c.InputTokens))
	}
	c.known[head.Scope] = struct{}{}
	c.addMeasured(head.Measured)
	c.InputTokens = append(c.InputTokens, head.InputTokens)
	c.OutputTokens = append(c.OutputTokens, head.OutputTokens)
	c.unknown = c.unknown || head.OutputTokens < 0
	if c.clock {
		c.Arrivals = append(c.Arrivals, rec.Time)
	}
	if c.kind.Sessions {
		c.Sessions = append(c.Sessions, c.session(head.Session))
	}
	if c.kind.Priorities {
		c.Priorities = append(c.Priorities, head.Priority)
	}
}

// session returns the dense number of a conversation.
func (c *builder) session(key uint64) int32 {
	number, ok := c.sessions[key]
	if !ok {
		number = int32(len(c.SessionKeys))
		c.sessions[key] = number
		c.SessionKeys = append(c.SessionKeys, key)
	}
	return number
}

func (c *builder) Finish() stream.Columns {
	if c.unknown {
		if slices.ContainsFunc(c.OutputTokens, func(n int32) bool { return n >= 0 }) {
			c.outputs = c.OutputTokens
		}
		c.OutputTokens = nil
	}
	if len(c.known) > 1 {
		c.scopes = len(c.known)
	}
	c.Parents = c.parents.Joined()
	if c.texts != nil {
		c.stated, c.texts = c.texts.finish(c.Parents), nil
	}
	return &c.Columns
}
