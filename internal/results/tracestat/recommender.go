package tracestat

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
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

// summarizeRecommender describes the requests of t.
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
