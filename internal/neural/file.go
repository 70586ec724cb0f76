package neural

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// file is a network as it is stored: JSON that says how it was made, its widths and its parameters, which are kept as
// float32.
type file struct {
	Format     string   `json:"format"`
	Made       string   `json:"made"` // the command that made it
	Seed       uint64   `json:"seed"`
	Activation string   `json:"activation"`
	Widths     []int    `json:"widths"`
	Parameters []number `json:"parameters"`
}

const (
	format     = "cachesim network 1"
	activation = "tanh"
	// The largest file that is read, and the most widths that a message lists.
	maxFile   = 16 << 20
	maxWidths = 16
)

// number is a parameter in a file. Unlike a float32 it is never null.
type number float32

// UnmarshalJSON reads a number that a float32 can hold.
func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 32)
	if err != nil {
		return fmt.Errorf("parameter %.20q is not a number of 32 bits", text)
	}
	*n = number(v)
	return nil
}

// Round rounds the parameters to what a file keeps of them.
func (n *Network) Round() {
	for i, p := range n.params {
		n.params[i] = float64(float32(p))
	}
}

// Write writes a network, and the command and the seed that made it. It fails if a parameter is not a finite number.
func (n *Network) Write(w io.Writer, made string, seed uint64) error {
	if err := n.Check(); err != nil {
		return err
	}
	command, err := json.Marshal(made)
	if err != nil {
		return err
	}
	widths, err := json.Marshal(n.widths)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\n\"format\": %q,\n\"made\": %s,\n\"seed\": %d,\n", format, command, seed)
	fmt.Fprintf(b, "\"activation\": %q,\n\"widths\": %s,\n\"parameters\": [", activation, widths)
	const perLine = 10
	for i, p := range n.params {
		if i > 0 {
			b.WriteByte(',')
		}
		if i%perLine == 0 {
			b.WriteByte('\n')
		}
		b.Write(strconv.AppendFloat(nil, p, 'g', -1, 32))
	}
	b.WriteString("\n]\n}\n")
	return b.Flush()
}

// Read reads a network of the given widths, and returns the command that made it.
func Read(r io.Reader, widths ...int) (*Network, string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, "", err
	}
	if len(text) > maxFile {
		return nil, "", fmt.Errorf("more than %d MiB, want the weights of a network, which need less", maxFile>>20)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, "", fmt.Errorf("no weights of a network in JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, "", errors.New("text follows the weights; want one JSON object")
	}
	switch {
	case f.Format != format:
		return nil, "", fmt.Errorf("format %.40q, want %q", f.Format, format)
	case f.Activation != activation:
		return nil, "", fmt.Errorf("activation %.40q, want %q", f.Activation, activation)
	case !slices.Equal(f.Widths, widths):
		return nil, "", fmt.Errorf("layers of %s neurons, want %s", list(f.Widths), list(widths))
	}
	n := New(widths...)
	if len(f.Parameters) != n.Params() {
		return nil, "", fmt.Errorf("%d parameters, want %d for layers of %s neurons", len(f.Parameters), n.Params(),
			list(widths))
	}
	for i, p := range f.Parameters {
		n.params[i] = float64(p)
	}
	return n, f.Made, nil
}

// list writes widths as 7-64-128-6, shortened if there are too many.
func list(widths []int) string {
	var b bytes.Buffer
	for i, w := range widths {
		if i == maxWidths {
			return b.String() + "-..."
		}
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strconv.Itoa(w))
	}
	if b.Len() == 0 {
		return "no"
	}
	return b.String()
}
