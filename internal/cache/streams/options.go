package streams

// Options say how a tree recognises patterns. Each part can be switched off.
type Options struct {
	// Window is W of the paper: a node with more distinct children is a stream, and that many of its last transitions
	// from one child to another are tested.
	Window int
	// Nodes is the largest number of nodes, at least MinNodes; beyond it the least recently accessed ones are removed.
	Nodes int
	// Alpha is the significance level of the Kolmogorov-Smirnov test.
	Alpha float64
	// Form is the form of its statistic.
	Form Form
	// RepeatGuard also counts streams as skewed if their children repeat more often than in a random order.
	RepeatGuard bool
	// Share is the least share of steps to the next child in a sequential stream, from 0 to 1.
	Share float64
	// Order is the order of the entries of a directory.
	Order Order
	// Readers is how many interleaved sequential readers are told apart, 1 to 64; 0: as many as are found, up to one for
	// every five transitions.
	Readers int
	// Interleaved takes an access that goes on in a child for no transition although other readers had their turns since.
	Interleaved bool
	// Retest tests a stream again after every Window transitions, not only on Reclassify.
	Retest bool
	// Verdicts is how many equal verdicts in a row change a pattern in force, at least 1.
	Verdicts int
	// Compress keeps a chain of directories with one child each as one node. It saves nodes and changes nothing else.
	Compress bool
	// Prune removes all but the Window most recent children of a stream.
	Prune bool
	// Gaps is the number of bins of the histogram of gaps that Measure returns; 0 for none.
	Gaps int
}

// Order is how the entries of directories are ordered.
type Order uint8

// Listed is the order of the listing; Found also recognises a stream that is read in the natural order of the names, in
// which 9 comes before 10. A natural listing (Layout.Natural) has that order alone.
const (
	Listed Order = iota
	Found
)

// MinNodes is the least limit of nodes.
const MinNodes = 16

// Defaults are the options of the paper, and our choices where it has none: Order,
// Readers, Interleaved, Share, Verdicts, RepeatGuard, Retest.
func Defaults() Options {
	return Options{Order: Found, Window: 100, Nodes: 10_000, Alpha: 0.01, RepeatGuard: true, Share: 0.9, Interleaved: true,
		Retest: true, Verdicts: 2, Compress: true, Prune: true}
}
