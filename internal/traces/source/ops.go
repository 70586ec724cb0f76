package source

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// opWords are the words for operations in text traces, in lower case.
var opWords = map[string]stream.Op{
	"":        stream.OpUnknown,
	"unknown": stream.OpUnknown,

	"r":         stream.OpRead,
	"read":      stream.OpRead,
	"pread":     stream.OpRead,
	"get":       stream.OpRead,
	"gets":      stream.OpRead,
	"get_lease": stream.OpRead,
	"getlease":  stream.OpRead,
	"lookup":    stream.OpRead,
	"head":      stream.OpRead,

	"w":         stream.OpWrite,
	"write":     stream.OpWrite,
	"pwrite":    stream.OpWrite,
	"set":       stream.OpWrite,
	"set_lease": stream.OpWrite,
	"setlease":  stream.OpWrite,
	"put":       stream.OpWrite,
	"add":       stream.OpWrite,
	"replace":   stream.OpWrite,
	"cas":       stream.OpWrite,
	"append":    stream.OpUpdate,
	"prepend":   stream.OpUpdate,
	"incr":      stream.OpUpdate,
	"decr":      stream.OpUpdate,
	"update":    stream.OpUpdate,
	"insert":    stream.OpWrite,
	"post":      stream.OpWrite,
	"patch":     stream.OpWrite,

	"expire":  stream.OpExpire,
	"persist": stream.OpExpire,
	"take":    stream.OpTake,
	"flush":   stream.OpFlush,

	"d":      stream.OpDelete,
	"delete": stream.OpDelete,
	"del":    stream.OpDelete,
	"remove": stream.OpDelete,
	"trim":   stream.OpDelete,
	"unlink": stream.OpDelete,
	"purge":  stream.OpDelete,

	// Methods of HTTP that concern no object.
	"options": stream.OpUnknown,
	"connect": stream.OpUnknown,
	"trace":   stream.OpUnknown,
}

// ParseOp returns the operation for a word, whatever its case; false for an unknown word.
func ParseOp(word []byte) (stream.Op, bool) {
	if op, ok := opWords[string(word)]; ok {
		return op, true
	}
	word = TrimBlanks(word)
	const longest = 16
	if len(word) > longest {
		return stream.OpUnknown, false
	}
	var buffer [longest]byte
	lower := buffer[:len(word)]
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= ' '
		}
		lower[i] = c
	}
	kind, suffix := stream.ParseOpSuffix(lower)
	op, ok := opWords[string(kind)]
	return op | suffix, ok
}

// OpsOption chooses which rows are requests. By default all are, so that converting a trace loses none.
func OpsOption() params.Param {
	return params.Param{
		Name: "ops", Default: "all", Choices: []string{"reads", "accesses", "all"},
		Doc: "which rows are requests: all; reads; or accesses, which are all except deletions",
	}
}

// OpFilter is a set of kinds of operations, one bit each.
type OpFilter uint8

// NewOpFilter reads the value of OpsOption.
func NewOpFilter(choice string) OpFilter {
	const reads = OpFilter(1 << stream.OpRead)
	switch choice {
	case "reads":
		return reads
	case "accesses":
		return ^OpFilter(1<<stream.OpDelete | 1<<stream.OpFlush)
	}
	return ^OpFilter(0)
}

// Has reports whether requests with the operation are kept.
func (f OpFilter) Has(op stream.Op) bool { return f>>op.Kind()&1 == 1 }
