package embed_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/interpreter"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/traces/queries"
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

// checkToy runs the tool and compares its rows: mean vectors of the words, of length 1, one for each line.
func checkToy(t *testing.T, python string, env []string, model string) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "queries.npy")
	must.Do(t, os.WriteFile(in, []byte(toyQueries), 0o644))
	program := exec.Command(python, tool, model, in, "-o", out, "--batch", "2")
	program.Env = append(os.Environ(), env...)
	if text, err := program.CombinedOutput(); err != nil || !bytes.Contains(text, []byte("4 requests, 3 distinct texts")) {
		t.Fatalf("%v: %s", err, text)
	}
	v := must.Get(queries.OpenVectors(t.Context(), out, nil))(t)
	defer v.Close()
	long := math.Hypot(2, 3)
	row := make([]float32, v.Dim())
	for i, want := range [][]float64{{1, 0}, {2 / long, 3 / long}, {0, 1}, {1, 0}} {
		must.Do(t, v.Read(row))
		if math.Abs(float64(row[0])-want[0]) > 1e-6 || math.Abs(float64(row[1])-want[1]) > 1e-6 {
			t.Errorf("row %d is %v, want %v", i, row, want)
		}
	}
	if err := v.Read(row); err != io.EOF {
		t.Errorf("after the last row: %v", err)
	}
}

func TestToolEmbedsWithONNX(t *testing.T) {
	python := interpreter.Python(t, "numpy, onnx, onnxruntime, tokenizers")
	model := t.TempDir()
	if text, err := exec.Command(python, "-c", toyModel, model).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	checkToy(t, python, nil, model)
}

func TestToolEmbedsWithSentenceTransformers(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	modules := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(modules, "sentence_transformers.py"), []byte(toySentences), 0o644))
	checkToy(t, python, []string{"PYTHONPATH=" + modules}, "toy")
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
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "queries.jsonl")
		must.Do(t, os.WriteFile(in, []byte(content), 0o644))
		program := exec.Command(python, tool, "toy", in, "-o", filepath.Join(dir, "out.npy"))
		program.Env = append(os.Environ(), "PYTHONPATH="+modules)
		text, err := program.CombinedOutput()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != 2 || !bytes.Contains(text, []byte(want)) || bytes.Contains(text, []byte("Traceback")) {
			t.Errorf("%q: %v, %s, want exit code 2 and %q", content, err, text, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "out*")); left != nil {
			t.Errorf("%q leaves %v", content, left)
		}
	}
}
