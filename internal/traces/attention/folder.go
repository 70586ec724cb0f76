package attention

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// metaName is the file of a folder that states its dimensions.
const metaName = "meta.json"

// meta is what metaName states that is of use here.
type meta struct {
	Model struct {
		Name string `json:"general.name"`
	} `json:"model"`
	Context      int      `json:"context"`
	Steps        int      `json:"steps"`
	Layers       int      `json:"layers"` // of the model
	LayersStored []int    `json:"layers_stored"`
	QueryHeads   int      `json:"query_heads"`
	KVHeads      int      `json:"kv_heads"`
	Dim          int      `json:"head_dim"`
	Scale        *float64 `json:"scale"`
}

// arrayName matches the name of an array of queries, keys or values in a folder.
var arrayName = regexp.MustCompile(`^[qpkv]\.L[0-9]+\.npy(\.[a-z0-9]+)?$`)

// IsFolder reports whether path is a folder with arrays of an attention trace.
func IsFolder(path string) bool {
	entries, _ := os.ReadDir(path) // none of a file
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return arrayName.MatchString(e.Name()) })
}

// FilesOf returns the files of an attention trace: those of a folder in the order of their names, and its importances.
func FilesOf(path string) (paths []string) {
	if IsFolder(path) {
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if e.Name() == metaName || arrayName.MatchString(e.Name()) {
				paths = append(paths, filepath.Join(path, e.Name()))
			}
		}
	} else {
		paths = append(paths, path)
	}
	if beside := ImportancesOf(path); beside != "" {
		paths = append(paths, beside)
	}
	return paths
}

// ImportancesOf returns the file with the importance of each KV head: NAME-importance.tsv beside the folder or file
// NAME; "" if there is none.
func ImportancesOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	beside := filepath.Join(filepath.Dir(path), name+"-importance.tsv")
	if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return beside
}

// openFolder opens a folder with meta.json and an array (.npy, possibly compressed) for each layer and part: q.L04.npy
// has the queries of layer 4, p.L04.npy the predicted ones, k.L04.npy the keys, v.L04.npy the values.
func openFolder(ctx context.Context, dir string, options Options) (Trace, error) {
	shape, err := readMeta(dir)
	if err != nil {
		return nil, err
	}
	_, err = findArray(dir, 'p', shape.Layers[0])
	shape.Predicted = err == nil
	err = eachArray(shape, func(part byte, layer int) error {
		_, err := findArray(dir, part, layer)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := options.need(dir, shape); err != nil {
		return nil, err
	}
	return &layered{
		shape: options.limited(*shape), steps: shape.Steps, options: options, release: func() error { return nil },
		open: func(part byte, layer int) (*array, error) {
			path, err := findArray(dir, part, layer)
			if err != nil {
				return nil, err
			}
			return openNpy(ctx, path)
		},
	}, nil
}

func readMeta(dir string) (*Shape, error) {
	const most = 1 << 20
	path := filepath.Join(dir, metaName)
	file, err := filestate.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: has no %s, which states context, steps, query_heads, kv_heads, head_dim and "+
			"layers_stored",
			dir, metaName)
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	shape, err := parseMeta(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return shape, nil
}

func parseMeta(text []byte) (*Shape, error) {
	var m meta
	err := jsonlines.Parse(text, &m, "a JSON object that states the dimensions of an attention trace")
	if err != nil {
		return nil, err
	}
	layers := m.LayersStored
	if layers == nil {
		if m.Layers > maxLayers {
			return nil, fmt.Errorf("%d layers: want 1 to %d", m.Layers, maxLayers)
		}
		for layer := range m.Layers {
			layers = append(layers, layer)
		}
	}
	shape := &Shape{Model: m.Model.Name, Layers: layers, QueryHeads: m.QueryHeads, KVHeads: m.KVHeads, Dim: m.Dim,
		Prompt: m.Context, Steps: m.Steps, Scale: 1 / math.Sqrt(float64(m.Dim))}
	if m.Scale != nil {
		shape.Scale = *m.Scale
	}
	return shape, shape.check()
}

// findArray returns the path of an array, whatever its compression.
func findArray(dir string, part byte, layer int) (string, error) {
	name := fmt.Sprintf("%c.L%02d.npy", part, layer)
	for _, ending := range []string{"", ".zst", ".gz", ".xz", ".bz2", ".lz4", ".s2", ".sz"} {
		path := filepath.Join(dir, name+ending)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: has no %s, the %s of layer %d, compressed or not", dir, name, partNames[part], layer)
}

func openNpy(ctx context.Context, path string) (*array, error) {
	in, err := source.OpenFile(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	a, err := newNpy(in)
	if err != nil {
		in.Close()
		return nil, err
	}
	return a, nil
}

func newNpy(in *source.File) (*array, error) {
	src, err := source.New(in, in.Label, in.Path, in)
	if err != nil {
		return nil, err
	}
	header, err := npy.Read(src)
	if err != nil {
		return nil, err
	}
	lengths, err := header.Dimensions()
	if err != nil {
		return nil, src.Errorf("%w", err)
	}
	return &array{
		label: src.Place, r: src, numbers: map[int]numbers{2: float16s, 4: float32s, 8: float64s}[header.Width],
		lengths: lengths, changed: in.Opened.Check, close: in.Close,
	}, nil
}
