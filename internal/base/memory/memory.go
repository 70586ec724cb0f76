// Package memory keeps the program within its memory limit. A Budget is the limit; code that is about to use much
// memory asks it first, and Watch ends the program before it exceeds the limit.
package memory

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Budget is the amount of memory that the program may use. A nil Budget has no limit.
type Budget struct {
	total  int64
	origin string // the reason for the limit
	used   func() int64
	advice atomic.Pointer[string] // what would reduce the need of this run in particular
}

// Advise adds what would reduce the need of a run, for the error if it exceeds the budget.
func (b *Budget) Advise(help string) {
	if b != nil {
		b.advice.Store(&help)
	}
}

// DefaultShare is the share of the available memory that the program uses by default.
const DefaultShare = 0.75

// Available returns the available memory, in bytes: the machine's, or less if a control group or the shell sets a
// limit. limit names the lowest, which applies.
func Available() (bytes int64, limit string) {
	bytes, limit = math.MaxInt64, "no known limit"
	take := func(n uint64, err error, what string) {
		if err == nil && n > 0 && n < uint64(bytes) {
			bytes, limit = int64(n), what
		}
	}
	system, err := memlimit.FromSystem()
	take(system, err, "of this machine")
	group, err := memlimit.FromCgroup()
	take(group, err, "of its control group")
	if space, ok := addressSpace(); ok {
		take(space, nil, "that ulimit -v leaves")
	}
	return bytes, limit
}

// New returns a budget of the given number of bytes. It is an error if less is available.
func New(bytes int64, origin string) (*Budget, error) {
	if available, limit := Available(); bytes > available {
		return nil, fmt.Errorf("%s: there are %s %s, want at most that", origin, Bytes(available), limit)
	}
	return &Budget{total: bytes, origin: origin, used: newGauge()}, nil
}

// Share returns a budget of a share of what is available.
func Share(share float64, origin string) *Budget {
	available, limit := Available()
	return &Budget{
		total: int64(share * float64(available)), used: newGauge(),
		origin: cmp.Or(origin, "three quarters") + " of the " + Bytes(available) + " " + limit,
	}
}

// Default returns the budget of a program without --memory.
func Default() *Budget { return Share(DefaultShare, "") }

// Fixed returns a budget with a fixed number of bytes in use. It is for tests.
func Fixed(total, used int64) *Budget {
	return &Budget{total: total, origin: "for a test", used: func() int64 { return used }}
}

// Total returns the budget in bytes.
func (b *Budget) Total() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.total
}

// Left returns how much of the budget is unused now.
func (b *Budget) Left() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.total - b.used()
}

// Part returns a share of the budget, limited to a number of bytes: what one of several users of memory may use.
func (b *Budget) Part(share float64, most int64) int64 {
	if b == nil {
		return most
	}
	return min(most, int64(share*float64(b.total)))
}

// Granted reports whether a part that fits into the budget gets its memory. Only tests set it.
var Granted = func(what string) bool { return true }

// Need returns an error if fewer bytes are left. what names the part that needs them, help says how to need less.
func (b *Budget) Need(bytes int64, what string, help ...string) error {
	if b == nil || bytes <= b.Left() && Granted(what) {
		return nil
	}
	return b.Refuse(bytes, what, help...)
}

// Refuse returns the error for a part, named what, that needs more bytes than are left.
func (b *Budget) Refuse(bytes int64, what string, help ...string) error {
	return &Error{What: what, Need: bytes, Left: max(0, b.Left()), Total: b.Total(), Origin: b.origin, Help: help}
}

// Error says that something does not fit into the budget.
type Error struct {
	What              string // "trace.zst: about 3.1 G requests"
	Need, Left, Total int64  // Need is 0 if unknown
	Origin            string
	Help              []string // what would reduce the need
}

func (e *Error) Error() string {
	s := "out of memory: " + e.What
	if e.Need > 0 {
		s += fmt.Sprintf(" would take about %s", Bytes(e.Need))
		if e.Left < e.Total {
			s += fmt.Sprintf(", and %s are left", Bytes(e.Left))
		}
	}
	// Without spare capacity append copies, and Help stays the caller's.
	help := append(e.Help[:len(e.Help):len(e.Help)], "a larger --memory")
	return fmt.Sprintf("%s; the budget is %s (%s); what would help: %s", s, Bytes(e.Total), e.Origin,
		strings.Join(help, ", "))
}

// Count formats a large number with three digits.
func Count(n float64) string {
	units := []string{"", " thousand", " million", " billion"}
	i := 0
	for ; n >= 1000 && i+1 < len(units); i++ {
		n /= 1000
	}
	return fmt.Sprintf("%.3g%s", n, units[i])
}

// Bytes formats a number of bytes in the largest unit that it fills.
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, i := float64(n), 0
	for ; value >= 1024 && i+1 < len(units); i++ {
		value /= 1024
	}
	if i == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[i])
	}
	return fmt.Sprintf("%.1f %s", value, units[i])
}
