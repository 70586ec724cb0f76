// Package memory keeps the program within the memory that it may use.
// A Budget says how much that is; whoever is about to take much asks it first, and Watch ends the program before it
// takes more.
package memory

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/cachesim/cachesim/internal/faults"
)

// Budget is how much memory the program may use. A nil Budget has no bound.
type Budget struct {
	total  int64
	origin string // why it is that much
	used   func() int64
}

// DefaultShare is the part of what there is that the program takes without being told.
const DefaultShare = 0.75

// Available returns how much memory there is, in bytes: that of the machine or less, where a control group or the shell
// sets a limit. limit says which of them it is.
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

// New returns a budget of so many bytes. It is an error if there is not that much.
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

// Default returns the budget of a program that is told none.
func Default() *Budget { return Share(DefaultShare, "") }

// Fixed returns a budget of so many bytes of which so many are always taken. It is for tests.
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

// Left returns how much of the budget is not taken now.
func (b *Budget) Left() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.total - b.used()
}

// Part returns a share of the budget, and at most so many bytes: what one of several users of memory may take.
func (b *Budget) Part(share float64, most int64) int64 {
	if b == nil {
		return most
	}
	return min(most, int64(share*float64(b.total)))
}

// Need refuses bytes that are not left. what names who needs them, help says what would make it less.
func (b *Budget) Need(bytes int64, what string, help ...string) error {
	if b == nil || bytes <= b.Left() && faults.At(faults.Allocate, what) == nil {
		return nil
	}
	return b.Refuse(bytes, what, help...)
}

// Refuse returns the error that what needs more bytes than are left.
func (b *Budget) Refuse(bytes int64, what string, help ...string) error {
	return &Error{What: what, Need: bytes, Left: max(0, b.Left()), Total: b.Total(), Origin: b.origin, Help: help}
}

// Error says that something does not fit into the budget.
type Error struct {
	What              string // "trace.zst: about 3.1 G requests"
	Need, Left, Total int64  // Need is 0 where it is not known
	Origin            string
	Help              []string // what would make the need smaller
}

func (e *Error) Error() string {
	s := "out of memory: " + e.What
	if e.Need > 0 {
		s += fmt.Sprintf(" would take about %s", Bytes(e.Need))
		if e.Left < e.Total {
			s += fmt.Sprintf(", and %s are left", Bytes(e.Left))
		}
	}
	help := append(e.Help[:len(e.Help):len(e.Help)], "a larger --memory")
	return fmt.Sprintf("%s; the budget is %s (%s); what would help: %s", s, Bytes(e.Total), e.Origin,
		strings.Join(help, ", "))
}

// Count writes a large number with three digits.
func Count(n float64) string {
	units := []string{"", " thousand", " million", " billion"}
	i := 0
	for ; n >= 1000 && i+1 < len(units); i++ {
		n /= 1000
	}
	return fmt.Sprintf("%.3g%s", n, units[i])
}

// Bytes writes a number of bytes in the largest unit that it fills.
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
