package tracestat

import (
	"fmt"
	"path"
	"slices"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// RecommenderSummary describes requests for recommendations.
type RecommenderSummary struct {
	Requests int64 `json:"requests"`
	Users    int64 `json:"users"` // with requests
	// Active are the users that could make requests; nil if the requests were not generated.
	Active       *int64  `json:"active_users"`
	HotUsers     int64   `json:"hot_users"` // with at least one request as a hot user
	HotShare     float64 `json:"hot_share"` // share of the requests that are of hot users
	Shards       int64   `json:"shards"`    // numbered, read or not
	Touched      int64   `json:"shards_read"`
	ShardRows    int64   `json:"rows_per_shard"`
	ProfileShare float64 `json:"profile_share"` // share of the rows read that are in the user's profile

	Tokens     *Distribution `json:"tokens_per_request"`
	Rows       *Distribution `json:"rows_per_request"`
	ShardsRead *Distribution `json:"shards_per_request"`
}

func summarizeRecommender(t *traces.Trace, c *recommender.Columns) *RecommenderSummary {
	s := &RecommenderSummary{Requests: int64(len(c.Users)), Users: int64(t.NumObjects), Shards: int64(c.Shards),
		ShardRows: int64(c.ShardRows)}
	if p := c.Population; p != nil {
		s.Active = new(int64(p.Users) * int64(p.Nodes))
	}
	touched, once := make([]bool, c.Shards), make([]bool, t.NumObjects)
	tokens, rows, shards := &histogram{}, &histogram{}, &histogram{}
	hot, read, inProfile := 0, 0.0, 0.0
	every := max(1, len(c.Users)/profiled)
	var lookups []recommender.Lookup
	for i, user := range c.Users {
		lookups = c.Lookups(i, lookups[:0])
		sum := int64(0)
		for _, l := range lookups {
			touched[l.Shard] = true
			sum += int64(l.Rows)
		}
		tokens.add(int64(c.Tokens[i]), 1)
		rows.add(sum, 1)
		shards.add(int64(len(lookups)), 1)
		if c.Hot(i) {
			hot++
			once[user] = true
		}
		if i%every == 0 {
			read += float64(sum)
			inProfile += rowsOf(lookups, c.Profile(user))
		}
	}
	for _, hot := range once {
		if hot {
			s.HotUsers++
		}
	}
	for _, t := range touched {
		if t {
			s.Touched++
		}
	}
	s.HotShare, s.ProfileShare = float64(hot)/float64(len(c.Users)), inProfile/read
	s.Tokens, s.Rows, s.ShardsRead = tokens.distribution(1), rows.distribution(1), shards.distribution(1)
	return s
}

// profiled is how many requests, evenly spread, are compared with profiles.
const profiled = 10_000

// rowsOf returns how many of the rows read are in a profile.
func rowsOf(lookups []recommender.Lookup, profile []uint32) (rows float64) {
	for _, l := range lookups {
		if slices.Contains(profile, l.Shard) {
			rows += float64(l.Rows)
		}
	}
	return rows
}

func (s *RecommenderSummary) rows() []row {
	users := show.Count(s.Users)
	if s.Active != nil {
		users += fmt.Sprintf(" (of %s active)", show.Count(*s.Active))
	}
	return []row{
		{"users", users},
		{"hot users", fmt.Sprintf("%s (%s of the requests)", show.Count(s.HotUsers), show.Share(s.HotShare))},
		{"shards read", fmt.Sprintf("%s of %s, of %s rows each", show.Count(s.Touched), show.Count(s.Shards),
			show.Count(s.ShardRows))},
		{"profiles", fmt.Sprintf("the %d shards that a user reads most have %s of the rows", recommender.ProfileShards,
			show.Share(s.ProfileShare))},
	}
}

func (s *RecommenderSummary) distributions() []namedDistribution {
	return []namedDistribution{{"tokens_per_request", "tokens per request", s.Tokens, number},
		{"rows_per_request", "rows per request", s.Rows, number},
		{"shards_per_request", "shards per request", s.ShardsRead, number}}
}

// QuerySummary describes the queries of a trace. Pointers are nil if the trace does not have the data.
type QuerySummary struct {
	Queries    int64  `json:"queries"`
	Distinct   int64  `json:"distinct"` // ids
	Texts      *int64 `json:"texts"`    // distinct texts
	Topics     *int64 `json:"topics"`
	Sessions   *int64 `json:"sessions"`
	Answers    *int64 `json:"answers"`    // labels of right answers
	Labelled   *int64 `json:"labelled"`   // distinct queries with such a label
	Dimension  *int64 `json:"dimension"`  // numbers in an embedding
	Embeddings string `json:"embeddings"` // where they come from; "" without any

	Turns *Distribution `json:"queries_per_session"`
}

func summarizeQueries(t *traces.Trace, q *queries.Columns) *QuerySummary {
	s := &QuerySummary{
		Queries: int64(len(t.Objects)), Distinct: int64(t.NumObjects), Embeddings: q.Embeddings,
		Topics: known(q.NumTopics), Sessions: known(q.NumSessions), Answers: known(q.NumAnswers), Dimension: known(q.Dim),
	}
	if q.Texts != nil {
		distinct := map[string]bool{}
		for _, text := range q.Texts {
			if text != "" {
				distinct[text] = true
			}
		}
		s.Texts = known(len(distinct))
	}
	if q.Answers != nil {
		labelled := 0
		for _, answer := range q.Answers {
			if answer >= 0 {
				labelled++
			}
		}
		s.Labelled = known(labelled)
	}
	if q.Sessions != nil {
		s.Turns = turnsOf(q.Sessions, q.NumSessions)
	}
	return s
}

// known returns a count, or nil for 0, which means unknown.
func known(n int) *int64 {
	if n == 0 {
		return nil
	}
	return new(int64(n))
}

func turnsOf(sessions []int32, n int) *Distribution {
	counts := make([]int64, n)
	for _, session := range sessions {
		if session >= 0 {
			counts[session]++
		}
	}
	turns := &histogram{}
	for _, n := range counts {
		if n > 0 {
			turns.add(n, 1)
		}
	}
	return turns.distribution(1)
}

func (s *QuerySummary) rows() []row {
	rows := []row{{"queries", fmt.Sprintf("%s (%s distinct)", show.Count(s.Queries), show.Count(s.Distinct))}}
	for _, c := range []struct {
		name  string
		count *int64
	}{{"distinct texts", s.Texts}, {"topics", s.Topics}, {"sessions", s.Sessions}} {
		if c.count != nil {
			rows = append(rows, row{c.name, show.Count(*c.count)})
		}
	}
	if s.Answers != nil {
		rows = append(rows, row{"answer labels", fmt.Sprintf("%s (of %s distinct queries)", show.Count(*s.Answers),
			show.Count(*s.Labelled))})
	}
	if s.Dimension != nil {
		rows = append(rows, row{"embeddings", fmt.Sprintf("%s numbers each (%s)", show.Count(*s.Dimension), s.Embeddings)})
	}
	return rows
}

func (s *QuerySummary) distributions() []namedDistribution {
	return []namedDistribution{{"queries_per_session", "queries per session", s.Turns, number}}
}

// ReadSummary describes reads of files.
type ReadSummary struct {
	Reads       int64  `json:"reads"`
	Late        int64  `json:"late"`        // reads with an earlier time than the previous read
	Cut         int64  `json:"cut"`         // reads that were cut at the end of their file
	Jobs        *int64 `json:"jobs"`        // nil if they are not known
	Files       int64  `json:"files"`       // that are read
	Directories int64  `json:"directories"` // that hold these files
	Listed      *int64 `json:"listed"`      // files of the data set, read or not; nil without a listing
	Unlisted    int64  `json:"unlisted"`    // files that are read and not in the listing

	Lengths *Distribution `json:"bytes_per_read"`
	Sizes   *Distribution `json:"bytes_per_file"` // of files that are read, to the end of what is read if not known
}

func summarizeReads(t *traces.Trace, c *files.Columns) *ReadSummary {
	s := &ReadSummary{Reads: int64(len(c.Offsets)), Late: int64(c.Late), Cut: t.ReadsCut(), Jobs: known(len(c.JobNames)),
		Files: int64(c.Read), Unlisted: int64(c.Unlisted)}
	directories := map[string]bool{}
	lengths, sizes := &histogram{}, &histogram{}
	for file, name := range c.Paths[:c.Read] {
		directories[path.Dir(name)] = true
		sizes.add(c.Sizes[file], 1)
	}
	for _, length := range c.Lengths {
		lengths.add(length, 1)
	}
	s.Directories = int64(len(directories))
	if c.Listed {
		s.Listed = known(len(c.Paths) - c.Unlisted)
	}
	s.Lengths, s.Sizes = lengths.distribution(1), sizes.distribution(1)
	return s
}

func (s *ReadSummary) rows() []row {
	rows := []row{{"reads", show.Count(s.Reads)},
		{"files", show.Count(s.Files)},
		{"directories", show.Count(s.Directories)}}
	if s.Listed != nil {
		text := show.Count(*s.Listed) + " files listed"
		if s.Unlisted > 0 {
			text += fmt.Sprintf(", without %s that are read", show.Count(s.Unlisted))
		}
		rows = append(rows, row{"data set", text})
	}
	if s.Jobs != nil {
		rows = append(rows, row{"jobs", show.Count(*s.Jobs)})
	}
	for _, c := range []struct {
		name  string
		count int64
	}{{"reads cut at the end of a file", s.Cut}, {"reads earlier than the previous", s.Late}} {
		if c.count > 0 {
			rows = append(rows, row{c.name, show.Count(c.count)})
		}
	}
	return rows
}

func (s *ReadSummary) distributions() []namedDistribution {
	return []namedDistribution{{"bytes_per_read", "bytes per read", s.Lengths, writeBytes},
		{"bytes_per_file", "bytes per file", s.Sizes, writeBytes}}
}
