package stream

// Sized is implemented by Columns that know the sizes of objects only once all requests are there.
type Sized interface {
	// ObjectSizes returns the size of each object in bytes.
	ObjectSizes() []int64
}
