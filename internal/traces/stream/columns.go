package stream

// Addressed is implemented by Columns of requests whose keys are no numbers but which lie in an order, such as the
// blocks of files.
type Addressed interface {
	Addresses() (Addresses, error)
}

// Addresses are numbers in the order of the objects, among which there may be objects that the trace never requests.
type Addresses struct {
	Of     []uint64                  // per object of the trace
	Exists func(address uint64) bool // whether an address has an object; nil: all have
	KeyAt  func(address uint64) Key  // the key of the object at an address
}

// Chained is implemented by Columns of groups whose objects continue each other, such as the blocks of prompts. Models
// that learn from such objects count time in finished groups.
type Chained interface {
	// Depths returns for each object how much there is from the beginning of its chain to its end.
	Depths() []int32
	// Groups names the groups, in the plural.
	Groups() string
}

// Sized is implemented by Columns that know the sizes of objects only once all requests were read.
type Sized interface {
	// ObjectSizes returns the size of each object in bytes.
	ObjectSizes() []int64
}

// Warner is implemented by Columns that can find oddities in a trace.
type Warner interface {
	// Warnings returns a sentence about each oddity.
	Warnings() []string
}

// Described is implemented by Columns with properties that no file states: the user gave them, or they were inferred.
type Described interface {
	Lines() []string
}

// SampledBuilder is implemented by ColumnsBuilders that also know of units without requests, such as unread files.
type SampledBuilder interface {
	// Sample is called before the first request if only a sample is kept. keeps reports whether units with a key, as
	// Units.SampledBy returns it, belong to it.
	Sample(keeps func(key uint64) bool)
}
