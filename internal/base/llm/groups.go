package llm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GroupsExample is a description of layers, for messages.
const GroupsExample = "40 x gqa(8,128) + 8 x window(4096,8,128) + 16 x state(BYTES)"

// groupKind is one of the ways in which layers keep a prefix.
type groupKind struct {
	name        string
	args        string // their names; those from the first in brackets may be left out
	least, most int    // how many
	limit       int    // of each
	set         func(s *Shape, count int, args []int)
}

// groupKinds are what a description of layers may contain.
var groupKinds = []groupKind{
	{"gqa", "HEADS,SIZE[,VALUE SIZE[,BYTES OF AN INDEX]]", 2, 4, mostNumbers, func(s *Shape, count int, a []int) {
		value := a[1]
		if len(a) > 2 {
			value = a[2]
		}
		a = append(a, 0, 0)
		s.add(Layers{Heads: a[0], Key: a[1], Value: value, Bytes: a[3]}, count, 0)
	}},
	{"window", "TOKENS,HEADS,SIZE[,VALUE SIZE]", 3, 4, mostNumbers, func(s *Shape, count int, a []int) {
		s.add(Layers{Heads: a[1], Key: a[2], Value: a[len(a)-1]}, count, a[0])
	}},
	{"mla", "SIZE[,BYTES IN FP8_DS_MLA[,BYTES OF AN INDEX]]", 1, 3, mostNumbers, func(s *Shape, count int, a []int) {
		a = append(a, 0, 0)
		s.add(Layers{Heads: 1, Key: a[0], Packed: a[1], Bytes: a[2]}, count, 0)
	}},
	{"mla-window", "TOKENS,SIZE[,BYTES IN FP8_DS_MLA]", 2, 3, mostNumbers, func(s *Shape, count int, a []int) {
		a = append(a, 0)
		s.add(Layers{Heads: 1, Key: a[1], Packed: a[2]}, count, a[0])
	}},
	{"bytes", "BYTES OF A TOKEN ON EVERY GPU[,WINDOW]", 1, 2, mostNumbers, func(s *Shape, count int, a []int) {
		a = append(a, 0)
		s.add(Layers{Bytes: a[0]}, count, a[1])
	}},
	{"state", "BYTES OF A PREFIX ON ALL GPUS", 1, 1, mostStateBytes, func(s *Shape, count int, a []int) {
		s.States = append(s.States, States{Count: count, Bytes: a[0]})
	}},
	{"linear", "KEY HEADS,KEY SIZE,VALUE HEADS,VALUE SIZE,CONVOLUTION", 5, 5, mostStateNumbers, func(s *Shape, count int,
		a []int) {
		s.States = append(s.States, States{Count: count, KeyHeads: a[0], KeySize: a[1], ValueHeads: a[2],
			ValueSize: a[3], Convolution: a[4]})
	}},
}

// groupForms lists the kinds with their arguments.
func groupForms() string {
	forms := make([]string, len(groupKinds))
	for i, k := range groupKinds {
		forms[i] = k.name + "(" + k.args + ")"
	}
	return strings.Join(forms, ", ")
}

// ParseGroups reads a description of layers: so many of each kind, with `+` between them. Behind a kind, `/4` says that
// 4 tokens share what it keeps.
func ParseGroups(text string) (s Shape, err error) {
	s.Type = "bf16"
	for term := range strings.SplitSeq(text, "+") {
		if err := s.addGroup(strings.TrimSpace(term)); err != nil {
			return s, fmt.Errorf("groups: %q: %w; want for example %s, with %s", strings.TrimSpace(term), err,
				GroupsExample, groupForms())
		}
	}
	if len(s.Layers) == 0 {
		return s, errors.New("groups: no layer keeps keys and values of tokens; a prefix cache of states alone is not " +
			"supported")
	}
	return s, nil
}

// addGroup adds what a term describes.
func (s *Shape) addGroup(term string) error {
	count := 1
	if first, rest, ok := strings.Cut(term, "x"); ok && strings.Trim(first, " 0123456789") == "" {
		n, err := wholeNumber(first, mostLayers)
		if err != nil {
			return fmt.Errorf("the number of layers: %w", err)
		}
		count, term = n, strings.TrimSpace(rest)
	}
	every := 0
	if before, after, ok := strings.Cut(term, "/"); ok {
		n, err := wholeNumber(after, mostTokens)
		if err != nil {
			return fmt.Errorf("the tokens behind /: %w", err)
		}
		every, term = n, strings.TrimSpace(before)
	}
	name, rest, ok := strings.Cut(term, "(")
	at := slices.IndexFunc(groupKinds, func(k groupKind) bool { return k.name == strings.TrimSpace(name) })
	if !ok || at < 0 || !strings.HasSuffix(rest, ")") {
		return errors.New("no kind of layers")
	}
	kind := groupKinds[at]
	args, err := kind.read(strings.TrimSuffix(rest, ")"))
	if err != nil {
		return err
	}
	layers := len(s.Layers)
	kind.set(s, count, args)
	if every > 1 {
		if len(s.Layers) == layers {
			return errors.New("a state has no tokens that share it")
		}
		s.Layers[layers].Every = every
	}
	return nil
}

// read reads the arguments. Those that may be left out may be 0, too.
func (k groupKind) read(text string) (args []int, err error) {
	texts := strings.Split(text, ",")
	if len(texts) < k.least || len(texts) > k.most {
		return nil, fmt.Errorf("%s for %s(%s)", counted(len(texts), "number"), k.name, k.args)
	}
	for i, arg := range texts {
		n := 0
		if i < k.least || strings.TrimSpace(arg) != "0" {
			if n, err = wholeNumber(arg, k.limit); err != nil {
				return nil, err
			}
		}
		args = append(args, n)
	}
	return args, nil
}

// mostStateBytes is far more than a layer keeps for a prefix.
const mostStateBytes = 1 << 40

func wholeNumber(text string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%.40q is not a whole number from 1 to %d", strings.TrimSpace(text), most)
	}
	return n, nil
}

// Groups describes the layers as ParseGroups reads them.
func (s Shape) Groups() string {
	var terms []string
	for _, l := range s.Layers {
		terms = append(terms, l.group())
	}
	for _, t := range s.States {
		text := fmt.Sprintf("state(%d)", t.Bytes)
		if t.Bytes == 0 {
			text = fmt.Sprintf("linear(%d,%d,%d,%d,%d)", t.KeyHeads, t.KeySize, t.ValueHeads, t.ValueSize, t.Convolution)
		}
		terms = append(terms, fmt.Sprintf("%d x %s", t.Count, text))
	}
	return strings.Join(terms, " + ")
}

// group describes layers as ParseGroups reads them.
func (l Layers) group() string {
	var name string
	var args []int
	switch {
	case l.Heads == 0:
		name, args = "bytes", []int{l.Bytes, l.Window}
	case l.Value == 0 && l.Window > 0:
		name, args = "mla-window", []int{l.Window, l.Key, l.Packed}
	case l.Value == 0:
		name, args = "mla", []int{l.Key, l.Packed, l.Bytes}
	case l.Window > 0:
		name, args = "window", []int{l.Window, l.Heads, l.Key, l.Value}
	default:
		name, args = "gqa", []int{l.Heads, l.Key, l.Value, l.Bytes}
	}
	for args[len(args)-1] == 0 {
		args = args[:len(args)-1]
	}
	if l.Value > 0 && l.Value == l.Key && l.Bytes == 0 {
		args = args[:len(args)-1] // the value has the size of the key
	}
	texts := make([]string, len(args))
	for i, n := range args {
		texts[i] = strconv.Itoa(n)
	}
	text := fmt.Sprintf("%d x %s(%s)", l.Count, name, strings.Join(texts, ","))
	if l.Every > 1 {
		text += fmt.Sprintf("/%d", l.Every)
	}
	return text
}
