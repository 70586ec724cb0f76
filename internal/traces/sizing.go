package traces

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Sizing says where the sizes of a trace come from, beside those that its files state.
type Sizing struct {
	// Overhead is added to the size of each object, in bytes.
	Overhead int64
	// Objects, Requests and Bytes have the sizes by their origins. Bytes are those of the objects, each once.
	Objects, Requests [SizeOrigins]int
	Bytes             [SizeOrigins]float64
}

// Share is a share of the objects of a trace, of its requests and of the bytes of its objects.
type Share struct{ Objects, Requests, Bytes float64 }

// Imputed returns which share has sizes that were estimated from those of other objects.
func (s *Sizing) Imputed() Share { return s.share(SizeOfPattern, SizeOfType, SizeOfAll) }

// Given returns which share has sizes that the user gave.
func (s *Sizing) Given() Share { return s.share(SizeGiven) }

func (s *Sizing) share(origins ...SizeOrigin) (share Share) {
	if s == nil {
		return share
	}
	var objects, requests int
	var bytes float64
	for o := range SizeOrigins {
		objects, requests, bytes = objects+s.Objects[o], requests+s.Requests[o], bytes+s.Bytes[o]
	}
	for _, o := range origins {
		share.Objects += float64(s.Objects[o]) / float64(max(1, objects))
		share.Requests += float64(s.Requests[o]) / float64(max(1, requests))
		share.Bytes += s.Bytes[o] / max(1, bytes)
	}
	return share
}

func (s Share) String() string {
	text := metric.Metric{Unit: metric.Share, Digits: 1}.Text
	return fmt.Sprintf("%s of the objects, %s of the requests and %s of the bytes", text(s.Objects), text(s.Requests),
		text(s.Bytes))
}

// Text says in a sentence without a full stop where sizes come from, "" if the files state all of them.
func (s *Sizing) Text() string {
	if s == nil {
		return ""
	}
	var parts []string
	if imputed := s.Imputed(); imputed.Requests > 0 {
		var means []string
		for _, m := range []struct {
			of   SizeOrigin
			text string
		}{{SizeOfPattern, "similar keys"}, {SizeOfType, "the same type"}, {SizeOfAll, "all objects"}} {
			if n := s.Objects[m.of]; n > 0 {
				means = append(means, fmt.Sprintf("of %s for %s", m.text, stream.Thousands(n)))
			}
		}
		parts = append(parts, fmt.Sprintf("imputed for %s (the mean %s)", imputed, strings.Join(means, ", ")))
	}
	if given := s.Given(); given.Requests > 0 {
		parts = append(parts, fmt.Sprintf("given for %s", given))
	}
	if s.Overhead > 0 {
		parts = append(parts, fmt.Sprintf("with %s B of overhead for each object", stream.Thousands(int(s.Overhead))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "sizes: " + strings.Join(parts, "; ")
}

// SizeOrigin is where the size of an object comes from.
type SizeOrigin uint8

const (
	SizeStated    SizeOrigin = iota // the log states it, in some row
	SizeGiven                       // by the user's rules
	SizeOfPattern                   // the mean of the objects whose keys have the same pattern
	SizeOfType                      // the mean of the objects of the same type
	SizeOfAll                       // the mean of all objects
	SizeUnknown                     // no size is known
	SizeOrigins                     // how many there are
)
