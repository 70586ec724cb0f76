package policies

import "github.com/cachesim/cachesim/internal/base/params"

// Param describes one parameter of a policy.
type Param = params.Param

// Values are the parameters of one policy, with every name present.
type Values = params.Values

// Spec is a policy with its parameters: what a user writes as `lru-k(k=2)`.
type Spec = params.Spec[Entry]

// ParseList reads a comma-separated list of specs: "lru,s3fifo(small=0.1,ghost=0.9),lru-k(k=2)". Duplicate specs are an
// error.
func ParseList(text string) ([]Spec, error) { return registry.ParseList(text) }

// ParseSpec reads one policy: a name, or a name with parameters in parentheses.
func ParseSpec(text string) (Spec, error) { return registry.Parse(text) }
