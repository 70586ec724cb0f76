package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
)

// Parameters of every router of objects: which nodes are lost, and when.
var (
	loseParam = params.Param{Name: "lose", Default: "", Doc: "nodes, counted from 0, that are lost with all they hold, " +
		"as in 2@3600s, a time since the first request, or 2@100000, after so many requests; several as in 2@1h+0@2h"}
	backParam = params.Param{Name: "back", Default: "", Doc: "lost nodes that come back, empty, as in 2@2h"}
)

// Moment is a time since the first request, or a number of requests.
type Moment struct {
	Time     time.Duration
	Requests int
	Counted  bool // Requests says when it is
}

func (m Moment) String() string {
	if m.Counted {
		return fmt.Sprintf("%d requests", m.Requests)
	}
	return m.Time.String()
}

// Epoch is the nodes that exist from a moment on, in ascending order.
type Epoch struct {
	Moment
	Nodes []uint16
}

// IsForObjects reports whether a router has parameters that mean nothing to prompts.
func IsForObjects(s Spec) bool {
	return HasSecond(s) || s.Entry.Place != nil && s.Params.Text(loseParam.Name)+s.Params.Text(backParam.Name) != ""
}

// EpochsOf returns which nodes a router of objects has, the first ones from the first request on.
func EpochsOf(s Spec) []Epoch {
	epochs, err := epochsIn(s.Params)
	if err != nil {
		panic(err) // CheckValues has accepted it
	}
	return epochs
}

func epochsIn(v params.Values) (epochs []Epoch, err error) {
	changes, err := ParseNodes(v.Text(nodesParam.Name))
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		epochs = append(epochs, Epoch{Moment{Time: c.At}, firstNodes(c.Nodes)})
	}
	lost, err := parseMoments(loseParam.Name, v.Text(loseParam.Name))
	if err != nil {
		return nil, err
	}
	back, err := parseMoments(backParam.Name, v.Text(backParam.Name))
	if err != nil || len(lost)+len(back) == 0 {
		return epochs, err
	}
	if len(changes) > 1 {
		return nil, fmt.Errorf("lose=%s: the number of nodes changes at times already, %s; give one of them",
			v.Text(loseParam.Name), v.Text(nodesParam.Name))
	}
	return apply(epochs[0], slices.Concat(lost, back), len(lost))
}

func firstNodes(n int) []uint16 {
	nodes := make([]uint16, n)
	for k := range nodes {
		nodes[k] = uint16(k)
	}
	return nodes
}

// event is a node that is lost or comes back.
type event struct {
	Moment
	node uint16
	text string
}

// apply returns the epochs that begin with events, of which the first lose a node.
func apply(first Epoch, events []event, losing int) ([]Epoch, error) {
	all := len(first.Nodes)
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
		if events[i].Counted != events[0].Counted {
			return nil, fmt.Errorf("%s and %s: one is a time, the other a number of requests; write both as times or both "+
				"as numbers", events[0].text, events[i].text)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(events[a].Time-events[b].Time) + events[a].Requests - events[b].Requests
	})
	epochs := []Epoch{first}
	for _, i := range order {
		e := events[i]
		last := &epochs[len(epochs)-1]
		place, exists := slices.BinarySearch(last.Nodes, e.node)
		nodes := slices.Clone(last.Nodes)
		switch {
		case int(e.node) >= all:
			return nil, fmt.Errorf("%s: there is no node %d; want one from 0 to %d", e.text, e.node, all-1)
		case i < losing && !exists:
			return nil, fmt.Errorf("%s: node %d is lost already; remove that entry", e.text, e.node)
		case i >= losing && exists:
			return nil, fmt.Errorf("%s: node %d is not lost then; want lose=%[2]d at an earlier moment", e.text, e.node)
		case i < losing && len(nodes) == 1:
			return nil, fmt.Errorf("%s: node %d is the last one, and nobody would serve the requests; leave one", e.text,
				e.node)
		case i < losing:
			nodes = slices.Delete(nodes, place, place+1)
		default:
			nodes = slices.Insert(nodes, place, e.node)
		}
		if last.Moment == e.Moment || (e.Moment == Moment{Counted: true}) && len(epochs) == 1 {
			last.Nodes = nodes
			continue
		}
		epochs = append(epochs, Epoch{e.Moment, nodes})
	}
	return epochs, nil
}

// parseMoments reads nodes and their moments, as in 2@3600s+0@7200s.
func parseMoments(name, text string) (events []event, err error) {
	if text == "" {
		return nil, nil
	}
	for _, item := range strings.Split(text, "+") {
		node, at, _ := strings.Cut(item, "@")
		e := event{text: name + "=" + item}
		number, err := strconv.ParseUint(node, 10, 16)
		if err == nil {
			e.node = uint16(number)
			e.Moment, err = parseMoment(at)
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %q is no node with its moment; want one like 2@3600s, a time since the first "+
				"request, or 2@100000, after so many requests", name, text, item)
		}
		events = append(events, e)
	}
	return events, nil
}

func parseMoment(text string) (m Moment, err error) {
	if n, err := strconv.ParseUint(text, 10, 40); err == nil {
		return Moment{Requests: int(n), Counted: true}, nil
	}
	m.Time, err = time.ParseDuration(text)
	if err == nil && m.Time < 0 {
		err = strconv.ErrRange
	}
	return m, err
}
