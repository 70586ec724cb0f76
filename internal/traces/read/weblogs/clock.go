package weblogs

import (
	"fmt"

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
