package policies

// Holder is implemented by policies that can choose among some of the residents. Caches need that if some objects must
// not be evicted: the inner nodes of a prefix tree, or what running requests use. A cache asks for it with
// Config.Holds, from entries that make one. An object is then held from its Insert until Release, and again from Hold
// until the next Release. Victim chooses among the objects that are not held, and is called only while there is one.
// Hit is called only for objects that are held. Remove is called only for objects that are not held, if they are
// evicted along with the last victim. Positions still grow from request to request. Such a cache never loads objects
// that were not requested.
//
// Every other policy works in such caches too: see package cache.
type Holder interface {
	Policy
	// Hold marks o, which is resident and not held, as held: it must not be evicted.
	Hold(o Object)
	// Release makes o, which is held, evictable again.
	Release(o Object)
}

// GroupMisser is implemented by a Holder that needs to know which misses come together.
type GroupMisser interface {
	// MissGroup reports the objects of a group that are not resident and are about to be loaded. It is called after the
	// hits of the residents and before the first Miss. The slice stays valid until the last of its objects has been
	// inserted.
	MissGroup(objects []Object, hits int)
}

// GroupFollower is implemented by a policy that needs to know where the groups of requests begin. BeginGroup reports it
// before the first request of each; where no cache does, groups come in the order of Config.Groups.
type GroupFollower interface {
	BeginGroup(first int)
}

// PromptHolder is a Holder that follows prompts as wholes, as the engines that serve language models do. It is notified
// of a prompt's resident blocks by Begin instead of Hit. Where a whole run of blocks is evicted, it is not notified of
// those before the last, which it names.
type PromptHolder interface {
	Holder
	// Begin reports that a prompt begins. Its hits are held already; its other blocks are loaded next.
	Begin(p Prompt)
	// Split reports that the run of blocks that ends with last has been divided: its first part ends with at.
	Split(at, last Object)
	// Finish reports that a prompt has ended, before the blocks that it held are released.
	Finish(blocks []Object)
}

// Prompt is a prompt that begins.
type Prompt struct {
	Hits     []Object // its blocks that hit, from the first on
	Found    []Object // those behind them that the cache has, too, but computes again, and has not held
	First    int      // the position of its first block
	Time     int64    // nanoseconds; 0 without a clock
	Priority int32    // 0 if the trace has none
	Own      int      // how many of its blocks are its own; those behind them are its answer's
	Answered bool     // its answer has blocks
}

// PromptStore is a policy for a tier to which an engine offloads blocks of prompts. The tier has copies of blocks, and
// can evict any. It makes these calls for a prompt. At its begin, if a block is missing: Offer, Victim until there is
// room, then Miss and Insert for each missing block, from the first to the last. At its end, from the last block to the
// first: Renew for those that the prompt has loaded, and Hit for those that it has used, if they are still resident.
type PromptStore interface {
	Policy
	// Offer reports the blocks that a prompt offers to the tier, and those of them that are missing. The others must not
	// be victims until these are loaded. If there is no room for all, none is loaded.
	Offer(blocks, missing []Object)
	// Renew reports that a prompt has ended which loaded o. That is no request.
	Renew(o Object)
}

// Swapper is a PromptHolder for an engine with a second memory. Evicted blocks go there and keep their priority, except
// those of low priority.
type Swapper interface {
	PromptHolder
	// VictimPriority returns the priority of the last victim, from 0 to HighestPriority.
	VictimPriority() int
}

// HighestPriority is the highest priority of a block, and DefaultPriority that of most.
const (
	HighestPriority = 100
	DefaultPriority = 35
)
