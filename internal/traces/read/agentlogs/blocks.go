package agentlogs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// agentFormat reads sessions with the ids of their blocks, as kv-cache-tester replays them.
var agentFormat = source.Format{
	Name: "agent",
	Options: []params.Param{
		{Name: "arrivals", Default: "poisson", Choices: []string{"poisson", "even", "none"}, Doc: "when the sessions " +
			"start, in the order of the files: at random with exponential gaps, at equal gaps, or all at 0"},
		{Name: "rate", Default: 0.02, Min: 0.001, Max: 1e6, Doc: "sessions that start per second"},
		{Name: "seed", Default: 0, Min: 0, Doc: "seed of the random starts"},
		{Name: "max-gap", Default: 300.0, Min: 0, Max: 1e9, Doc: "longest time between two requests of a session in " +
			"seconds; longer ones are shortened; 0: no limit"},
		promptlogs.ShareParam(),
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "block_size", "requests", "hash_ids")
	}),
	Open: openAgent,
}

// agentReader reads the requests of a session and of its sub-agents in the order of their times. The whole text was
// checked when it was opened.
type agentReader struct {
	src         *source.Source
	scanner     source.JSONScanner
	requests    []agentRequest // that are to come
	blockTokens int
	session     uint64
	agents      int    // sub-agents that were found
	scope       uint64 // of the ids
	now         int64  // of the last request, on the clock of the trace
	stated      int64  // the same on the clock of the file
	maxGap      int64  // 0: none
	opts        params.Values
}

// agentRequest is a request of the session or of one of its sub-agents.
type agentRequest struct {
	at      int   // where it stands in the text
	stated  int64 // when it was sent on the clock of the file
	session uint64
}

func openAgent(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	number := src.NextNumber()
	a := &agentReader{
		src: src, scope: promptlogs.ScopeOf(number), maxGap: int64(opts.Float("max-gap") * 1e9),
		opts: opts, now: sessionStart(opts.Text("arrivals"), number, opts.Float("rate"), uint64(opts.Int("seed"))),
	}
	if err := a.readHead(); err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Time = "time in s from generated session starts (arrivals=" + opts.Text("arrivals") + ")"
	return promptlogs.BlockPrompts(a.next).Open(number, prompts.Kind{BlockTokens: a.blockTokens, Sessions: true}, true)
}

// sessionStart returns when the session of a file starts, in nanoseconds. It draws the gaps of all earlier files again,
// so that the start depends on the seed and the file's number alone.
func sessionStart(arrivals string, number int, rate float64, seed uint64) int64 {
	starts := 0.0 // in units of 1/rate
	switch arrivals {
	case "even":
		starts = float64(number)
	case "poisson":
		random := rand.New(rand.NewPCG(random.Scramble(seed), 0))
		for range number + 1 {
			starts += random.ExpFloat64()
		}
	}
	return int64(math.Round(starts/rate*1e6) * 1e3)
}

// readHead reads the file and finds its requests, which are kept and read one by one.
func (a *agentReader) readHead() error {
	a.session = a.scope
	hasRequests := false
	err := a.src.ScanObject("session of an agent", func(key []byte, s *source.JSONScanner) (err error) {
		switch string(key) {
		case "id":
			a.session, err = s.SessionKey()
		case "block_size":
			a.blockTokens, err = promptlogs.ReadBlockTokens(s)
		case "hash_id_scope":
			err = a.readScope(s)
		case "requests":
			if hasRequests {
				return s.Fail("the requests only once")
			}
			hasRequests = true
			a.scanner = source.JSONScanner{Text: s.Text, Pos: s.Pos, At: s.At}
			err = s.Skip()
		default:
			err = s.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !hasRequests:
		return a.src.Errorf("want an object with requests")
	case a.blockTokens == 0:
		return a.src.Errorf("want an object with a block_size")
	}
	if err := a.find(a.session); err != nil {
		return a.place(err)
	}
	if a.agents > 0 {
		a.src.Reading.Layout = stream.Counted(a.agents, "sub-agent") + ", each a session of its own with ids of this one"
	}
	slices.SortStableFunc(a.requests, func(a, b agentRequest) int { return cmp.Compare(a.stated, b.stated) })
	return nil
}

// readScope reads whether ids belong to one file, or are shared among files.
func (a *agentReader) readScope(s *source.JSONScanner) error {
	scope, err := s.OneOf("local", "global")
	if string(scope) == "global" {
		a.scope = 0
	}
	return err
}

// find finds the requests of a list, the session's or that of a sub-agent.
func (a *agentReader) find(session uint64) error {
	s := &a.scanner
	if s.Peek() != '[' {
		return s.Fail("an array of requests")
	}
	last := int64(0)
	return s.Array(func() error {
		s.Peek()
		r := agentRequest{at: s.Pos, stated: -1, session: session}
		nested := 0
		err := s.Object(func(key []byte) (err error) {
			switch string(key) {
			case "t":
				r.stated, err = s.Time(1e9)
				return err
			case "requests":
				nested = s.Pos
			}
			return s.Skip()
		})
		switch {
		case err != nil:
			return err
		case r.stated < 0:
			return errNotWhole
		case nested > 0:
			return a.findWithin(nested, r.stated)
		case r.stated < last:
			return fmt.Errorf("t goes back from %v to %v seconds", float64(last)/1e9, float64(r.stated)/1e9)
		}
		last = r.stated
		a.requests = append(a.requests, r)
		return nil
	})
}

var errNotWhole = errors.New("a request without t, in or hash_ids")

// findWithin finds the requests of a sub-agent that was started at a time; they stand at a place in the text. Some
// files count their times from that start, others as those of the session.
func (a *agentReader) findWithin(place int, start int64) error {
	s := &a.scanner
	end, first := s.Pos, len(a.requests)
	a.agents++
	s.Pos = place
	if err := a.find(random.Scramble(a.session ^ random.Scramble(uint64(a.agents)))); err != nil {
		return err
	}
	s.Pos = end
	own := a.requests[first:]
	if len(own) == 0 || own[0].stated >= start {
		return nil
	}
	for i := range own {
		if own[i].stated += start; own[i].stated < 0 {
			return errTooLate
		}
	}
	return nil
}

var errTooLate = errors.New("a request after 2^63 nanoseconds")

func (a *agentReader) place(err error) error {
	return a.src.OffsetErrorf(a.scanner.At+int64(a.scanner.Pos), "%w", err)
}

// next reads the next request.
func (a *agentReader) next(p *promptlogs.BlockPrompt) error {
	if len(a.requests) == 0 {
		return io.EOF
	}
	r := a.requests[0]
	a.requests = a.requests[1:]
	s := &a.scanner
	s.Pos = r.at
	p.Begin()
	p.Session = r.session
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "t":
			return s.Skip()
		case "in":
			return p.Input(s)
		case "out":
			return p.Output(s)
		case "hash_ids":
			return p.BlockIDs(s)
		}
		return p.Other(key, s)
	})
	if err == nil && !p.IsWhole() {
		err = errNotWhole
	}
	if err == nil {
		if at := a.clock(r.stated); at < 0 {
			err = errTooLate
		} else {
			err = p.End(at, a.blockTokens, a.scope, a.src, a.opts)
		}
	}
	if err != nil {
		return a.place(err)
	}
	return nil
}

// clock moves to a request's time in the file and returns its arrival, with the gap before it shortened to maxGap. A
// sum that overflows is negative.
func (a *agentReader) clock(stated int64) int64 {
	gap := stated - a.stated
	if a.maxGap > 0 {
		gap = min(gap, a.maxGap)
	}
	a.stated = stated
	a.now += gap
	return a.now
}
