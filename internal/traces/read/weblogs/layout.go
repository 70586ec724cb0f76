package weblogs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// part is a piece of the description of a line: literal text, or a named field.
type part struct {
	literal string
	name    string // of a field, as the user wrote it; "" for a literal
	field   field
	time    *strftime // how a formattedTime is written
}

// layout says where the fields of a line are. A line is a literal, and then the fields, each with the text after it.
type layout struct {
	begin  []byte
	steps  []step
	needed int // steps up to the last that an entry needs
	// timeInParts is set if several fields have parts of the time, or one has it in a format of its own.
	timeInParts bool
	// padded is set if several blanks may stand where the layout has one.
	padded bool
	// quotable is set if any field may be in quotes, in which it may have what ends it otherwise.
	quotable bool
}

// step is a field, and the text that ends it.
type step struct {
	field field
	name  string
	time  *strftime
	end   []byte // nil: the field is the rest of the line
	keep  bool   // end belongs to the next field
	// escaped is set if the field is in quotes, so that a quote after a backslash does not end it.
	escaped bool
	// blank is set if the field has a blank, and a blank ends it: the time in the common log format.
	blank bool
	// word is set if a blank may end the last field of the layout, before columns that it does not name.
	word bool
}

// newLayout compiles a description of lines. Fields that nothing needs are skipped, and what follows the last needed
// one is not looked at.
func newLayout(parts []part) (*layout, error) {
	parts = mergeTargets(joinLiterals(parts))
	l := new(layout)
	if len(parts) > 0 && parts[0].name == "" {
		l.begin, parts = []byte(parts[0].literal), parts[1:]
	}
	for i := 0; i < len(parts); i++ {
		s := step{field: parts[i].field, name: parts[i].name, time: parts[i].time}
		before := ""
		if i > 0 {
			before = parts[i-1].literal
		} else {
			before = string(l.begin)
		}
		switch {
		case i+1 == len(parts):
			s.word = slices.Contains([]field{status, bodyBytes, allBytes, objectBytes}, s.field)
		case parts[i+1].name == "":
			i++
			s.end = []byte(parts[i].literal)
			s.blank = s.name == "$time_local" && parts[i].literal == " "
			s.escaped = strings.HasSuffix(before, `"`) && s.end[0] == '"'
		case roles[parts[i+1].field].role == targetRole && parts[i+1].field != requestLine:
			s.end, s.keep = []byte("/"), true
		default:
			return nil, fmt.Errorf("nothing separates %s from %s", parts[i].name, parts[i+1].name)
		}
		l.steps = append(l.steps, s)
	}
	return l, l.choose()
}

// joinLiterals joins literals that follow each other, and drops empty ones.
func joinLiterals(parts []part) (joined []part) {
	for _, p := range parts {
		switch last := len(joined) - 1; {
		case p.name != "":
			joined = append(joined, p)
		case p.literal == "":
		case last >= 0 && joined[last].name == "":
			joined[last].literal += p.literal
		default:
			joined = append(joined, p)
		}
	}
	return joined
}

// mergeTargets makes one target of a path and the query behind it: $uri$is_args$args of nginx, %U%q of Apache.
func mergeTargets(parts []part) (merged []part) {
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if p.field == path {
			after := i + 1
			if after < len(parts) && (parts[after].name == isArgs || parts[after].literal == "?") {
				after++
			}
			if after < len(parts) && parts[after].field == query {
				p.name, p.field, i = p.name+" and "+parts[after].name, target, after
			}
		}
		merged = append(merged, p)
	}
	return merged
}

// isArgs is the variable of nginx that is a question mark before a query, and otherwise empty.
const isArgs = "$is_args"

// errNoURL is about the fields of a layout.
var errNoURL = errors.New("no field has the URL: want $request, $request_uri or $uri (nginx), %r or %U (Apache), or " +
	"cs-uri-stem (W3C)")

// choose keeps the best field of each role.
func (l *layout) choose() error {
	best := map[role]int{} // index of the step
	for i, s := range l.steps {
		r := roles[s.field]
		if other, ok := best[r.role]; r.role != noRole && (!ok || r.rank > roles[l.steps[other].field].rank) {
			best[r.role] = i
		}
	}
	if i, ok := best[targetRole]; !ok {
		return errNoURL
	} else if l.steps[i].field == requestLine || l.steps[i].field == target {
		delete(best, queryRole)
		if l.steps[i].field == requestLine {
			delete(best, methodRole)
		}
	}
	l.chooseTime(best)
	for i := range l.steps {
		if chosen, ok := best[roles[l.steps[i].field].role]; ok && chosen == i {
			l.needed = i + 1
		} else {
			l.steps[i].field = ignored
		}
	}
	return nil
}

// chooseTime keeps a whole time, with the fraction of its second if it has none itself, or otherwise a date and a time
// of the day.
func (l *layout) chooseTime(best map[role]int) {
	whole, hasWhole := best[timeRole]
	_, hasDate := best[dateRole]
	_, hasTime := best[timeOfDayRole]
	if hasWhole || !hasDate || !hasTime {
		delete(best, dateRole)
		delete(best, timeOfDayRole)
	}
	inParts := !hasWhole && hasDate && hasTime
	written := hasWhole && l.steps[whole].field == formattedTime
	l.timeInParts = inParts || written
	if !inParts && !(written && !l.steps[whole].time.has("z")) {
		delete(best, zoneRole)
	}
	if !inParts && !written && !(hasWhole && l.steps[whole].field == seconds) {
		delete(best, fractionRole)
	}
}

// named returns the name of the field with a role, "" if there is none.
func (l *layout) named(want role) string {
	for _, s := range l.steps {
		if roles[s.field].role == want {
			return s.name
		}
	}
	return ""
}

// has reports whether the layout has one of some fields.
func (l *layout) has(fields ...field) bool {
	return slices.ContainsFunc(l.steps, func(s step) bool { return slices.Contains(fields, s.field) })
}

func (l *layout) columns() Columns {
	is := func(r role) bool { return l.named(r) != "" }
	return Columns{
		Method: is(methodRole) || l.has(requestLine),
		Host:   is(hostRole), Client: is(clientRole), Status: is(statusRole),
		Size: is(sizeRole) || is(objectSizeRole), Time: is(timeRole) || is(dateRole), TTL: is(ttlRole),
		Served: is(servedRole) || l.has(resultStatus),
	}
}

// parser fills in an entry from each line. It allocates nothing.
type parser struct {
	layout *layout
	entry  Entry
	clock  clock
	moment moment // of the entry, if the layout has its time in parts

	unescaped []byte // room for texts of the entry that are no parts of the line

	lastServed []byte
	lastFound  stream.Served
}

func (p *parser) parse(line []byte) error {
	_, err := p.take(line, p.layout.steps[:p.layout.needed])
	return err
}

func (p *parser) take(line []byte, steps []step) (rest []byte, err error) {
	l := p.layout
	p.entry.Reset()
	p.unescaped = p.unescaped[:0]
	if l.timeInParts {
		p.moment = moment{}
	}
	if !bytes.HasPrefix(line, l.begin) {
		return nil, fmt.Errorf("begins with %.40q: want %q", line, l.begin)
	}
	rest = line[len(l.begin):]
	for i := range steps {
		s := &steps[i]
		var text []byte
		var ok bool
		if text, rest, ok = l.cut(s, rest); !ok {
			return nil, fmt.Errorf("no %q after %s, which begins with %.40q", s.end, s.name, rest)
		}
		if s.field == ignored {
			continue
		}
		if err := p.set(s, text); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if l.timeInParts {
		ns, err := p.moment.read(&p.clock)
		if err != nil {
			return nil, err
		}
		p.entry.Time += ns
	}
	return rest, nil
}

func (l *layout) cut(s *step, rest []byte) (text, after []byte, ok bool) {
	if l.padded {
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
	}
	if l.quotable && len(rest) > 0 && rest[0] == '"' {
		if text, after, ok = cutQuotes(rest, s.end); ok {
			return text, after, true
		}
	}
	if s.time != nil {
		return s.cutTime(rest)
	}
	at := s.index(rest)
	switch {
	case at < 0:
		return nil, rest, false
	case s.keep:
		return rest[:at], rest[at:], true
	}
	return rest[:at], rest[at+len(s.end):], true
}

// cutTime cuts off a time, which ends where its format does.
func (s *step) cutTime(rest []byte) (text, after []byte, ok bool) {
	var m moment
	after, err := s.time.read(rest, &m)
	if err != nil || !bytes.HasPrefix(after, s.end) {
		return nil, rest, false
	}
	return rest[:len(rest)-len(after)], after[len(s.end):], true
}

// index returns where the field ends, -1 if it does not.
func (s *step) index(rest []byte) int {
	switch {
	case s.end == nil:
		if blank := bytes.IndexByte(rest, ' '); s.word && blank >= 0 {
			return blank
		}
		return len(rest)
	case s.blank:
		if at := bytes.IndexByte(rest, ' '); at >= 0 {
			if next := bytes.IndexByte(rest[at+1:], ' '); next >= 0 {
				return at + 1 + next
			}
		}
		return -1
	case len(s.end) == 1 && !s.escaped:
		return bytes.IndexByte(rest, s.end[0])
	}
	from := 0
	for {
		at := bytes.Index(rest[from:], s.end)
		if at < 0 || !s.escaped || !isEscaped(rest[:from+at]) {
			if at >= 0 {
				at += from
			}
			return at
		}
		from += at + 1
	}
}

// isEscaped reports whether an odd number of backslashes ends a text, so that what follows is no end.
func isEscaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// cutQuotes cuts off a field in quotes, in which a doubled quote is one.
func cutQuotes(rest, end []byte) (text, after []byte, ok bool) {
	inside := rest[1:]
	for from := 0; ; from++ {
		at := bytes.IndexByte(inside[from:], '"')
		if at < 0 {
			return nil, rest, false
		}
		from += at
		behind := inside[from+1:]
		switch {
		case end == nil && len(behind) == 0, end != nil && bytes.HasPrefix(behind, end):
			return inside[:from], behind[len(end):], true
		case len(behind) > 0 && behind[0] == '"':
			from++
		}
	}
}
