package traces

import (
	"strings"

	"github.com/cachesim/cachesim/internal/params"
)

// opWords are the words for operations, in lower case, that traces in text use.
var opWords = map[string]Op{
	"":        OpUnknown,
	"unknown": OpUnknown,

	"r":         OpRead,
	"read":      OpRead,
	"pread":     OpRead,
	"get":       OpRead,
	"gets":      OpRead,
	"get_lease": OpRead,
	"getlease":  OpRead,
	"lookup":    OpRead,
	"head":      OpRead,

	"w":         OpWrite,
	"write":     OpWrite,
	"pwrite":    OpWrite,
	"set":       OpWrite,
	"set_lease": OpWrite,
	"setlease":  OpWrite,
	"put":       OpWrite,
	"add":       OpWrite,
	"replace":   OpWrite,
	"cas":       OpWrite,
	"append":    OpWrite,
	"prepend":   OpWrite,
	"incr":      OpWrite,
	"decr":      OpWrite,
	"update":    OpWrite,
	"insert":    OpWrite,
	"post":      OpWrite,

	"d":      OpDelete,
	"delete": OpDelete,
	"del":    OpDelete,
	"remove": OpDelete,
	"trim":   OpDelete,
	"unlink": OpDelete,
}

// parseOp returns the operation that a word stands for.
func parseOp(word []byte) (Op, bool) {
	if op, ok := opWords[string(word)]; ok {
		return op, true
	}
	op, ok := opWords[strings.ToLower(string(trimBlanks(word)))]
	return op, ok
}

// opsOption chooses which rows are requests. By default all are, so that converting a trace loses none.
func opsOption() params.Param {
	return params.Param{
		Name: "ops", Default: "all", Choices: []string{"reads", "accesses", "all"},
		Doc: "which rows are requests: all; reads; or accesses, which are all but deletions",
	}
}

// opFilter is a set of operations, by bits.
type opFilter uint8

// newOpFilter reads the value of opsOption.
func newOpFilter(choice string) opFilter {
	switch choice {
	case "reads":
		return 1 << OpRead
	case "accesses":
		return 1<<OpRead | 1<<OpWrite | 1<<OpUnknown
	}
	return 1<<OpRead | 1<<OpWrite | 1<<OpDelete | 1<<OpUnknown
}

func (f opFilter) has(op Op) bool { return f>>op&1 == 1 }
