package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/experiment"
)

// planName is the file in a sweep's folder with its numbered cells, one JSON object per line, and an end line.
const planName = "plan.jsonl"

// planEnd is the last line of a plan. It contains a digest of all lines.
type planEnd struct {
	Cells      int    `json:"cells"`
	Experiment string `json:"experiment"` // digest of the file with the experiment
}

// WritePlan writes a sweep's cells into its folder, which is created if it does not exist, next to the experiment,
// whose text is given.
func WritePlan(dir string, cells []experiment.Cell, file []byte) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	end, err := jsonlines.Marshal(planEnd{len(cells), jsonlines.Digest(file)})
	if err != nil {
		return err
	}
	text := jsonlines.Seal(append(planLines(cells), end...))
	return writeText(dir, planName, text)
}

func planLines(cells []experiment.Cell) []byte {
	var lines bytes.Buffer
	texts := make([]experiment.CellText, len(cells))
	for i, c := range cells {
		texts[i] = c.Text()
	}
	if err := jsonlines.Write(&lines, texts); err != nil {
		panic(err) // texts and numbers alone
	}
	return lines.Bytes()
}

// PlanDigest identifies a plan by all of its cells' contents. It is stored in the result of each cell that ran for the
// plan, and in the records. The hash of a cell identifies its result independently of the plan: other plans may use it
// too.
func PlanDigest(cells []experiment.Cell) string { return jsonlines.Digest(planLines(cells))[:20] }

func ReadPlan(dir string) ([]experiment.Cell, error) {
	cells, _, err := readPlan(dir)
	return cells, err
}

// readPlan also returns the digest of the experiment.
func readPlan(dir string) (cells []experiment.Cell, file string, err error) {
	path := filepath.Join(dir, planName)
	text, err := filestate.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &noPlanError{dir}
	}
	if err != nil {
		return nil, "", err
	}
	again := fmt.Sprintf("write it again with cachesim sweep plan FILE -o %s", dir)
	if text, err = jsonlines.Unseal(text); err != nil {
		return nil, "", fmt.Errorf("%s: %w; %s", path, err, again)
	}
	cells, end, err := decodePlan(text)
	if err != nil {
		return nil, "", fmt.Errorf("%s, %w; %s", path, err, again)
	}
	return cells, end.Experiment, nil
}

type noPlanError struct{ dir string }

func (e *noPlanError) Error() string {
	return fmt.Sprintf("%s contains no plan (%s); write one with cachesim sweep plan FILE -o %s", e.dir, planName, e.dir)
}

func decodePlan(text []byte) (cells []experiment.Cell, end planEnd, err error) {
	reader := experiment.CellReader{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	lines := bytes.Count(text, []byte("\n"))
	for n := range lines - 1 { // the last line is the end
		var t experiment.CellText
		if err := decoder.Decode(&t); err != nil {
			return nil, end, fmt.Errorf("cell %d: %w", n, err)
		}
		if t.Number != n || !t.IsNamed() {
			return nil, end, fmt.Errorf("cell %d: differs from the planned cell", n)
		}
		c, err := reader.Read(t)
		if err != nil {
			return nil, end, fmt.Errorf("cell %d: %w", n, err)
		}
		cells = append(cells, c)
	}
	if err := decoder.Decode(&end); err != nil || end.Cells != len(cells) {
		return nil, end, fmt.Errorf("line %d: want the end of a plan of %d cells", lines, len(cells))
	}
	return cells, end, nil
}

// SamePlan reports whether two plans have the same cells, so that their results can be merged.
func SamePlan(a, b []experiment.Cell) bool {
	return slices.EqualFunc(a, b, func(x, y experiment.Cell) bool { return x.Hash == y.Hash })
}

// Shard is one of several equal shares of a plan.
type Shard struct{ Index, Of int }

// ParseShard parses "I/N", with I from 0.
func ParseShard(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if errIndex != nil || errOf != nil || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("shard %q: want I/N, with I from 0 to N-1, for example 0/4", text)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string                                  { return fmt.Sprintf("%d/%d", s.Index, s.Of) }
func (s Shard) Cells(cells []experiment.Cell) []experiment.Cell { return Cut(cells, s.Of)[s.Index] }

// Cut returns the cells of all n shards. Cells are grouped by trace and then split into parts of equal length, so that
// a shard loads as few traces as possible.
func Cut(cells []experiment.Cell, n int) (shards [][]experiment.Cell) {
	sorted := slices.Concat(experiment.ByWorkload(experiment.WithoutRepetitions(cells))...)
	for i := range n {
		shards = append(shards, sorted[i*len(sorted)/n:(i+1)*len(sorted)/n])
	}
	return shards
}

// ShardsVariable is the environment variable with the number of shards, for engines that do not give it.
const ShardsVariable = "CACHESIM_SHARDS"

// ShardFromEnvironment returns the shard for a task of an array: of Slurm (SLURM_ARRAY_TASK_ID, counted from
// SLURM_ARRAY_TASK_MIN, of SLURM_ARRAY_TASK_COUNT) or of an indexed job of Kubernetes (JOB_COMPLETION_INDEX of
// CACHESIM_SHARDS). CACHESIM_SHARDS takes precedence over SLURM_ARRAY_TASK_COUNT: an array that repeats a few tasks of
// a larger one is then also counted from 0.
func ShardFromEnvironment(lookup func(string) (string, bool)) (Shard, error) {
	var err error
	number := func(name string) (n int, ok bool) {
		text, ok := lookup(name)
		if !ok || text == "" {
			return 0, false
		}
		n, failed := strconv.Atoi(text)
		if (failed != nil || n < 0) && err == nil {
			err = fmt.Errorf("%s is %q: want a number from 0", name, text)
		}
		return n, true
	}
	var s Shard
	total, totalIsSet := number(ShardsVariable)
	if index, ok := number("SLURM_ARRAY_TASK_ID"); ok {
		first, _ := number("SLURM_ARRAY_TASK_MIN")
		count, _ := number("SLURM_ARRAY_TASK_COUNT")
		s = Shard{index - first, count}
		if totalIsSet {
			s = Shard{index, total}
		}
	} else if index, ok := number("JOB_COMPLETION_INDEX"); ok {
		s = Shard{index, total}
		if !totalIsSet && err == nil {
			return s, fmt.Errorf("JOB_COMPLETION_INDEX is set, but not %s: set it to the number of completions of the job",
				ShardsVariable)
		}
	} else if err == nil {
		return s, fmt.Errorf("no shard is given, and SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are not set; add --shard " +
			"I/N, with I from 0 to N-1")
	}
	if err == nil && (s.Index < 0 || s.Index >= s.Of) {
		err = fmt.Errorf("the environment gives shard %d of %d: want one from 0 to below their number; give --shard I/N",
			s.Index, s.Of)
	}
	return s, err
}
