package stream

// Addressed is implemented by Columns of requests whose keys are no numbers but which lie in an order, such as the
// blocks of files.
type Addressed interface {
	// Addresses returns the address of each object, and what says whether there is an object at an address that the trace
	// does not ask for.
	Addresses() (of []uint64, exists func(address uint64) bool, err error)
}

// Sized is implemented by Columns that know the sizes of objects only once all requests are there.
type Sized interface {
	// ObjectSizes returns the size of each object in bytes.
	ObjectSizes() []int64
}

// Warner is implemented by Columns that can tell what makes little sense in a trace.
type Warner interface {
	// Warnings returns a sentence about each of these things.
	Warnings() []string
}

// SampledBuilder is implemented by ColumnsBuilders of more than the requests that they receive.
type SampledBuilder interface {
	// Sample is called before the first request if only a sample is kept. keeps reports whether units with a key, as
	// Units.SampledBy returns it, belong to it.
	Sample(keeps func(key uint64) bool)
}
