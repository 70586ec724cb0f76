package policies

import "github.com/cachesim/cachesim/internal/base/params"

// Param describes one parameter of a policy.
type Param = params.Param

// Values are the parameters of one policy, with every name present.
type Values = params.Values

// Spec is a policy with its parameters: what a user writes as `lru-k(k=2)`.
type Spec = params.Spec[Entry]
