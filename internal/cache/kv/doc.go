// Package kv is the cache of keys and values on a GPU that serves a language model. It measures which rows of each head
// are there, and what attention loses without the others. Replay serves all cells of a trace in one pass over its
// heads.
//
// A head is a KV head of a layer with the query heads that read it. Its scores do not depend on what is cached, so they
// are computed once for all cells. A cell then is a reuse rule, which decides when the head's set of rows is replaced
// as a whole (QSAC, section 4), or a store of blocks under a policy (RetroInfer, PQCache).
package kv
