package commands

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/compress"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

const samplesDir = testdataDir + "/samples"

// How much of long traces the samples have.
const (
	rowsOfDialogues = 320
	ratings         = 18_000
)

// convertedSamples are the arguments of cachesim convert, with files below the folder of real traces, that make the
// samples of these names.
var convertedSamples = map[string][]string{
	"lirs-gli.txt.zst":               {"block/lirs-gli.trace.gz"},
	"lirs-multi2.txt.zst":            {"block/lirs-multi2.trace.gz"},
	"lirs-sprite.txt.zst":            {"block/lirs-sprite.trace.gz"},
	"lirs-cpp.txt.zst":               {"block/lirs-cpp.trace.gz"},
	"cloudphysics.oracleGeneral.zst": {"block/cloudPhysicsIO.oracleGeneral.bin.zst", "--limit", "40000"},
	"meta-reuse-low.txt.zst":         {"dlrm/meta-reuse-low-500k.txt.zst", "--limit", "40000"},
	"meta-reuse-medium.txt.zst":      {"dlrm/meta-reuse-medium-500k.txt.zst", "--limit", "40000"},
	"mooncake.jsonl.zst":             {"llm/mooncake-conversation.jsonl.zst"},
}

// dialogueSamples are traces of queries, with their options and the file of their embeddings: numbers stay of them.
var dialogueSamples = map[string]struct {
	files, format, vectors string
	lexical                bool // whether the lexical embeddings of their texts are kept, too
}{
	"clinc": {"dialogue/clinc150.json.zst", "clinc:requests=10000,alpha=0.7,episode=5,seed=0",
		"dialogue/embeddings/minilm-clinc.npy.zst", true},
	"qqp": {"dialogue/qqp-duplicate-pairs.json.gz", "qqp:distance=100,requests=10000,seed=0",
		"dialogue/embeddings/minilm-qqp.npy.zst", true},
	"sgd": {"dialogue/sgd-dev/dialogues_001.json.gz", "sgd", "dialogue/embeddings/minilm-sgd.npy.zst", true},
	"oasst": {"dialogue/oasst-en_100_tree.jsonl.zst", "oasst:roles=both",
		"dialogue/embeddings/minilm-oasst.npy.zst", false},
	"tiage": {"dialogue/tiage-anno_train.json.zst", "tiage", "dialogue/embeddings/minilm-tiage.npy.zst", true},
}

// sampleSessions are the numbers of the sessions of coding agents that are copied: of 57, six of middle size.
var sampleSessions = []string{"0075", "0100", "0234", "0434", "0587", "0683"}

// TestSamplesRegenerate makes the samples in testdata/samples again, from the real traces. UPDATE=1 rewrites them.
func TestSamplesRegenerate(t *testing.T) {
	traces := os.Getenv(workload.Env)
	if traces == "" {
		t.Skip(workload.Env + " is not set: no real traces to take samples of")
	}
	made := map[string][]byte{}
	for name, args := range convertedSamples {
		args = append([]string{"convert", filepath.Join(traces, args[0])}, args[1:]...)
		made[name] = outputOf(t, name, args...)
	}
	for _, process := range []string{"0", "1"} {
		made["unet3d-"+process+".csv.zst"] = readsOfNumberedFiles(t, filepath.Join(traces, "files/dlio-unet3d",
			"trace-"+process+"-of-8.pfw.gz"))
	}
	for name, d := range dialogueSamples {
		queries, lexical := queriesInNumbers(t, name, filepath.Join(traces, d.files), d.format)
		made[name+".jsonl.zst"], made[name+"-minilm.npy.zst"] = queries, firstRows(t, filepath.Join(traces, d.vectors))
		if d.lexical {
			made[name+"-lexical.npy.zst"] = lexical
		}
	}
	for _, session := range sampleSessions {
		name := "trace_" + session + ".json.gz"
		made["agents/"+name] = must.Get(os.ReadFile(filepath.Join(traces, "llm/agent-sessions", name)))(t)
	}
	made["movietweetings.dat.zst"] = firstRatings(t, filepath.Join(traces, "dlrm/movietweetings-ratings.dat.zst"))
	made["tau-bench.tar.zst"] = blocksOfSessions(t, filepath.Join(traces, "llm/agent-text-taubench.tar.zst"))
	made["sawyer.attention.zst"] = shortAttention(t, filepath.Join(traces, "attention/sawyer"))
	made["sawyer-importance.tsv"] = must.Get(os.ReadFile(filepath.Join(traces, "attention/sawyer-importance.tsv")))(t)
	for name, got := range made {
		stored := filepath.Join(samplesDir, name)
		if os.Getenv("UPDATE") != "" {
			must.Do(t, os.WriteFile(stored, got, 0o644))
		}
		if want := must.Get(os.ReadFile(stored))(t); !bytes.Equal(got, want) {
			t.Errorf("%s: has %d bytes now, and %d or others in the file; set UPDATE=1 if that is meant", stored, len(got),
				len(want))
		}
	}
}

// readsOfNumberedFiles returns the reads of a log without the folders of the machine that wrote it.
func readsOfNumberedFiles(t *testing.T, path string) []byte {
	t.Helper()
	reads := outputOf(t, "reads.csv", "convert", path)
	return compressed(t, regexp.MustCompile(`/p/[^,]*/unet3d[^/,]*/`).ReplaceAll(reads, []byte("unet3d/")))
}

// outputOf returns the file that a command of cachesim writes, whose name it adds.
func outputOf(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var stderr bytes.Buffer
	if code := run(append(args, path, "--quiet"), nil, &stderr, &stderr); code != exitFine {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return must.Get(os.ReadFile(path))(t)
}

// queriesInNumbers returns the first queries of a trace with a number in the place of each name and without their
// texts, and the lexical embeddings of those.
func queriesInNumbers(t *testing.T, name, files, format string) (queries, vectors []byte) {
	t.Helper()
	text := outputOf(t, name+".jsonl", "convert", files, "--input-format", format,
		"--limit", strconv.Itoa(rowsOfDialogues))
	source := filepath.Join(t.TempDir(), name+".jsonl")
	must.Do(t, os.WriteFile(source, text, 0o644))
	numbers := map[string]map[any]int{} // of the values of a key
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		var fields map[string]any
		must.Do(t, json.Unmarshal(line, &fields))
		delete(fields, "text")
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if key == "time" {
				continue
			}
			if numbers[key] == nil {
				numbers[key] = map[any]int{}
			}
			if _, known := numbers[key][fields[key]]; !known {
				numbers[key][fields[key]] = len(numbers[key])
			}
			fields[key] = strconv.Itoa(numbers[key][fields[key]])
		}
		lines.Write(append(must.Get(json.Marshal(fields))(t), '\n'))
	}
	return compressed(t, lines.Bytes()), outputOf(t, name+".npy.zst", "embed", source, "-o")
}

// firstRatings returns the first ratings by time of a file user::item::rating::time.
func firstRatings(t *testing.T, path string) []byte {
	t.Helper()
	lines := bytes.SplitAfter(decompressed(t, path), []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return len(line) == 0 })
	at := func(line []byte) int {
		return must.Get(strconv.Atoi(string(bytes.TrimSpace(line[bytes.LastIndexByte(line, ':')+1:]))))(t)
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return at(a) - at(b) })
	return compressed(t, bytes.Join(lines[:ratings], nil))
}

// blocksOfSessions returns the prompts of an archive of sessions as numbers of their tokens, a file for each session.
func blocksOfSessions(t *testing.T, path string) []byte {
	t.Helper()
	var archive bytes.Buffer
	in, out := tar.NewReader(bytes.NewReader(decompressed(t, path))), tar.NewWriter(&archive)
	for i := 0; ; i++ {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		must.Do(t, err)
		if header.Typeflag != tar.TypeReg || header.Size == 0 {
			continue
		}
		name := fmt.Sprintf("%02d.jsonl", i)
		session := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(session, must.Get(io.ReadAll(in))(t), 0o644))
		prompts := outputOf(t, name, "convert", session, "--input-format", "chat:block=1")
		numbers := map[string]int{}
		prompts = regexp.MustCompile(`\d{6,}[,\]]`).ReplaceAllFunc(prompts, func(id []byte) []byte {
			key, end := string(id[:len(id)-1]), id[len(id)-1]
			if _, known := numbers[key]; !known {
				numbers[key] = len(numbers)
			}
			return append(strconv.AppendInt(nil, int64(numbers[key]), 10), end)
		})
		must.Do(t, out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(prompts))}))
		must.Get(out.Write(prompts))(t)
	}
	must.Do(t, out.Close())
	return compressed(t, archive.Bytes())
}

// firstRows returns the first rows of an array of float16.
func firstRows(t *testing.T, path string) []byte {
	t.Helper()
	whole := decompressed(t, path)
	const fixed = 10 // bytes before the header: the signature, the version, the header's length
	end := fixed + int(binary.LittleEndian.Uint16(whole[fixed-2:]))
	shape := regexp.MustCompile(`'<f2'.*\((\d+), (\d+)\)`).FindSubmatchIndex(whole[:end])
	if shape == nil {
		t.Fatalf("%s: has no array of float16 in two dimensions", path)
	}
	dim := must.Get(strconv.Atoi(string(whole[shape[4]:shape[5]])))(t)
	copy(whole[shape[2]:shape[3]], fmt.Sprintf("%*d", shape[3]-shape[2], rowsOfDialogues))
	return compressed(t, whole[:end+rowsOfDialogues*dim*2])
}

func decompressed(t *testing.T, path string) []byte {
	t.Helper()
	decoder := compress.NewZstd()
	defer decoder.Close()
	must.Do(t, decoder.Reset(bytes.NewReader(must.Get(os.ReadFile(path))(t))))
	return must.Get(io.ReadAll(decoder))(t)
}

func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, compress.Write(&out, "sample.zst", func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}))
	return out.Bytes()
}

// shortened is a part of an attention trace: some of its layers, the first and the last tokens of its prompt, and its
// first steps.
type shortened struct {
	attention.Trace
	shape attention.Shape
	from  attention.Head
}

func (s *shortened) Shape() *attention.Shape { return &s.shape }

func (s *shortened) Next(h *attention.Head) error {
	for {
		if err := s.Trace.Next(&s.from); err != nil {
			return err
		}
		if slices.Contains(s.shape.Layers, s.from.Layer) {
			break
		}
	}
	whole := s.Trace.Shape()
	layer := slices.Index(s.shape.Layers, s.from.Layer)
	h.Begin(&s.shape, layer*s.shape.KVHeads+s.from.KV)
	queries := s.shape.Steps * s.shape.Group() * s.shape.Dim
	h.Queries = append(h.Queries[:0], s.from.Queries[:queries]...)
	h.Predicted = append(h.Predicted[:0], s.from.Predicted[:queries]...)
	cut := func(to, from []float32) []float32 {
		left := whole.Prompt - s.shape.Prompt
		to = append(to[:0], from[:attention.Sink*s.shape.Dim]...)
		return append(to, from[(attention.Sink+left)*s.shape.Dim:(whole.Prompt+s.shape.Steps)*s.shape.Dim]...)
	}
	h.Keys, h.Values = cut(h.Keys, s.from.Keys), cut(h.Values, s.from.Values)
	return nil
}

func shortAttention(t *testing.T, path string) []byte {
	t.Helper()
	whole := must.Get(attention.Open(t.Context(), path, nil, attention.Options{
		Parts: attention.Parts{Predicted: true, Keys: true, Values: true}}))(t)
	defer whole.Close()
	part := &shortened{Trace: whole, shape: *whole.Shape()}
	part.shape.Layers, part.shape.Prompt, part.shape.Steps = []int{4, 8, 12, 20}, 500, 32
	out := filepath.Join(t.TempDir(), "sawyer.attention.zst")
	must.Do(t, attention.WriteFile(t.Context(), out, nil, part, 1, nil))
	return must.Get(os.ReadFile(out))(t)
}
