package promptlogs

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var agentFormat = source.Format{
	Name: "agent",
	Options: []params.Param{
		{Name: "arrivals", Default: "poisson", Choices: []string{"poisson", "even", "none"}, Doc: "when the sessions " +
			"start, in the order of the files: at random with exponential gaps, at equal gaps, or all at 0"},
		{Name: "rate", Default: 0.02, Min: 0.001, Max: 1e6, Doc: "sessions that start per second"},
		{Name: "seed", Default: 0, Min: 0, Doc: "seed of the random starts"},
		{Name: "max-gap", Default: 300.0, Min: 0, Max: 1e9, Doc: "longest time between two requests of a session in " +
			"seconds; longer ones are shortened; 0: no limit"},
		shareParam(),
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "block_size", "requests", "hash_ids")
	}),
	Open: openAgent,
}

// agentReader reads the requests of a session. The whole text was checked when it was opened. It implements
// promptSource.
type agentReader struct {
	src         *source.Source
	scanner     source.JSONScanner // after a request
	begun       bool
	blockTokens int
	session     uint64
	scope       uint64 // of the ids
	now         int64  // of the last request, on the clock of the trace
	stated      int64  // the same on the clock of the file
	maxGap      int64  // 0: none
	opts        params.Values
	served      served        // what serves the request that is being read
	usage       prompts.Usage // what its server counted in it
}

func openAgent(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	number := src.NextNumber()
	a := &agentReader{
		src: src, scope: scopeOf(number), maxGap: int64(opts.Float("max-gap") * 1e9),
		opts: opts, now: sessionStart(opts.Text("arrivals"), number, opts.Float("rate"), uint64(opts.Int("seed"))),
	}
	if err := a.readHead(); err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Time = "time in s from generated session starts (arrivals=" + opts.Text("arrivals") + ")"
	return opened(number, a, prompts.Kind{BlockTokens: a.blockTokens, Sessions: true}, true, nil)
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

// readHead reads the file and leaves the scanner in front of the requests, which are kept and read one by one.
func (a *agentReader) readHead() error {
	a.session = a.scope
	hasRequests := false
	err := a.src.ScanObject("session of an agent", func(key []byte, s *source.JSONScanner) (err error) {
		switch string(key) {
		case "id":
			a.session, err = s.SessionKey()
		case "block_size":
			a.blockTokens, err = readBlockTokens(s)
		case "hash_id_scope":
			err = checkLocalScope(s)
		case "requests":
			if hasRequests {
				return s.Fail("the requests only once")
			}
			hasRequests = true
			a.scanner = source.JSONScanner{Text: s.Text, At: s.At}
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
	return nil
}

func readBlockTokens(s *source.JSONScanner) (int, error) {
	n, err := readTokens(s, 1)
	if err == nil && n > maxBlockTokens {
		err = fmt.Errorf("%d tokens in a block: want at most %d", n, maxBlockTokens)
	}
	return int(n), err
}

// checkLocalScope refuses ids that are shared among files, which scopeOf would keep apart.
func checkLocalScope(s *source.JSONScanner) error {
	scope, err := s.String()
	if err == nil && !bytes.Equal(scope, []byte("local")) {
		err = fmt.Errorf("hash_id_scope %.40q: want \"local\", ids that belong to one file", scope)
	}
	return err
}

func (a *agentReader) place(err error) error {
	return a.src.OffsetErrorf(a.scanner.At+int64(a.scanner.Pos), "%w", err)
}

func (a *agentReader) next(p *prompt) error {
	s := &a.scanner
	switch {
	case a.begun:
		s.Take(',')
	case !s.Take('['):
		return a.place(s.Fail("an array of requests"))
	}
	if a.begun = true; s.Take(']') {
		s.Pos-- // so that the next call ends here, too
		return io.EOF
	}
	if err := a.request(p); err != nil {
		return a.place(err)
	}
	return nil
}

func (a *agentReader) request(p *prompt) error {
	s := &a.scanner
	stated := int64(-1)
	p.InputTokens, p.OutputTokens, p.Session = 0, -1, a.session
	a.served.reset()
	a.usage = prompts.Usage{}
	hasBlocks := false
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "t":
			stated, err = s.Time(1e9)
		case "in":
			p.InputTokens, err = readTokens(s, 1)
		case "out":
			err = readCount(s, &p.OutputTokens)
		case "hash_ids":
			hasBlocks = true
			p.blocks, err = s.IDs(p.blocks[:0])
		default:
			ok := false
			if ok, err = a.served.read(string(key), s); !ok {
				err = ReadUsage(&a.usage, key, s)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case stated < 0 || p.InputTokens == 0 || !hasBlocks:
		return fmt.Errorf("a request without t, in or hash_ids")
	case stated < a.stated:
		return fmt.Errorf("t goes back from %v to %v seconds", float64(a.stated)/1e9, float64(stated)/1e9)
	}
	a.src.Reading.NameModel(a.served.model)
	p.OutputTokens = known(p.OutputTokens, a.src.Reading)
	p.Scope, p.Measured = a.served.scope(a.opts), measured(&a.usage, p.InputTokens, a.src.Reading)
	for i, id := range p.blocks {
		p.blocks[i] = random.Scramble(id ^ a.scope)
	}
	if p.time = a.clock(stated); p.time < 0 {
		return fmt.Errorf("t %v seconds: want a session that ends before 2^63 nanoseconds", float64(stated)/1e9)
	}
	return checkBlocks(a.blockTokens, p.InputTokens, len(p.blocks))
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
