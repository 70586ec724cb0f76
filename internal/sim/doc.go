// Package sim replays traces through caches and turns the results into records. A Replayer replays the cells of one
// trace; each cell is a policy in a cache at a capacity, compared with the optimum under the same rules.
package sim
