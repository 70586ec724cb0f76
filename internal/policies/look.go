package policies

// Look is how a policy looks in figures, where its colour and its mark are its own: no two online policies have both in
// common, and those that are compared most differ in colour. What others are held against is black and has dashes. The
// zero Look leaves the choice to the name of the policy.
type Look struct {
	Color  Color
	Mark   Mark
	Dashes []float64 // lengths of the strokes and of the gaps between them, in points; Offline or Unbounded only
}

// Color is the colour of a line.
type Color int

// The colours that figures have.
const (
	NoColor Color = iota
	Blue
	Vermilion
	Green
	Purple
	Orange
	Sky
	Indigo
	Wine
	Olive
	Brown
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
)
