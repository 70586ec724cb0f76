package records

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// Records of version 0.1.0, before read_as and left_out existed, are still read in every format. The files come from
//
//	cachesim run 'zipf(objects=100,requests=1000,size=lognormal)' --policy lru,opt --capacity 10,5% --bytes -o older
func TestRecordsOfAnOlderProgram(t *testing.T) {
	var first []Record
	for _, name := range FileNames() {
		recs, err := Read(filepath.Join("testdata", "older", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(recs) == 0 || recs[0].Int(metric.Requests) != 1000 || recs[0].Label != "lru" || recs[0].ReadAs != "" ||
			recs[0].LeftOut != 0 {
			t.Errorf("%s: got %+v", name, recs)
		}
		if first == nil {
			first = recs
		}
		if !reflect.DeepEqual(recs, first) {
			t.Errorf("%s: got %+v, want %+v", name, recs, first)
		}
	}
}
