package experiment

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
)

// The types of File with more than one notation have their own YAML methods here.

const maxSeeds = 10000

// UnmarshalYAML reads one value or a list. A range (16..512x2) stands for its values.
func (v *Values) UnmarshalYAML(node ast.Node) error {
	texts, nodes, err := yamlhint.Scalars(node, "a value or a list of values")
	if err != nil {
		return err
	}
	*v = nil
	for i, text := range texts {
		values, err := params.ExpandRange(text)
		if err != nil {
			return &yaml.SyntaxError{Message: err.Error(), Token: nodes[i].GetToken()}
		}
		*v = append(*v, values...)
	}
	return nil
}

// MarshalYAML writes one value without a list.
func (v Values) MarshalYAML() (any, error) { return oneOrList(v), nil }

func oneOrList[T any](list []T) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// UnmarshalYAML reads a list, or a text with commas.
func (c *Capacities) UnmarshalYAML(node ast.Node) error {
	texts, _, err := yamlhint.Scalars(node, "a capacity (1%), a text with several (1%,5%,10%..40%x2) or a list of them")
	*c = splitList(texts)
	return err
}

func splitList(texts []string) (items []string) {
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, strings.TrimSpace(item))
		}
	}
	return items
}

// MarshalYAML writes one capacity without a list.
func (c Capacities) MarshalYAML() (any, error) { return oneOrList(c), nil }

// UnmarshalYAML reads the number of seeds, or a list of seeds.
func (s *Seeds) UnmarshalYAML(node ast.Node) error {
	const want = "a number of seeds (3), or a list of them ([0, 7])"
	texts, nodes, err := yamlhint.Scalars(node, want)
	if err != nil {
		return err
	}
	if _, isList := node.(*ast.SequenceNode); isList {
		*s, err = parseSeeds(texts)
	} else {
		*s, err = countSeeds(texts[0])
	}
	if err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: nodes[0].GetToken()}
	}
	return nil
}

func countSeeds(text string) (seeds Seeds, err error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSeeds {
		return nil, fmt.Errorf("seeds %q: want a number of seeds (from 1 to %d), or a list of them ([0, 7])", text, maxSeeds)
	}
	for seed := range n {
		seeds = append(seeds, uint64(seed))
	}
	return seeds, nil
}

func parseSeeds(texts []string) (seeds Seeds, err error) {
	seen := make(map[uint64]bool, len(texts))
	for _, text := range texts {
		seed, err := strconv.ParseUint(text, 10, 63) // what generators accept
		if err != nil {
			return nil, fmt.Errorf("seed %q: want a whole number from 0 to %d", text, math.MaxInt64)
		}
		if seen[seed] {
			return nil, fmt.Errorf("seed %d is listed twice", seed)
		}
		seen[seed] = true
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

// MarshalYAML writes the list, because a single number would be the number of seeds.
func (s Seeds) MarshalYAML() (any, error) { return []uint64(s), nil }

// UnmarshalYAML reads a number or a percentage.
func (n *Number) UnmarshalYAML(node ast.Node) error {
	text, ok := yamlhint.Scalar(node)
	x, err := parseNumber(text)
	if !ok || err != nil {
		return yamlhint.Wrong(node, "a number (0.05) or a percentage (5%)")
	}
	*n = Number(x)
	return nil
}

func parseNumber(text string) (x float64, err error) {
	percent, isPercent := strings.CutSuffix(text, "%")
	if isPercent && !strings.ContainsAny(percent, "eEpPxX") {
		// Dividing 16.47 by 100 would not give the number nearest to 0.1647.
		percent += "e-2"
	} else if isPercent {
		return 0, fmt.Errorf("%q: want digits before %%", text)
	}
	x, err = strconv.ParseFloat(percent, 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = fmt.Errorf("%q: want a finite number", text)
	}
	return x, err
}

// MarshalYAML writes a plain number.
func (n Number) MarshalYAML() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalYAML reads one number or a list.
func (n *Numbers) UnmarshalYAML(node ast.Node) error {
	_, nodes, err := yamlhint.Scalars(node, "a number or a list of numbers")
	if err != nil {
		return err
	}
	*n = make(Numbers, len(nodes))
	for i := range nodes {
		if err := (*n)[i].UnmarshalYAML(nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

// plainPolicy is a Policy whose YAML always has keys.
type plainPolicy Policy

// UnmarshalYAML reads a policy alone, or its keys.
func (p *Policy) UnmarshalYAML(node ast.Node) error {
	if text, ok := yamlhint.Scalar(node); ok {
		*p = Policy{Policy: strings.TrimSpace(text)}
		return nil
	}
	return yaml.NodeToValue(node, (*plainPolicy)(p), yaml.Strict())
}

// MarshalYAML writes a policy without further keys as a text.
func (p Policy) MarshalYAML() (any, error) {
	if reflect.DeepEqual(p, Policy{Policy: strings.TrimSpace(p.Policy)}) { // all fields, so that none can be forgotten
		return p.Policy, nil
	}
	return plainPolicy(p), nil
}

// UnmarshalYAML treats every key but values as a dimension.
func (p *Point) UnmarshalYAML(node ast.Node) error {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return yamlhint.Wrong(node, "places and values, for example {policy: lru, capacity: [250, 500], values: [16%, 23%]}")
	}
	*p = Point{At: map[string]Values{}}
	for _, entry := range mapping.Values {
		key, _ := yamlhint.Scalar(entry.Key)
		if p.At[key] != nil || key == "values" && p.Values != nil {
			return &yaml.SyntaxError{Message: fmt.Sprintf("key %q appears twice", key), Token: entry.Key.GetToken()}
		}
		var err error
		if key == "values" {
			err = p.Values.UnmarshalYAML(entry.Value)
		} else {
			var places Values
			err = places.UnmarshalYAML(entry.Value)
			p.At[key] = places
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MarshalYAML writes the dimensions in the order of their names, then the values.
func (p Point) MarshalYAML() (any, error) {
	var keys yaml.MapSlice
	for _, dimension := range sortedKeys(p.At) {
		keys = append(keys, yaml.MapItem{Key: dimension, Value: p.At[dimension]})
	}
	return append(keys, yaml.MapItem{Key: "values", Value: oneOrList(p.Values)}), nil
}
