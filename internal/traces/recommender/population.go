package recommender

import (
	"errors"
	"fmt"
)

// Population describes who requests what from one node. It is the part of the users that the node serves.
type Population struct {
	Nodes     int     // of the cluster; the tables are spread over its hosts
	Users     int     // active users of this node
	HotUsers  float64 // share of the users that are hot: those with the most requests
	UserAlpha float64 // Zipf exponent of the requests of users, within each of the two classes
	// Lengths of the sequences in tokens, spread evenly over the users. A user's stays the same.
	MinTokens, MaxTokens int

	Tables     int     // every token of a sequence is looked up in each
	TurnTables int     // instead, in requests of the other turn; 0: there is none
	Shards     int     // of all tables
	ShardRows  int     // rows of a shard, the unit in which embeddings are cached
	ShardAlpha float64 // Zipf exponent of the shards
	OwnShards  int     // shards that a user owns, drawn once, with replacement, from the popularity of the shards
	OwnShare   float64 // share of a user's draws from its own shards, all equally likely; the rest are from all shards
	// Users are in groups, whatever their ranks and nodes. A group has CommonShards times as many shards in common as a
	// user owns, drawn as those are, and this share of a user's own shards is drawn from them.
	SharedShare float64
	Groups      int // of the users of all nodes

	Layers int // of the model that the rate of the requests is meant for; 0: unknown
}

// DefaultPopulation returns one node of four with the users of Amazon Books, as docs/generators.md derives it: 5 TB of
// tables are 2.4e9 rows of 2 KiB.
func DefaultPopulation() Population {
	return Population{Nodes: 4, Users: 30600, HotUsers: 0.05, UserAlpha: 0.6, MinTokens: 5000, MaxTokens: 15000,
		Tables: 10, Shards: 2_343_750, ShardRows: 1024, ShardAlpha: 0.9, OwnShards: 64, OwnShare: 0.96,
		Groups: 1000}
}

// CommonShards is how many shards a group has in common for each one that a user owns.
const CommonShards = 4

// mostGroups bounds the groups of users.
const mostGroups = 1 << 20

// Check rejects a population that cannot be drawn from.
func (p Population) Check() error {
	switch {
	case p.Nodes < 1:
		return fmt.Errorf("%d nodes; want at least 1", p.Nodes)
	case p.Users < 1:
		return fmt.Errorf("%d users of a node; want at least 1", p.Users)
	case !(p.HotUsers > 0 && p.HotUsers < 1):
		return fmt.Errorf("%v of the users are hot; want a share above 0 and below 1", p.HotUsers)
	case !(p.UserAlpha >= 0 && p.UserAlpha <= 10) || !(p.ShardAlpha >= 0 && p.ShardAlpha <= 10):
		return errors.New("exponents of users and shards are from 0 to 10")
	case p.MinTokens < 1 || p.MaxTokens < p.MinTokens || p.MaxTokens > 1<<24:
		return fmt.Errorf("sequences of %d to %d tokens; want 1 to 2^24, the shorter ones first", p.MinTokens,
			p.MaxTokens)
	case p.Tables < 1 || p.Tables > 1<<16 || p.ShardRows < 1 || p.ShardRows > 1<<24:
		return fmt.Errorf("%d tables in shards of %d rows; want at least 1 of each", p.Tables, p.ShardRows)
	case p.TurnTables < 0 || p.TurnTables > 1<<16:
		return fmt.Errorf("%d tables in the other turn; want 0 to 65536", p.TurnTables)
	case p.Shards < 1 || p.OwnShards < 1 || p.OwnShards > 1<<16:
		return fmt.Errorf("%d shards, of which a user owns %d; want at least 1, and at most 65536 owned", p.Shards,
			p.OwnShards)
	case !(p.SharedShare >= 0 && p.SharedShare <= 1) || p.Groups < 1 || p.Groups > mostGroups:
		return fmt.Errorf("a share of %v of the own shards is from what each of %d groups has in common; want 0 to 1, and "+
			"1 to %d groups", p.SharedShare, p.Groups, mostGroups)
	case !(p.OwnShare >= 0 && p.OwnShare <= 1):
		return fmt.Errorf("a share of %v of the draws is of own shards; want 0 to 1", p.OwnShare)
	}
	return nil
}

// Hot returns the number of hot users. At least one user is hot, and at least one of several is not.
func (p Population) Hot() int {
	return max(1, min(p.Users-1, int(float64(float64(p.Users)*p.HotUsers)+0.5)))
}

// Turned returns the population as it is in the other turn, if there is one.
func (p Population) Turned() Population {
	if p.TurnTables > 0 {
		p.Tables, p.TurnTables = p.TurnTables, 0
	}
	return p
}

// Draws returns how many shards a request of a sequence draws: each draw stands for the lookups of ShardRows rows. The
// number is rounded, and at least 1.
func (p Population) Draws(tokens int) int {
	return max(1, (tokens*p.Tables+p.ShardRows/2)/p.ShardRows)
}
