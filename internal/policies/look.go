package policies

// Look is how a policy looks in figures. No other online policy has the same colour and mark. Policies that are often
// compared differ in colour; if two in a figure do not, one of them gets another colour. References (offline policies
// and bounds) are black and dashed. The zero Look derives both from the name of the policy.
type Look struct {
	Color  Color
	Mark   Mark
	Dashes []float64 // lengths of the strokes and gaps, in points; Offline or Unbounded only
}

// Color is the colour of a line.
type Color int

// The colours that figures have.
const (
	NoColor Color = iota
	Blue
	Vermilion
	Green
	Violet
	Orange
	Cyan
	Indigo
	Magenta
	Olive
	Pink
)

// Mark is the mark on the points of a line.
type Mark int

// The marks that figures have.
const (
	NoMark Mark = iota
	Circle
	Box
	Triangle
	Cross
	Ring
	Plus
	Square
	Diamond // of servers
	Star    // of what users write
	Arrow   // of libraries
	Hexagon
	Pentagon
	Bowtie // of what learns by trees
	Spark
)
