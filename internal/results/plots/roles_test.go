package plots

import _ "github.com/cachesim/cachesim/internal/sim" // declares how the policies of the program look
