package servers

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Names returns the names of all servers.
func Names() (names []string) {
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// Listed is what a list of servers with their settings stands for: policies, and capacities in bytes.
type Listed struct {
	Policies   []string
	Capacities []int64 // each once, in the order of the list; none if no server states its memory
}

// ParseList reads servers by the names of their own settings: "redis(maxmemory=1gb..8gbx2),memcached(f=1.08|1.25)". The
// setting of the memory is the capacity of all: a table compares servers with the same memory. A value may be a
// range, or several values with | between them.
func ParseList(list string) (l Listed, err error) {
	items, err := params.Split(list, ',')
	if err != nil {
		return l, fmt.Errorf("server list %w", err)
	}
	for _, item := range items {
		if err := l.add(item); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *Listed) add(item string) error {
	name, args, err := params.SplitCall(item)
	if err != nil {
		return fmt.Errorf("server %w", err)
	}
	k, ok := Find(name)
	if !ok {
		return suggest.Unknown("server", name, Names())
	}
	settings, err := params.Split(args, ',')
	if err != nil {
		return fmt.Errorf("server %s: %w", name, err)
	}
	calls, memories := []string{""}, Listed{}
	for _, setting := range settings {
		if setting = strings.TrimSpace(setting); setting == "" {
			continue
		}
		key, value, _ := strings.Cut(setting, "=")
		key, value = k.paramOf(strings.TrimSpace(key)), strings.TrimSpace(value)
		if key == k.Memory {
			if err := memories.addMemory(k, value); err != nil {
				return fmt.Errorf("server %s: %s=%s: %w", name, key, value, err)
			}
			continue
		}
		calls = combined(calls, key, strings.Split(value, "|"))
	}
	for _, bytes := range memories.Capacities {
		if err := k.checkMemory(calls, bytes); err != nil {
			return fmt.Errorf("server %s: %s=%s: %w", name, k.Memory, k.MemoryText(bytes), err)
		}
		l.addBytes(bytes)
	}
	for _, call := range calls {
		policy := k.Name
		if call != "" {
			policy += "(" + call + ")"
		}
		l.Policies = append(l.Policies, policy)
	}
	return nil
}

// checkMemory refuses a memory with which the program would not start, under some of its settings.
func (k Kind) checkMemory(calls []string, bytes int64) error {
	if k.CheckMemory == nil {
		return nil
	}
	for _, call := range calls {
		v := params.Defaults(k.Params)
		for setting := range strings.SplitSeq(call, ",") {
			name, value, _ := strings.Cut(setting, "=")
			if _, ok := v[name].(string); ok { // the others say nothing of the memory, and are checked later
				v[name] = value
			}
		}
		if err := k.CheckMemory(v, bytes); err != nil {
			return err
		}
	}
	return nil
}

// SetRate has all servers with a clock that state no rate go by one, in requests per second. It reports whether there
// is one.
func (l *Listed) SetRate(perSecond float64) (any bool) {
	for i, policy := range l.Policies {
		name, args, _ := params.SplitCall(policy)
		k, _ := Find(name)
		settings, _ := params.Split(args, ',')
		has := func(p params.Param) bool { return p.Name == rateParam.Name }
		states := func(setting string) bool { return strings.HasPrefix(setting, rateParam.Name+"=") }
		if !slices.ContainsFunc(k.Params, has) || slices.ContainsFunc(settings, states) {
			continue
		}
		call := combined([]string{args}, rateParam.Name, []string{strconv.FormatFloat(perSecond, 'g', -1, 64)})[0]
		l.Policies[i] = k.Name + "(" + call + ")"
		any = true
	}
	return any
}

// combined returns each of some lists of settings with each value of a further one.
func combined(calls []string, key string, values []string) (all []string) {
	for _, call := range calls {
		for _, value := range values {
			all = append(all, strings.TrimPrefix(call+","+key+"="+strings.ReplaceAll(value, " ", "-"), ","))
		}
	}
	return all
}

// otherNames are settings whose names in configurations are longer than those of parameters.
var otherNames = map[string]string{
	"maxmemory-policy": "policy", "maxmemory-samples": "samples", "memory_replacement_policy": "policy",
	"maximum_object_size_in_memory": "max_in_memory", "proxy_cache_min_uses": "min_uses", "default_grace": "grace",
	"default_keep": "keep", "slab_automove": "automove",
}

func (k Kind) paramOf(setting string) string {
	name, ok := otherNames[setting]
	if ok && slices.ContainsFunc(k.Params, func(p params.Param) bool { return p.Name == name }) {
		return name
	}
	return setting
}

// memoryRange is FROM..TOxFACTOR or FROM..TO+STEP.
var memoryRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)\.\.(.+?)(x|\+)([^x+]+)$`)
})

// mostMemories is how many values a range may have.
const mostMemories = 1000

func (l *Listed) addMemory(k Kind, text string) error {
	for value := range strings.SplitSeq(text, "|") {
		parts := memoryRange().FindStringSubmatch(value)
		if parts == nil {
			bytes, err := k.Unit(value)
			if err != nil {
				return err
			}
			l.addBytes(bytes)
			continue
		}
		first, err := k.Unit(parts[1])
		if err != nil {
			return err
		}
		last, err := k.Unit(parts[2])
		if err != nil {
			return err
		}
		step, err := k.step(parts[3], parts[4])
		if err != nil {
			return err
		}
		for n, bytes := 0, first; bytes <= last; bytes = step(bytes) {
			if n++; n > mostMemories || step(bytes) <= bytes {
				return fmt.Errorf("a range of at most %d values that grow, such as 1gb..8gbx2, is wanted", mostMemories)
			}
			l.addBytes(bytes)
		}
	}
	return nil
}

// step returns what leads from one value of a range to the next.
func (k Kind) step(kind, text string) (func(int64) int64, error) {
	if kind == "x" {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 1) {
			return nil, fmt.Errorf("factor %q: want a number above 1", text)
		}
		return func(n int64) int64 { return int64(float64(n) * factor) }, nil
	}
	more, err := k.Unit(text)
	return func(n int64) int64 { return n + more }, err
}

func (l *Listed) addBytes(bytes int64) {
	if !slices.Contains(l.Capacities, bytes) {
		l.Capacities = append(l.Capacities, bytes)
	}
}

// MemoryText writes bytes as the server's setting does, without fractions.
func (k Kind) MemoryText(n int64) string {
	suffixes := [3]string{"gb", "mb", "kb"}
	if k.Memory != "maxmemory" {
		suffixes = [3]string{"g", "m", "k"}
	}
	for i, shift := range []int{30, 20, 10} {
		if n%(1<<shift) == 0 {
			return strconv.FormatInt(n>>shift, 10) + suffixes[i]
		}
	}
	return strconv.FormatInt(n, 10)
}
