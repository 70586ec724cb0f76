package source

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// opWords are the words for operations in text traces, in lower case.
var opWords = func() map[string]stream.Op {
	words := map[string]stream.Op{"": stream.OpUnknown}
	for op, all := range map[stream.Op]string{
		stream.OpRead:    "r read pread get gets get_lease getlease lookup head copy",
		stream.OpWrite:   "w write pwrite set set_lease setlease put add replace cas insert post patch",
		stream.OpUpdate:  "append prepend incr decr update",
		stream.OpDelete:  "d delete del remove trim unlink purge",
		stream.OpExpire:  "expire persist",
		stream.OpTake:    "take",
		stream.OpFlush:   "flush",
		stream.OpUnknown: "unknown options connect trace", // three methods of HTTP that concern no object
	} {
		for word := range strings.FieldsSeq(all) {
			words[word] = op
		}
	}
	return words
}()

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
	kind, suffix := stream.ParseOpSuffix(appendLower(buffer[:0], word))
	op, ok := opWords[string(kind)]
	return op | suffix, ok
}

// appendLower appends a text with ASCII letters in lower case.
func appendLower(to, text []byte) []byte {
	for _, c := range text {
		if c >= 'A' && c <= 'Z' {
			c |= ' '
		}
		to = append(to, c)
	}
	return to
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
