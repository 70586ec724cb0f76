// Package fluid predicts what a node that serves recommendations does with a load, without simulating a request: the
// hit ratios of its two caches by the approximation of Che, the latency by a mixture of service times behind a queue.
// It trains controllers and finds the best ratio; the event model of package recommender is the reference.
//
// # Hit ratios
//
// Time is counted in requests to the node. User u makes a request with probability l(u), a time a after the previous
// one that is exponential with the rate l(u). LRU holds what was requested within a characteristic time t, the same for
// all objects (Che, Tung and Wang, Hierarchical web caching systems, IEEE JSAC 2002): it solves "what was requested
// within t fills the cache".
//
// KV: user u has w(u) pages, all or none. Sum over u of w(u)(1 - exp(-l(u) t)) = pages of the cache; the request hits
// if a < t.
//
// EMB: a user owns k shards, each drawn once from the popularity p of the shards; a share g of all draws is of own
// shards, the rest of all shards by p. A request of d draws touches each own shard with probability
// q = 1 - exp(-g d/k). A shard is absent if no owner has touched it within t and no other draw has. Owners are
// independent, and each of the k slots of each user is the shard i with probability p(i), so
//
//	P(i absent) = prod over slots of (1 - p(i)(1 - exp(-l(u) q t))) * exp(-G p(i) t) = exp(-p(i) x),
//	x = k * sum over u of (1 - exp(-l(u) q(u) t)) + G t,
//
// where G is the mean number of other draws of a request. The shards see nothing of users and loads but x. It follows
// from the size of the cache, sum over i of (1 - exp(-p(i) x)) = shards of the cache, and t follows from x. A draw from
// all shards misses with probability m = sum over i of p(i) exp(-p(i) x). A draw of an own shard misses if the user
// itself did not touch it within t, exp(-l(u) q t), and then with probability m: the slot is a draw of p, too.
//
// If users share shards, the shards of all groups, c of them, are draws of p as well. A share s of the own shards is of
// these, so that one of them is untouched with probability u = exp(-s k sum over u of (1 - exp(-l(u) q t)) / c), and
// the touches in x are (1-s) k sum(...) + c (1-u). A draw of an own shard misses 1-s+s u times as often.
//
// Both caches see the same age a of a user's last request. A request therefore is of one of three kinds: both caches
// have seen the user (a is below both times), only the one with the longer time has, or neither.
//
// # Latency
//
// A node has one queue and as many servers as GPUs. The service time follows from the length of the sequence, the kind
// of the request, and the misses, whose number among k slots varies. Waiting is as in M/G/c: P(W > x) = C exp(-x/w),
// with C of Erlang's formula for M/M/c, and w = E[S] (1+c2)/2 / (c (1-rho)), where c2 is the squared coefficient of
// variation of the service time (Allen and Cunneen; Kingman's heavy traffic is the limit). The quantile of the sum is
// numeric. A load of rho >= 1 is unstable: its latency is +Inf.
package fluid
