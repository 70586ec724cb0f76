package promptlogs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/source"
)

const (
	historyInRows = "included"
	historyAdded  = "added"
)

// historyParam is an option of rows with delays.
var historyParam = params.Param{
	Name: "history", Default: "auto", Choices: []string{"auto", historyInRows, historyAdded},
	Doc: "where the rows of a session have delays: whether each is a whole prompt (included), or what is new in " +
		"it, so that the rows before and their answers are added (added); auto: added if no row of the first lines " +
		"begins with the block that its session begins with",
}

// rounds are the sessions of a file whose rows come some time after the one before.
type rounds struct {
	reader   *mooncakeReader
	added    bool // the rows before and their answers belong to a prompt
	sessions map[uint64]*round
	times    map[uint64]int64 // of rows with ids, by these
}

// round is how far a session is.
type round struct {
	first  []uint64 // full blocks of its first row
	tokens int64    // of all rows and answers, if they are added
	time   int64
	known  bool // time is
}

// inRounds returns what gives the prompts: the reader itself, or if rows have delays its prompts in order.
func (r *mooncakeReader) inRounds(lines []mooncakeLine) promptSource {
	delayed := slices.ContainsFunc(lines, func(l mooncakeLine) bool { return l.has&hasDelay != 0 })
	if !delayed || r.expected&hasSession == 0 || r.chats != nil {
		return r
	}
	r.rounds = &rounds{reader: r, sessions: map[uint64]*round{}, times: map[uint64]int64{}}
	history := r.opts.Text("history")
	if history == "auto" {
		waits := slices.ContainsFunc(lines, func(l mooncakeLine) bool { return len(l.waits) > 0 })
		if history = historyInRows; !waits && beginAnew(lines) {
			history = historyAdded
		}
		r.opts["history"] = history
	}
	r.rounds.added = history == historyAdded
	layout := "rows with whole prompts"
	if r.rounds.added {
		layout = "rows with what is new in a prompt, to which the rows before and their answers are added"
	}
	r.src.Reading.Layout = layout + " (history=" + history + ")"
	if r.expected&hasTimestamp == 0 {
		r.src.Reading.Layout += ", whose delays are left out: no row has a time"
		return r
	}
	r.src.Reading.Layout += ", sorted by time"
	r.src.Reading.Time += ", estimated where rows have delays: answers take none"
	return &inOrder{src: r.src, from: r}
}

// beginAnew reports whether the later rows of sessions begin with other blocks than the first.
func beginAnew(lines []mooncakeLine) bool {
	begin := map[uint64]uint64{}
	anew := false
	for _, l := range lines {
		if len(l.blocks) == 0 {
			continue
		}
		first, ok := begin[l.Session]
		switch {
		case !ok:
			begin[l.Session] = l.blocks[0]
		case first == l.blocks[0]:
			return false
		default:
			anew = true
		}
	}
	return anew
}

// excuses reports whether a row may be without these fields: one with a delay needs no time.
func (r *rounds) excuses(line *mooncakeLine, missing mooncakeFields) bool {
	return r != nil && missing == hasTimestamp && line.has&hasDelay != 0
}

// readDependence reads the name of a row, those of the rows that it waits for, or how long tools take after these.
func (l *mooncakeLine) readDependence(key string, s *source.JSONScanner) (err error) {
	var wait int64
	switch {
	case s.Null():
	case key == "request_id":
		l.id, err = s.SessionKey()
	case key == "tool_wait_ms":
		wait, err = s.Time(int64(time.Millisecond))
		l.delay += wait
	default:
		err = s.Array(func() error {
			id, err := s.SessionKey()
			l.waits = append(l.waits, id)
			return err
		})
	}
	return err
}

// mostAdded is how many tokens the rows of a session may have together.
const mostAdded = 16 << 20

// add sets the time of a row with a delay, and adds what came before it in its session.
func (r *rounds) add(line *mooncakeLine) error {
	if r == nil {
		return nil
	}
	at := r.sessions[line.Session]
	if at == nil {
		at = &round{}
		r.sessions[line.Session] = at
	}
	if line.has&hasTimestamp == 0 && r.reader.expected&hasTimestamp != 0 {
		from, known := at.time, at.known
		for i, id := range line.waits {
			came, ok := r.times[id]
			if i == 0 {
				from, known = came, true
			}
			from, known = max(from, came), known && ok
		}
		if !known {
			return errors.New("a delay in a session that has no row with a timestamp before it, or a wait_for of no row " +
				"before it")
		}
		if line.time = from + line.delay; line.time < 0 {
			return errors.New("a time after 2^63 nanoseconds")
		}
	}
	at.time, at.known = line.time, line.has&hasTimestamp != 0 || at.known || len(line.waits) > 0
	if line.id != 0 {
		r.times[line.id] = line.time
	}
	if r.added {
		return at.lengthen(line, r.reader.blockTokens)
	}
	return nil
}

// lengthen makes a row the whole prompt. Its first blocks are those of the first row; later ones have answers within or
// before them, so that they belong to the session.
func (a *round) lengthen(line *mooncakeLine, blockTokens int) error {
	if a.tokens == 0 {
		a.first = slices.Clone(line.blocks[:min(len(line.blocks), int(line.InputTokens)/blockTokens)])
	} else {
		all := a.tokens + int64(line.InputTokens)
		if all > mostAdded {
			return fmt.Errorf("a prompt of %d tokens with the rows before it: want at most %d", all, mostAdded)
		}
		line.InputTokens = int32(all)
		line.blocks = append(line.blocks[:0], a.first...)
		for b := len(a.first); b < int(all)/blockTokens; b++ {
			own := random.Scramble(math.MaxUint64 - uint64(b))
			line.blocks = append(line.blocks, random.Scramble(line.Session^own))
		}
	}
	a.tokens = int64(line.InputTokens) + int64(max(0, line.OutputTokens))
	return nil
}
