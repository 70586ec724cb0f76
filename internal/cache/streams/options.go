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
	// Readers is how many interleaved sequential readers are told apart, 1 to 64.
	Readers int
	// Verdicts is how many equal verdicts in a row change a pattern in force, at least 1.
	Verdicts int
	// Compress keeps a chain of directories with one child each as one node. It saves nodes and changes nothing else.
	Compress bool
	// Prune removes all but the Window most recent children of a stream.
	Prune bool
	// Gaps is the number of bins of the histogram of gaps that Measure returns; 0 for none.
	Gaps int
}

// MinNodes is the least limit of nodes.
const MinNodes = 16

// Defaults are the options of the paper, and our choices where it has none: Readers, Share, Verdicts, RepeatGuard.
func Defaults() Options {
	return Options{Window: 100, Nodes: 10_000, Alpha: 0.01, RepeatGuard: true, Share: 0.9, Readers: 4, Verdicts: 2,
		Compress: true, Prune: true}
}
