// Package neural has small neural networks: dense layers with tanh between them, their gradients, and Adam. A network
// comes from New and Initialise, or from a file (Read); Forward computes its outputs, Backward the gradient that
// Adam.Step follows.
//
// Products of matrices are computed here, in plain Go: no network here has more than some 10 000 parameters, and the
// results are the same on every machine and any number of cores. Gemm of gonum is about twice as fast on amd64, but
// rounds differently elsewhere, where the compiler fuses products with sums: a network that learns during a replay
// would then give other records there. Go's libraries with automatic differentiation (Gorgonia and others) are no
// longer maintained, or need C or a GPU.
package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Network is a multilayer perceptron: each layer is dense, with tanh after all but the last. Several goroutines may use
// one, each with its own Work, as long as none changes its parameters.
type Network struct {
	widths []int
	params []float64 // of each layer its weights, one row per input, then its biases
	layers []layer
}

// layer is a view of the parameters of one layer, and where they begin.
type layer struct {
	in, out int
	weights []float64
	biases  []float64
	at      int
}

// New returns a network whose parameters are 0. Widths are the numbers of inputs, of neurons in each hidden layer, and
// of outputs.
func New(widths ...int) *Network {
	if len(widths) < 2 {
		panic("neural: a network needs inputs and outputs")
	}
	n := &Network{widths: append([]int(nil), widths...)}
	total := 0
	for l, in := range widths[:len(widths)-1] {
		total += (in + 1) * widths[l+1]
	}
	n.params = make([]float64, total)
	at := 0
	for l, in := range widths[:len(widths)-1] {
		out := widths[l+1]
		biases := at + in*out
		n.layers = append(n.layers, layer{in, out, n.params[at:biases], n.params[biases : biases+out], at})
		at = biases + out
	}
	return n
}

// Clone returns a copy with parameters of its own.
func (n *Network) Clone() *Network {
	c := New(n.widths...)
	copy(c.params, n.params)
	return c
}

func (n *Network) Params() int { return len(n.params) }

// Weights returns all parameters, layer by layer: a row of weights per input, then the biases. Changes to them change
// the network.
func (n *Network) Weights() []float64 { return n.params }

// Widths returns the numbers of inputs, hidden neurons and outputs.
func (n *Network) Widths() []int { return append([]int(nil), n.widths...) }
func (n *Network) Inputs() int   { return n.widths[0] }
func (n *Network) Outputs() int  { return n.widths[len(n.widths)-1] }

// Initialise draws the weights from normal distributions with a variance of 2/(inputs+outputs) of the layer (Glorot and
// Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010), and sets the biases
// to 0. The weights to output i of the network are multiplied by gains[i], if given.
func (n *Network) Initialise(bits *rand.PCG, gains ...float64) {
	for l, layer := range n.layers {
		sd := math.Sqrt(2 / float64(layer.in+layer.out))
		for i := range layer.weights {
			layer.weights[i] = sd * random.Normal(bits)
			if out := i % layer.out; l == len(n.layers)-1 && out < len(gains) {
				layer.weights[i] *= gains[out]
			}
		}
		clear(layer.biases)
	}
}

// mostParameter is the largest parameter in either direction. It is far more than any that makes sense, but long
// training that sharpens a policy may give large ones: in HLEM they grow by 3% per episode, to 2000 after 300.
const mostParameter = 1e30

// Check fails if a parameter is NaN, or larger than mostParameter.
func (n *Network) Check() error {
	for i, p := range n.params {
		// Negated, so that NaN fails.
		if !(math.Abs(p) <= mostParameter) {
			return n.refuse(i, strconv.AppendFloat(nil, p, 'g', -1, 32))
		}
	}
	return nil
}

func (n *Network) refuse(i int, value []byte) error {
	number := 1 + sort.Search(len(n.layers)-1, func(l int) bool { return i < n.layers[l+1].at })
	layer := &n.layers[number-1]
	return fmt.Errorf("parameter %d of layer %d of %d is %.20q, want a number from %g to %g", i-layer.at, number,
		len(n.layers), value, -mostParameter, mostParameter)
}

// Work holds what a goroutine computes with a network: the values of its neurons and their gradients.
type Work struct {
	widths     []int
	room       int         // rows
	rows       int         // of the last Forward
	values     [][]float64 // of each layer, the first are the inputs
	gradients  [][]float64 // the same for Backward; nil until it is called
	transposed []float64
}

// NewWork returns room for up to a number of rows at a time.
func (n *Network) NewWork(rows int) *Work {
	w := &Work{widths: n.widths, room: rows, values: make([][]float64, len(n.widths))}
	for l, width := range n.widths {
		w.values[l] = make([]float64, rows*width)
	}
	return w
}

// Forward returns the outputs for one or more rows of inputs, row by row: Inputs numbers in a row, Outputs numbers for
// it, and at most as many rows as w has room for. They are valid until the next call with w. It allocates nothing.
func (n *Network) Forward(inputs []float64, w *Work) []float64 {
	w.rows = len(inputs) / n.Inputs()
	copy(w.values[0], inputs)
	for l := range n.layers {
		layer := &n.layers[l]
		x, y := w.values[l], w.values[l+1][:w.rows*layer.out]
		for r := range w.rows {
			copy(y[r*layer.out:], layer.biases)
		}
		multiplyAdd(y, matrix{x, layer.in, 1}, layer.weights, w.rows, layer.in, layer.out)
		if l < len(n.layers)-1 {
			for i, v := range y {
				y[i] = tanh(v)
			}
		}
	}
	return w.values[len(n.layers)][:w.rows*n.Outputs()]
}

// Backward adds the gradient of a loss with respect to the parameters to sum, which has the order of Weights. The loss
// is given by its gradient with respect to the outputs of the last Forward with w, row by row.
func (n *Network) Backward(outputs []float64, w *Work, sum []float64) {
	w.prepare()
	last := len(n.layers)
	copy(w.gradients[last], outputs[:w.rows*n.Outputs()])
	for l := last - 1; l >= 0; l-- {
		layer := &n.layers[l]
		x, dy := w.values[l], w.gradients[l+1][:w.rows*layer.out]
		weights := sum[layer.at : layer.at+layer.in*layer.out]
		biases := sum[layer.at+layer.in*layer.out:][:layer.out]
		multiplyAdd(weights, matrix{x, 1, layer.in}, dy, layer.in, w.rows, layer.out)
		for r := range w.rows {
			for c, g := range dy[r*layer.out:][:layer.out] {
				biases[c] += g
			}
		}
		if l == 0 {
			return
		}
		// A transposed copy, so that the inner loop of multiplyAdd reads consecutive numbers here, too.
		t := w.transposed[:layer.in*layer.out]
		transpose(t, layer.weights, layer.in, layer.out)
		dx := w.gradients[l][:w.rows*layer.in]
		clear(dx)
		multiplyAdd(dx, matrix{dy, layer.out, 1}, t, w.rows, layer.out, layer.in)
		for i, v := range x[:len(dx)] {
			dx[i] *= 1 - float64(v*v) // the derivative of tanh
		}
	}
}

// prepare makes room for gradients.
func (w *Work) prepare() {
	if w.gradients != nil {
		return
	}
	w.gradients = make([][]float64, len(w.widths))
	most := 0
	for l, width := range w.widths {
		if l > 0 {
			w.gradients[l] = make([]float64, w.room*width)
			most = max(most, width*w.widths[l-1])
		}
	}
	w.transposed = make([]float64, most)
}
