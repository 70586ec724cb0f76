package policies

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/suggest"
)

// Param describes one parameter of a policy.
type Param = params.Param

// Values are the parameters of one policy, every name present.
type Values = params.Values

// Spec is a policy with its parameters: what a user writes as `lru-k(k=2)`.
type Spec struct {
	Entry  Entry
	Params Values
}

// ParamString returns every parameter with its value, in the order of the entry: "small=0.1,ghost=0.9"; "" without parameters.
func (s Spec) ParamString() string { return params.Format(s.Entry.Params, s.Params) }

// String returns the spec as the user would write it, with the parameters that differ from their defaults.
func (s Spec) String() string { return params.FormatCall(s.Entry.Name, s.Entry.Params, s.Params) }

// ParseList reads a comma-separated list of specs: "lru,s3fifo(small=0.1,ghost=0.9),lru-k(k=2)". Repeated specs are an error.
func ParseList(text string) ([]Spec, error) {
	items, err := params.Split(text, ',')
	if err != nil {
		return nil, fmt.Errorf("policy list %w", err)
	}
	var specs []Spec
	seen := map[string]bool{}
	for _, item := range items {
		s, err := ParseSpec(item)
		if err != nil {
			return nil, err
		}
		if seen[s.String()] {
			return nil, fmt.Errorf("policy %s is listed twice", s)
		}
		seen[s.String()] = true
		specs = append(specs, s)
	}
	return specs, nil
}

// ParseSpec reads one policy: a name, or a name with parameters in parentheses.
func ParseSpec(text string) (Spec, error) {
	name, args, err := params.SplitCall(text)
	if err != nil {
		return Spec{}, fmt.Errorf("policy %w", err)
	}
	if name == "" {
		return Spec{}, fmt.Errorf("policy list has an empty entry; write names separated by commas, for example lru,arc")
	}
	e, ok := Find(name)
	if !ok {
		return Spec{}, suggest.Unknown("policy", name, Names())
	}
	values, err := params.ParseArgs(e.Params, args)
	if err != nil {
		return Spec{}, fmt.Errorf("policy %s: %w", e.Name, err)
	}
	return Spec{Entry: e, Params: values}, nil
}
