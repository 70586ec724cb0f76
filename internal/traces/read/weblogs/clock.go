package weblogs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// clock reads points in time. It remembers the last one, since a busy server writes many lines in a second.
type clock struct {
	text [maxStamp]byte
	n    int // bytes of text
	ns   int64
	room [2 * maxStamp]byte // for a time that is put together
}

// maxStamp is longer than dates are.
const maxStamp = 40

// read returns a date with a time of the day as nanoseconds since 1970.
func (c *clock) read(text []byte) (int64, error) {
	if c.n > 0 && string(text) == string(c.text[:c.n]) {
		return c.ns, nil
	}
	ns, ok := source.ParseDate(text)
	if !ok {
		return 0, fmt.Errorf("time %.40q: want one such as 10/Oct/2000:13:55:36 -0700 or 2000-10-10T13:55:36-07:00", text)
	}
	if len(text) <= maxStamp {
		c.n, c.ns = copy(c.text[:], text), ns
	}
	return ns, nil
}

// moment is a time with its parts in several places of a line. Parts that it does not have are nil and 0.
type moment struct {
	date, timeOfDay []byte // 2000-10-10 and 13:55:36

	written [len("2000-10-10T13:55:36")]byte // put together by strftime, instead of date and timeOfDay
	zone    []byte                           // -0700
}

// read puts the parts of m together.
func (m *moment) read(c *clock) (int64, error) {
	text := c.room[:0]
	if m.written[0] != 0 {
		if text = append(text, m.written[:]...); len(m.zone) > 0 {
			text = append(append(text, ' '), m.zone...)
		}
		return c.read(text)
	}
	if len(m.date)+len(m.timeOfDay) > maxStamp {
		return 0, fmt.Errorf("date %.20q and time %.20q: want 2000-10-10 and 13:55:36", m.date, m.timeOfDay)
	}
	return c.read(append(append(append(text, m.date...), 'T'), m.timeOfDay...))
}

// strftime reads times as Apache writes them for %{FORMAT}t, which has the directives of the function of C.
type strftime struct {
	steps []strftimeStep
}

// strftimeStep is a literal byte, or a directive.
type strftimeStep struct {
	directive byte // 0: a literal
	literal   byte
}

// strftimeShort writes out directives that stand for several others.
var strftimeShort = strings.NewReplacer("%%", "%%", "%T", "%H:%M:%S", "%F", "%Y-%m-%d", "%D", "%m/%d/%y", "%R", "%H:%M",
	"%h", "%b")

// strftimeDirectives can be read.
const strftimeDirectives = "YymdeBbHMSzZ"

func newStrftime(format string) (*strftime, error) {
	s := new(strftime)
	expanded := strftimeShort.Replace(format)
	for i := 0; i < len(expanded); i++ {
		c := expanded[i]
		if c != '%' {
			s.steps = append(s.steps, strftimeStep{literal: c})
			continue
		}
		if i++; i == len(expanded) {
			return nil, fmt.Errorf("%%{%s}t ends with %%", format)
		}
		switch c = expanded[i]; {
		case c == '%':
			s.steps = append(s.steps, strftimeStep{literal: c})
		case strings.IndexByte(strftimeDirectives, c) >= 0:
			s.steps = append(s.steps, strftimeStep{directive: c})
		default:
			return nil, fmt.Errorf("%%{%s}t: cannot read %%%c; known are %%Y %%y %%m %%b %%d %%e %%F %%H %%M %%S %%T %%R "+
				"%%z and %%Z", format, c)
		}
	}
	return s, nil
}

func (s *strftime) has(directives string) bool {
	return slices.ContainsFunc(s.steps, func(step strftimeStep) bool {
		return step.directive != 0 && strings.IndexByte(directives, step.directive) >= 0
	})
}

func (s *strftime) field() field {
	date := s.has("Yy") && s.has("mbB") && s.has("de")
	switch {
	case date && s.has("H"):
		return formattedTime
	case date:
		return formattedDate
	case s.has("H"):
		return formattedClock
	case s.has("z"):
		return formattedZone
	}
	return ignored
}

// read puts what the beginning of a text says into a moment, and returns the rest.
func (s *strftime) read(text []byte, m *moment) (rest []byte, err error) {
	if m.written[0] == 0 {
		copy(m.written[:], "2000-00-00T00:00:00")
	}
	rest = text
	ok := true
	for _, step := range s.steps {
		if step.directive != 0 {
			rest, ok = m.take(step.directive, rest)
		} else if ok = len(rest) > 0 && rest[0] == step.literal; ok {
			rest = rest[1:]
		}
		if !ok {
			break
		}
	}
	if !ok {
		return nil, fmt.Errorf("time %.40q: want what the format says", text)
	}
	return rest, nil
}

// places are where the numbers of directives are in the text of a moment.
var places = map[byte]struct{ at, width int }{'Y': {0, 4}, 'y': {2, 2}, 'm': {5, 2}, 'd': {8, 2}, 'e': {8, 2},
	'H': {11, 2}, 'M': {14, 2}, 'S': {17, 2}}

// take reads what a directive stands for at the beginning of a text, and returns the rest.
func (m *moment) take(directive byte, text []byte) (rest []byte, ok bool) {
	end := 0
	switch directive {
	case 'b', 'B':
		month, rest, ok := takeMonth(text)
		m.written[5], m.written[6] = '0'+byte(month/10), '0'+byte(month%10)
		return rest, ok
	case 'z', 'Z':
		for end < len(text) && end < maxStamp/2 && text[end] != ' ' && text[end] != ']' {
			end++
		}
		if directive == 'z' { // the name of a zone, such as CST, may be that of several
			m.zone = text[:end]
		}
		return text[end:], end > 0
	}
	place := places[directive]
	if len(text) > 0 && text[0] == ' ' { // for a zero
		text, place.at, place.width = text[1:], place.at+1, place.width-1
	}
	for end < len(text) && end < place.width && text[end]-'0' <= 9 {
		end++
	}
	copy(m.written[place.at+place.width-end:], text[:end])
	return text[end:], end > 0
}

// takeMonth reads the name of a month, of which the first three letters count.
func takeMonth(text []byte) (month int, rest []byte, ok bool) {
	const names, letters = "JanFebMarAprMayJunJulAugSepOctNovDec", 3
	if len(text) < letters {
		return 0, text, false
	}
	at := strings.Index(names, string(text[:letters]))
	end := letters
	for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
		end++
	}
	return at/letters + 1, text[end:], at >= 0 && at%letters == 0
}
