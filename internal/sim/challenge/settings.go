package challenge

import (
	"fmt"
	"slices"
	"strings"
)

// grammar draws a generator that has some parts, each with some settings.
type grammar struct {
	parts []partKind // those that are there twice are drawn twice as often
	most  int        // parts of a workload
	// text writes the generator without its seed and the closing parenthesis.
	text func(parts []string, requests int) string
}

// partKind is a kind of part: a name, and what is drawn for it.
type partKind struct {
	name     string
	settings []setting
}

// setting draws parameters with their values, "" for the default.
type setting func(g draws) string

// settings are a workload of drawn parameters.
type settings struct {
	*grammar
	parts    []part
	requests int // at most
}

// part is a kind with a text for each of its settings.
type part struct {
	kind   int
	values []string
}

func (of *grammar) draw(g draws) Workload {
	w := settings{of, make([]part, 1+g.IntN(of.most)), g.Requests}
	for i := range w.parts {
		w.parts[i] = of.part(g)
	}
	return w
}

func (of *grammar) part(g draws) part {
	p := part{kind: g.IntN(len(of.parts))}
	for _, draw := range of.parts[p.kind].settings {
		p.values = append(p.values, draw(g))
	}
	return p
}

// changed implements Workload: a part is gone or new, or a setting of it is.
func (w settings) changed(g draws) Workload {
	w.parts = slices.Clone(w.parts)
	at := g.IntN(len(w.parts))
	switch change := g.IntN(5); {
	case change == 0 && len(w.parts) > 1:
		w.parts = slices.Delete(w.parts, at, at+1)
	case change == 1 && len(w.parts) < w.most:
		w.parts = append(w.parts, w.part(g))
	default:
		p := w.parts[at]
		p.values = slices.Clone(p.values)
		drawn := w.grammar.parts[p.kind].settings
		i := g.IntN(len(drawn))
		p.values[i] = drawn[i](g)
		w.parts[at] = p
	}
	return w
}

// simpler implements Workload: a part is gone, or one of its settings has its default. The places of a part are the
// part itself, and then its settings.
func (w settings) simpler(at int) (all []Workload, ok bool) {
	for i, p := range w.parts {
		if at > len(p.values) {
			at -= 1 + len(p.values)
			continue
		}
		simple := w
		switch {
		case at == 0 && len(w.parts) > 1:
			simple.parts = slices.Delete(slices.Clone(w.parts), i, i+1)
		case at > 0 && p.values[at-1] != "":
			p.values = slices.Clone(p.values)
			p.values[at-1] = ""
			simple.parts = slices.Clone(w.parts)
			simple.parts[i] = p
		default:
			return nil, true
		}
		return []Workload{simple}, true
	}
	return nil, false
}

// Generator implements Workload.
func (w settings) Generator(seed uint64) string {
	texts := make([]string, len(w.parts))
	for i, p := range w.parts {
		given := slices.DeleteFunc(slices.Clone(p.values), func(v string) bool { return v == "" })
		texts[i] = strings.Join(given, ",")
		if name := w.grammar.parts[p.kind].name; name != "" {
			texts[i] = fmt.Sprintf("%s(%s)", name, texts[i])
		}
	}
	return fmt.Sprintf("%s,seed=%d)", w.text(texts, w.requests), seed)
}

// sometimes draws a setting half of the time.
func sometimes(s setting) setting {
	return func(g draws) string {
		if text := s(g); g.IntN(2) == 0 {
			return text
		}
		return ""
	}
}

// number draws a whole number for a parameter, share a number.
func number(name string, low, high int) setting {
	return func(g draws) string { return fmt.Sprintf("%s=%d", name, g.between(low, high)) }
}

func share(name string, low, high float64) setting {
	return func(g draws) string { return name + "=" + g.within(low, high) }
}

// chosen draws one of some texts.
func chosen(texts ...string) setting {
	return func(g draws) string { return texts[g.IntN(len(texts))] }
}

// continued returns further parameters behind others.
func continued(parameters string) string {
	if parameters == "" {
		return ""
	}
	return "," + parameters
}

// readers are streams of reads of files. A stream has data of a quarter to twenty times the capacity.
var readers = grammar{
	parts: []partKind{
		{"forward", ofStreams()}, {"forward", ofStreams()}, {"backward", ofStreams()},
		{"strided", ofStreams(number("stride", 2, 64))},
		{"shuffled", ofStreams()}, {"shuffled", ofStreams()},
		{"skewed", ofStreams(share("alpha", 0.3, 1.4), chosen("", "", "scattered=false"))},
	},
	most: 4,
	text: func(parts []string, requests int) string {
		return fmt.Sprintf("readers(requests=%d,streams=%s", requests, strings.Join(parts, ";"))
	},
}

func ofStreams(own ...setting) []setting {
	return append([]setting{
		func(g draws) string {
			blocks := g.between(max(2, g.Capacity/4), 20*g.Capacity)
			files := g.between(1, blocks)
			return fmt.Sprintf("files=%d,blocks=%d", files, max(1, blocks/files))
		},
		sometimes(number("item", 1, 16)),
		sometimes(number("together", 2, 8)),
		sometimes(number("epochs", 1, 8)),
		sometimes(func(g draws) string {
			return fmt.Sprintf("copies=%d,gap=%d", g.between(2, 8), g.between(1, max(1, g.Requests/4)))
		}),
		sometimes(func(g draws) string { return fmt.Sprintf("start=%d", g.between(1, max(1, g.Requests/2))) }),
		sometimes(share("weight", 0.2, 4)),
	}, own...)
}

// topics are dialogues: how many topics return, how popular they are, and how that moves.
var topics = grammar{
	parts: []partKind{{"", []setting{
		number("topics", 5, 500),
		number("sessions", 5, 100),
		sometimes(number("families", 1, 8)),
		share("zipf", 0, 1.6),
		share("repeats", 0.1, 0.95),
		sometimes(share("drift", 0.1, 3)),
		func(g draws) string {
			return fmt.Sprintf("long=%s,capacity=%d", g.within(0.1, 0.9), g.between(max(1, g.Capacity/4), 10*g.Capacity))
		},
		sometimes(share("paraphrases", 0, 1)),
		sometimes(chosen("require-anchor=true")),
		sometimes(chosen("a=0.3,b=0.2", "a=0.45,b=0.2", "a=0.55,b=0.1", "a=0.65,b=0.05", "a=0.7,b=0.1")),
	}}},
	most: 1,
	text: func(parts []string, requests int) string {
		return fmt.Sprintf("dialogue(requests=%d,dim=64%s", requests, continued(parts[0]))
	},
}

// nodes are the requests of users to a node that recommends: tables, users, layers, utilisation, and shares that move.
var nodes = grammar{
	parts: []partKind{{"", []setting{
		number("tables", 2, 100),
		sometimes(number("layers", 1, 12)),
		sometimes(number("users", 2000, 200_000)),
		sometimes(share("user-alpha", 0.2, 1.2)),
		chosen("", "", "regime=trend", "regime=burst", "regime=burst,burst-rate=0.3"),
		sometimes(share("hot", 0.1, 0.7)),
		sometimes(func(g draws) string {
			low := g.between(1000, 10_000)
			return fmt.Sprintf("min-tokens=%d,max-tokens=%d", low, g.between(low, 30_000))
		}),
		sometimes(share("utilisation", 0.5, 0.95)),
		sometimes(share("shard-alpha", 0.3, 1.2)),
		sometimes(func(g draws) string { return fmt.Sprintf("own=%s,own-shards=%d", g.within(0.3, 1), g.between(8, 256)) }),
		sometimes(share("shared", 0.1, 0.9)),
		sometimes(func(g draws) string {
			return fmt.Sprintf("turn=%d,turn-tables=%d", g.between(2, 30), g.between(2, 100))
		}),
	}}},
	most: 1,
	text: func(parts []string, _ int) string {
		return fmt.Sprintf("recommender(nodes=1,epochs=%d%s", nodeEpochs, continued(parts[0]))
	},
}

// nodeEpochs is the length of a workload of a node.
const nodeEpochs = 60
