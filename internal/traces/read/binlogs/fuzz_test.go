package binlogs_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzRecords reads every format of records.
func FuzzRecords(f *testing.F) {
	tracetest.FuzzAll(f, []string{"binary:format=>dBqi2s,time=1,op=2,key=3,size=4", "libcachesim:layout=twrNS", "lcs"},
		strings.Repeat("\x40\x01", 23),
		"",
		strings.Repeat("\x01\x02", 22),
		header(1, 1)+strings.Repeat("\x01", 24),
		shortHeader("<IQI", 16, 2, 3, 1)+"0123456789abcdef")
}
