// Package cachesim is the cache simulator for other programs in Go: it replays traces through caches under many
// policies, with policies and trace formats of your own among them. Register those, and call Main, which is the whole
// command, or Run, which replays one trace.
//
// A program with a policy of its own in every command, list, sweep and page:
//
//	func main() {
//		cachesim.Register(cachesim.Entry{Name: "mine", Summary: "evicts …", Type: (*mine)(nil),
//			New: func(c cachesim.Config) (cachesim.Policy, error) { return newMine(c), nil }})
//		cachesim.Main()
//	}
//
// Package policytest runs the tests that every policy of the program passes. The API follows semantic versions; before
// version 1 a minor version may change it, which the changelog says.
package cachesim

import (
	"github.com/cachesim/cachesim/internal/commands"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What a policy is, and what it is built from. An Entry describes it for lists, flags and figures; its Type is a nil
// pointer of the type that New makes, if that implements more than Policy.
type (
	Policy  = policies.Policy
	Entry   = policies.Entry
	Config  = policies.Config
	Request = policies.Request
	Object  = policies.Object
	Reason  = policies.Reason
	Param   = policies.Param
	Values  = policies.Values
)

// What a policy may implement besides Policy.
type (
	Admitter     = policies.Admitter
	Resizer      = policies.Resizer
	SizeFollower = policies.SizeFollower
	Grower       = policies.Grower
	Expirer      = policies.Expirer
	Holder       = policies.Holder
	UnitReplayer = policies.UnitReplayer
)

// Why an object is requested or loaded.
const (
	Demand   = policies.Demand
	Prefetch = policies.Prefetch
	Restore  = policies.Restore
	Shrink   = policies.Shrink
)

// NoObject is the object of a request that has none, whose Reason is Shrink.
const NoObject = policies.NoObject

// Kinds of policies, for Entry.Kind.
const (
	Online  = policies.Online
	Offline = policies.Offline
)

// Register adds policies to those of the program, as a user's own, which figures highlight. It panics if a name is
// taken. Call it before Main and Run, and not at the same time as them.
func Register(entries ...Entry) { policies.Register(policies.Custom, entries...) }

// What a trace format is. Its Open returns a Reader of records, and says which Fields they have; ReadLines makes one
// from a function that parses a line.
type (
	Format      = source.Format
	Source      = source.Source
	Head        = source.Head
	Confidence  = source.Confidence
	Reader      = stream.Reader
	TraceRecord = stream.Record
	Fields      = stream.Fields
)

// How sure Format.Detect is that a file has the format.
const (
	No       = source.No
	Possible = source.Possible
	Certain  = source.Certain
)

// ReadLines returns a Reader of a text with one record a line. parse fills in rec, or says what the line should be.
func ReadLines(src *Source, parse func(line []byte, rec *TraceRecord) error) Reader {
	return source.ReadLines(src, parse)
}

// RegisterFormat adds trace formats to those that are detected and listed. It panics if a name is taken. Call it before
// Main and Run.
func RegisterFormat(all ...Format) { formats.Register(all...) }

// Main is the command cachesim, with what is registered. It ends the process.
func Main() { commands.Main() }
