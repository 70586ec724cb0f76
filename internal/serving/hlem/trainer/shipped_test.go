package trainer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
)

const policyFile = "../controllers/ppo.json.zst"

// shipped are the options with which the policy of the program was trained.
var shipped = Options{Seed: 1, Episodes: DefaultEpisodes}

// trainPolicy returns the file of a policy.
func trainPolicy(t *testing.T, o Options) []byte {
	t.Helper()
	policy, _ := must.Get2(o.learn(t.Context(), func(int) {}))(t)
	var b bytes.Buffer
	must.Do(t, policy.Write(&b, o.String(), o.Seed))
	return b.Bytes()
}

// TestTrainingIsReproduced trains a policy and trees for a moment. On one core and on two they are those that
// testdata/short.txt has the hashes of. Where they are not, what is trained has changed: `make train` then trains the
// files of the program again, which the same code has to give.
func TestTrainingIsReproduced(t *testing.T) {
	hash := func(name string, train func(jobs int) []byte) string {
		one := sha256.Sum256(train(1))
		if two := sha256.Sum256(train(2)); one != two {
			t.Errorf("%s: two goroutines train others than one", name)
		}
		return fmt.Sprintf("%s %x\n", name, one)
	}
	got := hash("policy", func(jobs int) []byte { return trainPolicy(t, Options{Seed: 1, Episodes: 1, Jobs: jobs}) }) +
		hash("trees", func(jobs int) []byte { return trainTrees(t, 8, jobs) })
	const file = "testdata/short.txt"
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	if want := string(must.Get(os.ReadFile(file))(t)); got != want {
		t.Errorf("a short training gives\n%swant\n%sUPDATE=1 make train trains the files of the program again", got, want)
	}
}

// TestShippedFiles trains what is part of the program again, in some minutes, if TRAIN is set: `make train` does. The
// files are the same byte for byte; with UPDATE=1 they are replaced.
func TestShippedFiles(t *testing.T) {
	if os.Getenv("TRAIN") == "" {
		t.Skip("takes minutes: `make train` runs it")
	}
	for file, train := range map[string]func() []byte{
		policyFile: func() []byte { return trainPolicy(t, shipped) },
		treesFile:  func() []byte { return trainTrees(t, budget, 0) },
	} {
		text := train()
		if os.Getenv("UPDATE") != "" {
			must.Do(t, os.WriteFile(file, must.Get(packed.Pack(text))(t), 0o644))
		}
		if !bytes.Equal(text, unpacked(t, file)) {
			t.Errorf("%s is not what is trained today; UPDATE=1 make train replaces it", file)
		}
	}
}

// unpacked returns what a file of the program has.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	return packed.Unpack(must.Get(os.ReadFile(file))(t))
}

// TestPaperState trains a policy that sees the seven values of the paper, which is read as any other.
func TestPaperState(t *testing.T) {
	o := Options{Seed: 1, Episodes: 1, PaperState: true}
	policy, made := must.Get2(controllers.ReadPolicy(bytes.NewReader(trainPolicy(t, o))))(t)
	if policy.Params() != 9606 || policy.Features() != 7 || !strings.HasSuffix(made, "--paper-state") {
		t.Errorf("%d parameters, %d features, made by %q", policy.Params(), policy.Features(), made)
	}
}
