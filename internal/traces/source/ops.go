package source

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// opWords are the words for operations in text traces, in lower case.
var opWords = func() map[string]stream.Op {
	words := map[string]stream.Op{"": stream.OpUnknown}
	for op, all := range map[stream.Op]string{
		stream.Lookup:    "peek probe get-no-insert",
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

// OpCodesName is the name of OpCodesOption.
const OpCodesName = "op-codes"

// OpCodesOption says what operations are that are written as codes.
func OpCodesOption() params.Param {
	return params.Param{Name: OpCodesName, Default: "", Doc: "what the codes in the column op mean, as in " +
		"0:put|1:get|2:delete|3:head|4:copy, or 0:get|1:peek for a flag that says that a miss is not loaded"}
}

// OpCodes are the operations for codes; nil: they are written as words.
type OpCodes map[string]stream.Op

// ParseOpCodes reads the value of OpCodesOption.
func ParseOpCodes(opts params.Values) (OpCodes, error) {
	text := opts.Text(OpCodesName)
	if text == "" {
		return nil, nil
	}
	codes := OpCodes{}
	for pair := range strings.SplitSeq(text, "|") {
		code, word, _ := strings.Cut(pair, ":")
		op, ok := ParseOp([]byte(word))
		if !ok || code == "" || word == "" {
			return nil, fmt.Errorf("op-codes=%s: %q: want a code and an operation such as get, put or delete, as in 0:put",
				text, pair)
		}
		codes[strings.TrimSpace(code)] = op
	}
	return codes, nil
}

// Parse returns the operation for a code, or for a word without codes.
func (c OpCodes) Parse(text []byte) (stream.Op, error) {
	if c != nil {
		op, ok := c[string(TrimBlanks(text))]
		if !ok {
			return 0, fmt.Errorf("operation %.60q: it is not among the op-codes", text)
		}
		return op, nil
	}
	op, ok := ParseOp(text)
	if !ok {
		return 0, fmt.Errorf("operation %.60q: want one such as get, set, read, write or delete; for codes add "+
			"op-codes=0:put|1:get", text)
	}
	return op, nil
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
