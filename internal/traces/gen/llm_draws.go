package gen

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

// newLengths returns a function that draws lengths of mean 1 and standard deviation cv.
func newLengths(kind string, cv float64) (func(*rand.PCG) float64, error) {
	switch {
	case cv < 0:
		return nil, fmt.Errorf("length-cv=%v: want at least 0", cv)
	case cv == 0:
		return func(*rand.PCG) float64 { return 1 }, nil
	case kind == "normal":
		return func(bits *rand.PCG) float64 { return max(1+float64(cv*random.Normal(bits)), 0) }, nil
	case kind == "pareto":
		shape := 2 + 1/(cv*cv)
		// A Pareto distribution with this minimum has a mean of 1.
		least := (shape - 1) / shape
		return func(bits *rand.PCG) float64 { return least * random.Exp(-random.Log(1-random.Unit(bits))/shape) }, nil
	}
	return random.Lognormal(1, cv), nil
}

func newTurnOrder(v params.Values, conversations []conversation, prompts int, seed uint64) ([]int32, error) {
	bits := random.Stream(seed, orderBits)
	if v.Text("next-turn") == "closed" {
		if v.Int("active") < 1 {
			return nil, fmt.Errorf("active=%d: want at least one conversation at a time", v.Int("active"))
		}
		return closedOrder(conversations, prompts, v.Int("active")), nil
	}
	mean, sd := v.Float("gap-mean"), v.Float("gap-sd")
	if mean <= 0 || sd < 0 {
		return nil, fmt.Errorf("gap-mean=%v, gap-sd=%v: want a mean above 0 and a deviation of at least 0", mean, sd)
	}
	return gapOrder(conversations, prompts, mean, random.Lognormal(mean, sd), bits), nil
}

// closedOrder runs a fixed number of conversations at a time. Each sends its next prompt when the output of the last is
// complete, and the next conversation begins when one ends. An output takes time proportional to its tokens, and a
// prompt none, so that the order follows from the trace alone.
func closedOrder(conversations []conversation, prompts, active int) []int32 {
	order := make([]int32, 0, prompts)
	due := &dueHeap{}
	next := 0
	for ; next < min(active, len(conversations)); next++ {
		heap.Push(due, dueTurn{at: 0, conversation: int32(next)})
	}
	given := make([]int, len(conversations))
	for due.Len() > 0 {
		d := (*due)[0]
		order = append(order, d.conversation)
		turns := conversations[d.conversation].turns
		done := d.at + float64(max(turns[given[d.conversation]].output, 1))
		given[d.conversation]++
		switch {
		case given[d.conversation] < len(turns):
			(*due)[0] = dueTurn{at: done, conversation: d.conversation}
			heap.Fix(due, 0)
		case next < len(conversations):
			(*due)[0] = dueTurn{at: done, conversation: int32(next)}
			heap.Fix(due, 0)
			next++
		default:
			heap.Pop(due)
		}
	}
	return order
}

// gapOrder gives every prompt the first free place after its gap. A place for which no prompt is due begins a new
// conversation: one that otherwise could not end within the trace, or else a random one. If no conversation is left,
// the prompt that is due next comes early.
func gapOrder(conversations []conversation, prompts int, mean float64, gap func(*rand.PCG) float64,
	bits *rand.PCG) []int32 {
	order := make([]int32, 0, prompts)
	due := &dueHeap{}
	given := make([]int, len(conversations))
	waiting := newWaitingRoom(conversations, prompts, mean+1)
	for place := 0; place < prompts; place++ {
		var number int32
		if due.Len() > 0 && ((*due)[0].at <= float64(place) || waiting.left == 0) {
			number = heap.Pop(due).(dueTurn).conversation
		} else {
			number = waiting.take(place, bits)
		}
		order = append(order, number)
		given[number]++
		if given[number] < len(conversations[number].turns) {
			heap.Push(due, dueTurn{at: float64(place) + 1 + math.Floor(gap(bits)+0.5), conversation: number})
		}
	}
	return order
}

// dueTurn is the next turn of a conversation.
type dueTurn struct {
	at           float64
	conversation int32
}

// dueHeap orders turns by when they are due, then by conversation. It implements heap.Interface.
type dueHeap []dueTurn

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].conversation, h[j].conversation)) < 0
}

func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(dueTurn)) }

func (h *dueHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// waitingRoom holds the conversations that have not begun.
type waitingRoom struct {
	byTurns [][]int32 // by the number of turns
	latest  []float64 // by the number of turns: the last place at which one must begin to end within the trace
	left    int
	most    int // most turns of a waiting conversation
}

func newWaitingRoom(conversations []conversation, prompts int, perTurn float64) *waitingRoom {
	w := &waitingRoom{left: len(conversations)}
	for i, c := range conversations {
		turns := len(c.turns)
		if turns >= len(w.byTurns) {
			w.byTurns = slices.Grow(w.byTurns, turns+1-len(w.byTurns))[:turns+1]
		}
		w.byTurns[turns] = append(w.byTurns[turns], int32(i))
	}
	w.most = len(w.byTurns) - 1
	for turns := range w.byTurns {
		w.latest = append(w.latest, float64(prompts)-float64(float64(turns-1)*perTurn))
	}
	return w
}

// take removes the conversation that begins at a place.
func (w *waitingRoom) take(place int, bits *rand.PCG) int32 {
	for len(w.byTurns[w.most]) == 0 {
		w.most--
	}
	turns := w.most
	if w.latest[turns] > float64(place) {
		turns = w.draw(bits)
	}
	class := w.byTurns[turns]
	i, _ := random.Below(bits, len(class))
	number := class[i]
	class[i] = class[len(class)-1]
	w.byTurns[turns] = class[:len(class)-1]
	w.left--
	return number
}

// draw returns the number of turns of a randomly chosen conversation.
func (w *waitingRoom) draw(bits *rand.PCG) int {
	i, _ := random.Below(bits, w.left)
	for turns, class := range w.byTurns {
		if i < len(class) {
			return turns
		}
		i -= len(class)
	}
	panic("gen: no conversation is left")
}
