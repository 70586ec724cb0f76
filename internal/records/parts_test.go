package records

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func with(k PartKind, part string) Record {
	r := sample()[0]
	*k.Field(&r) = part
	return r
}

// A record without a prefetcher has the field in every format, as its neighbours with one have it.
func TestNoPartIsWritten(t *testing.T) {
	for _, name := range []string{"prefetcher", "allocator"} {
		k := PartKindOf(name)
		recs := []Record{with(k, ""), with(k, "next")}
		var lines bytes.Buffer
		must.Do(t, EncodeJSON(&lines, recs))
		first, _, _ := strings.Cut(lines.String(), "\n")
		if !strings.Contains(first, `"`+name+`":"none"`) {
			t.Errorf("%s is not written as none: %s", name, first)
		}
		dir := t.TempDir()
		must.Do(t, Write(dir, recs))
		for _, file := range FileNames() {
			again := must.Get(Read(dir+"/"+file, nil))(t)
			if *k.Field(&again[0]) != "" || *k.Field(&again[1]) != "next" {
				t.Errorf("%s: %s is read as %q and %q", file, name, *k.Field(&again[0]), *k.Field(&again[1]))
			}
		}
	}
}
