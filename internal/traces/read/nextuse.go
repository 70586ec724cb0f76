package read

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
)

// addNextUses appends the next accesses of the next batch.
//
// They are correct if every repeated request is the next access of exactly one request, an earlier one to the same
// object: then the second request to an object can only be the next access of the first, the third only of the second,
// and so on. numberBatch checks that a repeated request is the next access of an earlier request to its object, and
// clears statesUses otherwise. checkNextUses checks by counting that none is the next access of two.
func (l *loader) addNextUses(batch []byte, first int) {
	if !l.statesUses {
		l.trace.StatedUses = nil
		return
	}
	uses := l.trace.StatedUses
	for ; len(batch) >= formats.OracleGeneralRecord; batch = batch[formats.OracleGeneralRecord:] {
		_, _, _, next := formats.OracleGeneralFields(batch)
		again := uint64(first) + uint64(next) - 1
		// len(uses) is the position of this request, and a next access is later.
		if again <= uint64(len(uses)) || again > oracle.Never {
			again = oracle.Never
		}
		uses = append(uses, uint32(again))
	}
	l.trace.StatedUses = uses
}

// checkNextUses drops the next uses if some are wrong. Next uses beyond a limit become oracle.Never.
func (l *loader) checkNextUses() {
	t := l.trace
	if !l.statesUses || len(t.StatedUses) != len(t.Objects) {
		t.StatedUses = nil
		return
	}
	repeated := 0
	for pos, again := range t.StatedUses {
		if int(again) < len(t.Objects) {
			repeated++
		} else {
			t.StatedUses[pos] = oracle.Never
		}
	}
	if repeated != len(t.Objects)-t.NumObjects {
		t.StatedUses = nil
	}
}
