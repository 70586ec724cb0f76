package datasets

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var clincFormat = source.Format{
	Name: "clinc",
	Options: []params.Param{
		{Name: "split", Default: "all", Choices: []string{"all", "train", "val", "test"}, Doc: "which queries to use"},
		{Name: "oos", Default: "own", Choices: []string{"own", "drop"},
			Doc: "queries out of scope. own: keep them, each with an answer of its own. drop: leave them out"},
		{Name: "requests", Default: 0, Min: 0, Doc: "number of requests; 0: as many as there are queries"},
		{Name: "alpha", Default: 0.0, Min: 0, Max: 10, Doc: "Zipf exponent of the popularity of intents; 0: every query is " +
			"asked once before any is repeated"},
		{Name: "episode", Default: 1.0, Min: 1, Max: 1e6, Doc: "mean number of requests in a row for one intent " +
			"(geometric), which are a session; 1: no episodes"},
		{Name: "seed", Default: 0, Min: 0, Doc: "seed of all random choices"},
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		key, label, ok := firstPair(head)
		return ok && clincSplits[string(key)] != "" && !slices.Contains(shiftLabels, string(label))
	}),
	Open: openCLINC,
}

// clincSplits says which split a part of the file belongs to.
var clincSplits = map[string]string{
	"train": "train", "val": "val", "test": "test", "oos_train": "train", "oos_val": "val", "oos_test": "test",
}

// outOfScope is the intent of queries that have none of the known ones.
const outOfScope = "oos"

// Purposes of the random bits of a stream of intents.
const (
	clincOrderBits = iota + 1
	clincIntentBits
	clincEpisodeBits
)

// openCLINC reads the whole file: it needs memory for the text and 60 bytes per query.
func openCLINC(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	src.Reading.Request = "queries in a generated order"
	file := src.NextNumber()
	r := &clincReader{split: opts.Text("split"), dropOOS: opts.Text("oos") == "drop", numbers: map[string]int{}}
	err := src.ScanObject("file of queries with intents", func(key []byte, s *source.JSONScanner) error {
		split := clincSplits[string(key)]
		if split == "" || r.split != "all" && r.split != split {
			return s.Skip()
		}
		return s.Array(func() error { return r.read(s) })
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	if len(r.intents) == 0 {
		return nil, stream.Fields{}, src.Errorf("holds no queries of the split %s", r.split)
	}
	return openQueries(newIntentStream(r.intents, file, opts).next)
}

// clincReader collects the queries of a file by intent.
type clincReader struct {
	split   string
	dropOOS bool
	numbers map[string]int // of intents, in order of first appearance
	intents []intent
}

type intent struct {
	name    []byte
	queries [][]byte // in the order in which they are asked
	asked   int      // repeatedly
	ahead   int      // asked ahead of their turn in this round, for an episode
}

func (r *clincReader) read(s *source.JSONScanner) error {
	text, label, err := readPair(s)
	if err != nil || r.dropOOS && string(label) == outOfScope {
		return err
	}
	n, ok := r.numbers[string(label)]
	if !ok {
		n = len(r.intents)
		r.numbers[string(label)] = n
		r.intents = append(r.intents, intent{name: label})
	}
	r.intents[n].queries = append(r.intents[n].queries, text)
	return nil
}

// intentStream generates requests for the queries of intents.
type intentStream struct {
	intents      []intent
	turns        []int32     // the intents in the order of a round, each as often as it has queries; nil with popularity
	turn         int         // in the round
	popularity   random.Zipf // of the intents; nil without
	requests     int         // left
	meanEpisode  float64
	file         int
	session      []byte // of the episode; nil without
	episodes     int    // begun
	current      int    // intent of the episode
	left         int    // requests left in the episode
	intentBits   *rand.PCG
	episodesBits *rand.PCG
}

// newIntentStream gives intents and the queries of each a random order.
func newIntentStream(intents []intent, file int, opts params.Values) *intentStream {
	seed := uint64(opts.Int("seed"))
	s := &intentStream{
		intents: intents, file: file, requests: opts.Int("requests"), meanEpisode: opts.Float("episode"),
		intentBits: random.Stream(seed, clincIntentBits), episodesBits: random.Stream(seed, clincEpisodeBits),
	}
	order := random.Stream(seed, clincOrderBits)
	random.Shuffle(order, intents)
	for i := range intents {
		random.Shuffle(order, intents[i].queries)
		for range intents[i].queries {
			s.turns = append(s.turns, int32(i))
		}
	}
	random.Shuffle(order, s.turns)
	if s.requests == 0 {
		s.requests = len(s.turns)
	}
	if alpha := opts.Float("alpha"); alpha > 0 {
		s.popularity, s.turns = random.NewZipf(len(intents), alpha), nil
	}
	return s
}

func (s *intentStream) next() (dialogueQuery, bool) {
	if s.requests == 0 {
		return dialogueQuery{}, false
	}
	s.requests--
	if s.left == 0 {
		s.begin()
	}
	s.left--
	in := &s.intents[s.current]
	text := in.queries[in.asked%len(in.queries)]
	in.asked++
	answer := in.name
	if string(answer) == outOfScope {
		answer = append([]byte(outOfScope+": "), text...)
	}
	return dialogueQuery{text: text, session: s.session, topic: in.name, answer: answer}, true
}

func (s *intentStream) begin() {
	s.left = 1
	if s.meanEpisode > 1 {
		s.left = random.Geometric(s.episodesBits, s.meanEpisode)
		s.session = scopedName(s.file, strconv.AppendInt(nil, int64(s.episodes), 10))
		s.episodes++
	}
	if s.popularity != nil {
		s.current = s.popularity.Draw(s.intentBits)
		return
	}
	s.takeTurn()
	in := &s.intents[s.current]
	// An episode asks only queries that are new in this round, and uses up the later turns of its intent: each query is
	// still asked once per round.
	s.left = min(s.left, len(in.queries)-in.asked%len(in.queries))
	in.ahead += s.left - 1
}

// takeTurn moves to the next intent. It skips turns that were already taken for an episode.
func (s *intentStream) takeTurn() {
	for {
		if s.turn == len(s.turns) {
			s.turn = 0
		}
		s.current = int(s.turns[s.turn])
		s.turn++
		in := &s.intents[s.current]
		if in.ahead == 0 {
			return
		}
		in.ahead--
	}
}
