package read

import "github.com/cachesim/cachesim/internal/traces"

// What to load is said beside the columns, so that packages that only describe a trace need no reader.
type (
	Options   = traces.LoadOptions
	Selection = traces.Selection
)
