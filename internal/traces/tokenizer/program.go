package tokenizer

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// runeSet is which characters of the first plane of Unicode an instruction matches, and what matches the others.
type runeSet struct {
	plane [1 << 10]uint64
	other func(c rune) bool
}

func (s *runeSet) has(c rune) bool {
	if c < 1<<16 {
		return s.plane[c>>6]>>(c&63)&1 != 0
	}
	return s.other(c)
}

// search returns the position of the first character at or after another one that is in the set, or is not.
func (s *runeSet) search(text string, at int, in bool) int {
	for at < len(text) {
		if c := text[at]; c < utf8.RuneSelf {
			if s.plane[c>>6]>>(c&63)&1 != 0 == in {
				return at
			}
			at++
			continue
		}
		c, size := utf8.DecodeRuneInString(text[at:])
		if s.has(c) == in {
			return at
		}
		at += size
	}
	return at
}

func (s *runeSet) add(from, until rune) {
	for c := from; c <= min(until, 1<<16-1); c++ {
		s.plane[c>>6] |= 1 << (c & 63)
	}
}

// setOf returns the set of an instruction that matches one of several characters; nil for others.
func setOf(inst *syntax.Inst) *runeSet {
	s := &runeSet{other: inst.MatchRune}
	switch inst.Op {
	case syntax.InstRune1, syntax.InstRune:
		if len(inst.Rune) < 2 { // and its other cases, if they count
			return nil
		}
		for i := 0; i+1 < len(inst.Rune); i += 2 {
			s.add(inst.Rune[i], inst.Rune[i+1])
		}
	case syntax.InstRuneAny:
		s.add(0, unicode.MaxRune)
	case syntax.InstRuneAnyNotNL:
		s.add(0, '\n'-1)
		s.add('\n'+1, unicode.MaxRune)
	default:
		return nil
	}
	return s
}

// prepare finds out what is known of the program without a text.
func (p *pattern) prepare() {
	p.code = make([]instruction, len(p.prog.Inst))
	for i := range p.prog.Inst {
		inst := &p.prog.Inst[i]
		p.code[i] = instruction{Inst: inst, head: -1}
		// A class often has several instructions.
		if same := slices.IndexFunc(p.prog.Inst[:i], func(other syntax.Inst) bool {
			return other.Op == inst.Op && slices.Equal(other.Rune, inst.Rune)
		}); same >= 0 {
			p.code[i].set = p.code[same].set
		} else {
			p.code[i].set = setOf(inst)
		}
	}
	for i := range p.code {
		inst := &p.code[i]
		if inst.Op != syntax.InstAlt && inst.Op != syntax.InstAltMatch {
			continue
		}
		if head := p.after(inst.Out); p.matchesRune(head) {
			inst.head = int32(head)
			inst.loop = head == inst.Out && p.code[head].Out == uint32(i)
		}
	}
	first := &runeSet{other: func(rune) bool { return true }}
	if p.addFirst(first, uint32(p.prog.Start), make([]bool, len(p.code))) {
		p.first = first
	}
}

// after returns the first instruction from one on that does something.
func (p *pattern) after(pc uint32) uint32 {
	for p.code[pc].Op == syntax.InstNop || p.code[pc].Op == syntax.InstCapture {
		pc = p.code[pc].Out
	}
	return pc
}

// matchesRune reports whether an instruction matches a character, and is no look.
func (p *pattern) matchesRune(pc uint32) bool {
	switch p.code[pc].Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return p.lookOf(p.code[pc].Inst) == nil
	}
	return false
}

// lookOf returns the look that an instruction stands for; nil for others.
func (p *pattern) lookOf(inst *syntax.Inst) *look {
	if inst.Op == syntax.InstRune1 && inst.Rune[0] >= firstLook && inst.Rune[0] <= lastLook {
		return p.looks[inst.Rune[0]-firstLook]
	}
	return nil
}

// addFirst adds the characters that a match from an instruction on can begin with. It returns false if that may be
// empty, or begins with a look that takes characters.
func (p *pattern) addFirst(to *runeSet, pc uint32, seen []bool) bool {
	if seen[pc] {
		return true
	}
	seen[pc] = true
	inst := &p.code[pc]
	switch {
	case inst.Op == syntax.InstMatch:
		return false
	case inst.Op == syntax.InstFail:
		return true
	case inst.Op == syntax.InstAlt || inst.Op == syntax.InstAltMatch:
		return p.addFirst(to, inst.Out, seen) && p.addFirst(to, inst.Arg, seen)
	case !p.matchesRune(pc):
		if l := p.lookOf(inst.Inst); l != nil && l.kind == '>' {
			return false
		}
		return p.addFirst(to, inst.Out, seen)
	case inst.set != nil:
		for i, word := range inst.set.plane {
			to.plane[i] |= word
		}
	default:
		for c := inst.Rune[0]; ; {
			to.add(c, c)
			if c = unicode.SimpleFold(c); c == inst.Rune[0] {
				break
			}
		}
	}
	return true
}
