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

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// file is a network as it is stored: JSON that says how it was made, its widths and its parameters, which are kept as
// float32.
type file struct {
	Format     string            `json:"format"`
	Made       string            `json:"made"` // the command that made it
	Seed       uint64            `json:"seed"`
	Activation string            `json:"activation"`
	Widths     []int             `json:"widths"`
	Parameters []json.RawMessage `json:"parameters"`
}

const (
	format     = "cachesim network 1"
	activation = "tanh"
	// The largest file that is read, and the most widths that a message lists.
	maxFile   = 16 << 20
	maxWidths = 16
)

// Round rounds the parameters to float32, as a file stores them.
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
	command, err := jsonlines.Marshal(made)
	if err != nil {
		return err
	}
	widths, err := jsonlines.Marshal(n.widths)
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
	n := New(widths...)
	if err := d.Decode(&f); err != nil {
		return nil, "", n.explain(text, err)
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
	if len(f.Parameters) != n.Params() {
		return nil, "", fmt.Errorf("%d parameters, want %d for layers of %s neurons", len(f.Parameters), n.Params(),
			list(widths))
	}
	for i, text := range f.Parameters {
		p, err := strconv.ParseFloat(string(text), 32)
		if err != nil {
			return nil, "", n.refuse(i, text)
		}
		n.params[i] = p
	}
	if err := n.Check(); err != nil {
		return nil, "", err
	}
	return n, f.Made, nil
}

// explain returns the error for a text that is not JSON. If the first mistake is in a parameter, for example NaN, the
// error names it.
func (n *Network) explain(text []byte, err error) error {
	_, values, _ := bytes.Cut(text, []byte(`"parameters"`))
	_, values, found := bytes.Cut(values, []byte("["))
	var syntax *json.SyntaxError
	if found && errors.As(err, &syntax) {
		read := int(syntax.Offset) - 1 - (len(text) - len(values)) // of values, before the mistake
		if read >= 0 {
			i, at := bytes.Count(values[:read], []byte(",")), bytes.LastIndexByte(values[:read], ',')+1
			value := bytes.TrimSpace(values[at:])
			if end := bytes.IndexAny(value, ", ]}\r\n\t"); end > 0 && i < n.Params() {
				return n.refuse(i, value[:end])
			}
		}
	}
	return fmt.Errorf("no weights of a network in JSON: %w", err)
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
