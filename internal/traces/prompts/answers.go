package prompts

import (
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// How answers are replayed: servers keep the blocks that decoding fills, as they keep those of prompts.
const (
	AnswersKept    = "kept"    // known answers can hit, others take room
	AnswersLengths = "lengths" // all answers take room, and none can hit
	AnswersOff     = "off"     // answers are ignored
)

// AnswerModes are the ways in which answers are replayed, the default first.
var AnswerModes = []string{AnswersKept, AnswersLengths, AnswersOff}

// CheckAnswers refuses other ways; "" is the default.
func CheckAnswers(mode string) error {
	if mode == "" || slices.Contains(AnswerModes, mode) {
		return nil
	}
	return suggest.Unknown("way to replay answers", mode, AnswerModes)
}

// Answers returns a mode, with "" for the default.
func Answers(mode string) string {
	if mode == AnswersKept {
		return ""
	}
	return mode
}

// ParseAnswers is CheckAnswers and Answers for the value of a flag, which is "" where there is none: commands without
// it ignore answers.
func ParseAnswers(mode string) (string, error) {
	if mode == "" {
		return AnswersOff, nil
	}
	return Answers(mode), CheckAnswers(mode)
}

// longestAnswer is the most tokens of an answer that are believed: no model writes more.
const longestAnswer = 1 << 20

// Answered are prompts together with the blocks of their answers. A prompt's group has the blocks that the prompt
// fills, then those that its answer fills, then the last, partial block of the prompt, if there is one. That block is
// requested, but the answer fills it, so that it is not kept. A group whose answer fills no block is as before.
type Answered struct {
	Columns *Columns
	Objects []uint32 // with the blocks of answers
	Groups  []int
	Starts  []int         // among Objects
	Loads   stream.Bitset // per block: it belongs to an answer, and is loaded without a request
	Passed  stream.Bitset // per block: it is requested, and neither kept nor found, since the answer fills it
	From    []uint32      // per block: that of the prompts alone which it stands for; of an answer, the prompt's first one
	Count   int           // objects; those that only answers have are the last ones
}

// AnswerCounts say what is known of the answers of a trace.
type AnswerCounts struct {
	Mode     string
	Prompts  int
	Stated   int // answers whose tokens the log has
	Inferred int // answers that the next turn repeats
	Sized    int // other answers of known length
	Blocks   int // that all of these fill, and that are no part of a prompt before its answer
	Shorter  int // next turns that are shorter than the prompt and the answer before
	Strange  int // prompts of a conversation that do not begin with one of its earlier prompts
	TooLong  int // answers of more than longestAnswer tokens
	// Of stated answers with a next turn: the blocks that they fill, and those of them that the next turn repeats.
	Followed, Repeated int
}

// line says in a few words what is known of the answers.
func (n AnswerCounts) line() string {
	known := n.Stated + n.Inferred
	if known+n.Sized == 0 {
		return "answers: unknown, so that none is kept" + n.odd()
	}
	text := fmt.Sprintf("answers: %s of %s kept", stream.Thousands(known), stream.Thousands(n.Prompts))
	how := func(count int, what string) {
		if count > 0 {
			text += fmt.Sprintf(", %s %s", stream.Thousands(count), what)
		}
	}
	take := forms(n.Sized, "takes", "take")
	switch {
	case known == 0:
		text = fmt.Sprintf("answers: %s of %s %s room for %s length, and none can hit", stream.Thousands(n.Sized),
			stream.Thousands(n.Prompts), take, forms(n.Sized, "its", "their"))
	case n.Inferred == 0:
		text += ", as the log has them"
	case n.Stated == 0:
		text += ", as the next turn repeats them"
	default:
		how(n.Stated, "as the log has them")
		how(n.Inferred, "as the next turn repeats them")
	}
	if known > 0 {
		how(n.Sized, take+" room for "+forms(n.Sized, "its", "their")+" length and cannot hit")
	}
	how(n.Prompts-known-n.Sized, "unknown")
	if n.Followed > n.Repeated {
		text += fmt.Sprintf("; next turns repeat %.3g%% of their full blocks, the others cannot hit",
			100*float64(n.Repeated)/float64(n.Followed))
	}
	return text + n.odd()
}

// odd says what contradicts that turns continue each other.
func (n AnswerCounts) odd() (text string) {
	for _, o := range []struct {
		count int
		what  string
	}{
		{n.Shorter, forms(n.Shorter, "next turn is", "next turns are") + " shorter than the prompt and the answer before"},
		{n.Strange, forms(n.Strange, "turn does not begin with an earlier one of its conversation",
			"turns do not begin with an earlier one of their conversation")},
		{n.TooLong, fmt.Sprintf(forms(n.TooLong, "answer of more than %s tokens is taken as unknown",
			"answers of more than %s tokens are taken as unknown"), stream.Thousands(longestAnswer))},
	} {
		if o.count > 0 {
			text += fmt.Sprintf("; %s %s", stream.Thousands(o.count), o.what)
		}
	}
	return text
}

// forms returns the form of a word for a number.
func forms(count int, one, several string) string {
	if count == 1 {
		return one
	}
	return several
}

// stated are answers whose tokens the log has, in blocks.
type stated struct {
	known   stream.Bitset // per prompt: the log has the tokens of its answer, which may fill no block
	ends    []int         // per prompt: where its blocks end in blocks
	blocks  []uint32      // objects; those from the number of objects of the prompts on are in answers alone
	parents []int32       // of these: the block before it
}

func (s *stated) has(prompt int) bool { return s != nil && s.known.Has(prompt) }

func (s *stated) of(prompt int) []uint32 {
	if s == nil {
		return nil
	}
	from := 0
	if prompt > 0 {
		from = s.ends[prompt-1]
	}
	return s.blocks[from:s.ends[prompt]]
}

// AnswerMode returns the one of AnswerModes with which Answer was called; "" before.
func (p *Columns) AnswerMode() string { return p.answers.Mode }

// HasAnswers reports whether something is known of answers that Answer can use.
func (p *Columns) HasAnswers() bool {
	return !p.LengthsOnly && (p.OutputTokens != nil || p.outputs != nil || p.stated != nil)
}

// output returns the tokens of an answer, -1 if they are unknown.
func (p *Columns) output(prompt int) int32 {
	switch {
	case p.OutputTokens != nil:
		return p.OutputTokens[prompt]
	case p.outputs != nil:
		return p.outputs[prompt]
	}
	return -1
}

// Full returns how many of a prompt's tokens' blocks are full; group is its blocks, with those of its answer if Answer
// has added them.
func (p *Columns) Full(prompt int, group []uint32) int {
	if p.full != nil {
		return int(p.full[prompt])
	}
	return min(int(p.InputTokens[prompt])/p.BlockTokens, len(group))
}

// fixed returns how many blocks of a prompt stay as they are where its text continues.
func (p *Columns) fixed(prompt int, group []uint32) int {
	full := p.Full(prompt, group)
	if full > 0 && full*p.BlockTokens == int(p.InputTokens[prompt]) && p.open.Has(prompt) {
		full--
	}
	return full
}

// AnswerBlocks returns how many blocks of a prompt's group belong to its answer; they follow the full blocks.
func (p *Columns) AnswerBlocks(prompt int) int {
	if p.answerBlocks == nil {
		return 0
	}
	return int(p.answerBlocks[prompt])
}

// Answered reports whether groups have the blocks of answers.
func (p *Columns) Answered() bool { return p.answerBlocks != nil }

// Requested returns how many blocks of a group its prompt requests. They are the first ones, and the last one if some
// lie between that belong to the answer.
func (p *Columns) Requested(prompt int, group []uint32) int {
	return len(group) - p.AnswerBlocks(prompt)
}

// Written returns the tokens whose keys and values a server has when an answer is complete: those of the prompt and of
// the answer, without the last one, which is never read. It is the length of the prompt before Answer, and where
// nothing is known.
func (p *Columns) Written(prompt int) int64 {
	if p.answerBlocks == nil {
		return int64(p.InputTokens[prompt])
	}
	return p.written(prompt)
}

func (p *Columns) written(prompt int) int64 {
	tokens, output := int64(p.InputTokens[prompt]), int64(p.output(prompt))
	if output <= 0 || output > longestAnswer {
		return tokens
	}
	return tokens + output - 1
}

// Answer returns prompts with the blocks of their answers, in one of AnswerModes. The trace has objects, its prompts
// begin at groups, and its files at starts, if these are replayed one by one.
//
// Where the log lacks the tokens of an answer, they are taken from the next turn: the first later prompt of the
// conversation that begins with the full blocks of this one, and with those of no longer one, if it has at least the
// tokens of the prompt and its answer. Without conversations it must be the only prompt that ends at that block.
func (p *Columns) Answer(mode string, objects []uint32, groups, starts []int) (Answered, error) {
	l := &linker{p: p, mode: mode, objects: objects, groups: groups, from: make([]int, len(groups)),
		blocks: make([]int32, len(groups)), before: make([]int32, len(groups)), ended: map[ending]ended{}}
	l.counts.Mode, l.counts.Prompts = mode, len(groups)
	l.ends = make(stream.Bitset, len(p.Parents)/64+1)
	if mode == AnswersKept {
		l.link(starts)
	}
	return l.build(starts)
}

// WithoutAnswers returns p without what it knows of answers. In a mode other than "" Lines says that it is nothing.
func (p *Columns) WithoutAnswers(mode string) *Columns {
	columns := *p
	columns.stated, columns.outputs, columns.open = nil, nil, nil
	columns.answers.Mode = mode
	return &columns
}

// linker finds the answers of prompts.
type linker struct {
	p       *Columns
	mode    string
	objects []uint32
	groups  []int
	from    []int   // per prompt: where the next turn has its answer's blocks among the objects; 0 if it does not
	blocks  []int32 // per prompt: how many these are
	ended   map[ending]ended
	before  []int32       // per prompt: the one before that ended at the same place, -1 without
	ends    stream.Bitset // per block: a prompt ends with it
	begun   stream.Bitset // per conversation: it has begun
	counts  AnswerCounts
}

// ending is where prompts of a conversation end: with a full block, or noEnd if they have none.
type ending struct {
	session int32
	block   int64
}

const noEnd = -1

// ended is the last prompt that ended at a place.
type ended struct {
	prompt  int32
	several bool // prompts of other lengths have ended there
}

func (l *linker) group(i int) []uint32 {
	end := len(l.objects)
	if i+1 < len(l.groups) {
		end = l.groups[i+1]
	}
	return l.objects[l.groups[i]:end]
}

// link finds the answers that next turns have.
func (l *linker) link(starts []int) {
	for i, at := range l.groups {
		if len(starts) > 0 && starts[0] == at {
			starts = starts[1:]
			clear(l.ended)
			clear(l.ends)
			clear(l.begun)
		}
		blocks := l.group(i)
		blocks = blocks[:l.p.fixed(i, blocks)]
		session := int32(0)
		if l.p.Sessions != nil {
			session = l.p.Sessions[i]
		}
		l.continues(i, session, blocks)
		l.end(i, session, blocks)
	}
}

// end notes where a prompt ends.
func (l *linker) end(i int, session int32, blocks []uint32) {
	at := ending{session, noEnd}
	if len(blocks) > 0 {
		last := blocks[len(blocks)-1]
		at.block = int64(last)
		l.ends.Set(int(last))
	}
	before, known := l.ended[at]
	if l.before[i] = noEnd; known {
		l.before[i] = before.prompt
	}
	l.ended[at] = ended{int32(i), known && (before.several || l.p.InputTokens[before.prompt] != l.p.InputTokens[i])}
}

// continues finds the prompt that a prompt continues, and takes its answer from there.
func (l *linker) continues(i int, session int32, blocks []uint32) {
	named := l.p.Sessions != nil
	begun := named && l.begun.Has(int(session))
	if named {
		l.begun.Set(int(session))
		if !begun {
			return
		}
	}
	for n := len(blocks); n >= 0; n-- {
		at := ending{session, noEnd}
		switch {
		case n > 0 && !l.ends.Has(int(blocks[n-1])):
			continue
		case n > 0:
			at.block = int64(blocks[n-1])
		case !named:
			return
		}
		if of, ok := l.ended[at]; ok {
			if named || !of.several {
				l.takeFrom(i, of.prompt, n)
			}
			return
		}
	}
	if named {
		l.counts.Strange++
	}
}

// mostAsked is how often the same prompt may have been asked and still be found.
const mostAsked = 16

// takeFrom takes an answer from the next prompt, whose first n blocks a prompt fills. If that has another answer, it is
// the answer to an earlier prompt that is the same.
func (l *linker) takeFrom(next int, prompt int32, n int) {
	for range mostAsked {
		if prompt < 0 || l.take(next, int(prompt), n) {
			return
		}
		prompt = l.before[prompt]
	}
}

// take takes the answer to a prompt, whose full blocks are the first n of the next one's, from there. It returns false
// if the prompt has another answer.
func (l *linker) take(next, prompt, n int) bool {
	p := l.p
	if p.InputTokens[next] <= p.InputTokens[prompt] { // asked again
		return true
	}
	blocks := l.group(next)[n:]
	if p.stated.has(prompt) {
		l.compare(p.stated.of(prompt), blocks)
		return true
	}
	end := int(p.written(prompt) / int64(p.BlockTokens))
	switch {
	case p.written(prompt) == int64(p.InputTokens[prompt]):
		return true // nothing is written
	case int64(p.InputTokens[next]) <= p.written(prompt):
		l.counts.Shorter++
	case l.from[prompt] > 0:
		return slices.Equal(blocks[:min(len(blocks), end-n)], l.objects[l.from[prompt]:l.from[prompt]+end-n])
	default:
		l.from[prompt] = l.groups[next] + n
		l.blocks[prompt] = int32(end - n)
		l.counts.Inferred++
	}
	return true
}

// compare counts how much of an answer that the log has is in the next turn.
func (l *linker) compare(answer, next []uint32) {
	same := 0
	for same < min(len(answer), len(next)) && answer[same] == next[same] {
		same++
	}
	l.counts.Followed += len(answer)
	l.counts.Repeated += same
}

// build puts the blocks of answers into the groups of their prompts.
func (l *linker) build(starts []int) (Answered, error) {
	p := l.p
	columns := *p
	columns.stated, columns.open = nil, nil
	columns.answerBlocks, columns.full = make([]int32, len(l.groups)), make([]int32, len(l.groups))
	a := Answered{Columns: &columns, Groups: make([]int, len(l.groups)), Count: len(p.Parents)}
	columns.Parents = slices.Clone(p.Parents)
	if p.stated != nil && l.mode == AnswersKept {
		columns.Parents = append(columns.Parents, p.stated.parents...)
		a.Count = len(columns.Parents)
	}
	a.Objects = make([]uint32, 0, len(l.objects)+len(l.objects)/4)
	a.From = make([]uint32, 0, cap(a.Objects))
	seen := make(stream.Bitset, len(p.Parents)/64+1) // blocks that were requested or written before
	a.Loads = make(stream.Bitset, cap(a.Objects)/64+1)
	for i, at := range l.groups {
		if len(starts) > 0 && starts[0] == at {
			a.Starts, starts = append(a.Starts, len(a.Objects)), starts[1:]
			clear(seen)
		}
		group := l.group(i)
		full := p.fixed(i, group)
		a.Groups[i] = len(a.Objects)
		a.copy(group[:full], at)
		parent := int32(noEnd)
		if full > 0 {
			parent = int32(group[full-1])
		}
		first := len(a.Objects)
		if err := l.addAnswer(&a, i, full, parent); err != nil {
			return a, err
		}
		n := len(a.Objects) - first
		columns.answerBlocks[i], columns.full[i] = int32(n), int32(full)
		if n == 0 { // nothing follows, so that an open last block counts as full
			columns.full[i] = int32(p.Full(i, group))
		}
		l.counts.Blocks += n
		if n > 0 && full < len(group) {
			a.Passed.Set(len(a.Objects))
		}
		a.copy(group[full:], at+full)
		for k, o := range a.Objects[a.Groups[i]:] {
			columns.Rewritten = columns.Rewritten || k >= full && k < full+n && seen.Has(int(o))
			seen.Set(int(o))
		}
	}
	columns.answers = l.counts
	return a, columns.setMemory(a.Objects, a.Groups)
}

// copy appends blocks of a prompt that begin at a position of the prompts alone.
func (a *Answered) copy(blocks []uint32, at int) {
	n := len(a.From)
	a.Objects = append(a.Objects, blocks...)
	a.From = slices.Grow(a.From, len(blocks))[:n+len(blocks)]
	for k := range a.From[n:] {
		a.From[n+k] = uint32(at + k)
	}
}

// addAnswer appends the blocks that the answer to a prompt fills.
func (l *linker) addAnswer(a *Answered, i, full int, parent int32) error {
	p := l.p
	stated := p.stated.of(i)
	switch {
	case l.mode == AnswersKept && p.stated.has(i):
		l.counts.Stated++
		l.load(a, i, stated)
	case l.mode == AnswersKept && l.from[i] > 0:
		l.load(a, i, l.objects[l.from[i]:l.from[i]+int(l.blocks[i])])
	case p.output(i) < 0:
	case p.output(i) > longestAnswer:
		l.counts.TooLong++
	default:
		l.counts.Sized++
		for range int(p.written(i)/int64(p.BlockTokens)) - full {
			if a.Count > math.MaxInt32-2 {
				return stream.ErrTooManyObjects
			}
			o := uint32(a.Count)
			a.Count++
			a.Columns.Parents = append(a.Columns.Parents, parent)
			parent = int32(o)
			l.load(a, i, []uint32{o})
		}
	}
	return nil
}

// load appends blocks of an answer.
func (l *linker) load(a *Answered, i int, blocks []uint32) {
	for range blocks {
		a.Loads.Set(len(a.From))
		a.From = append(a.From, uint32(l.groups[i]))
	}
	a.Objects = append(a.Objects, blocks...)
}
