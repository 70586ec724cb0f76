package admit

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

var sizeEntry = Entry{
	Name:    "size",
	Summary: "admits objects within limits of size",
	Source:  "Abrams et al., Caching proxies: limitations and potentials, WWW 1995 (LRU-Threshold)",
	Sizes:   true,
	Params: []params.Param{
		{Name: "most", Default: "1MiB", Doc: "the largest object that is admitted"},
		{Name: "least", Default: "1B", Doc: "the smallest object that is admitted"},
	},
	Check: func(v params.Values) error {
		least, most, err := limits(v)
		if err == nil && least > most {
			err = fmt.Errorf("least=%s is above most=%s, so that nothing is admitted", v.Text("least"), v.Text("most"))
		}
		return err
	},
	New: func(c Config) (Admission, error) {
		if !c.Sized {
			return nil, fmt.Errorf("admission size: capacities count objects, not bytes; add --bytes, or use another " +
				"admission: none, second, learned")
		}
		least, most, err := limits(c.Params)
		return size{least, most}, err
	},
}

// limits returns the smallest and the largest size in bytes.
func limits(v params.Values) (least, most int64, err error) {
	if least, err = capacity.ParseBytes(v.Text("least")); err != nil {
		return 0, 0, fmt.Errorf("least=%w", err)
	}
	if most, err = capacity.ParseBytes(v.Text("most")); err != nil {
		return 0, 0, fmt.Errorf("most=%w", err)
	}
	return least, most, nil
}

type size struct{ least, most int64 }

func (size) Request(requests.Request, int) {}

func (s size) Admit(r requests.Request) bool { return s.least <= r.Size && r.Size <= s.most }
