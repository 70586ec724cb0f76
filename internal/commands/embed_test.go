package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// embeddingService answers like a service with the embeddings API. It dies after alive requests.
type embeddingService struct {
	*httptest.Server
	alive int
	texts []string // number of requests
}

func newEmbeddingService(t *testing.T, alive int) *embeddingService {
	t.Helper()
	s := &embeddingService{alive: alive}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		if s.alive == 0 {
			http.Error(w, `{"error":{"message":"out of memory"}}`, http.StatusInternalServerError)
			return
		}
		s.alive--
		if got := r.Header.Get("Authorization"); got != "Bearer hidden" {
			t.Errorf("authorization %q", got)
		}
		s.texts = append(s.texts, question.Input...)
		var data []string
		for i, text := range question.Input {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestEmbedAsksAService: a service dies halfway; the same command continues from there and cleans up.
func TestEmbedAsksAService(t *testing.T) {
	t.Setenv("EMBED_KEY", "hidden")
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "pairs.json"), filepath.Join(dir, "out.npy")
	must.Do(t, os.WriteFile(
		trace,
		[]byte(`[{"origin":"a","similar":"bb"},{"origin":"ccc","similar":"dddd"}]`),
		0o644,
	))
	service := newEmbeddingService(t, 1)
	args := []string{
		"embed",
		trace,
		"--limit",
		"4",
		"-o",
		out,
		"--endpoint",
		service.URL,
		"--model",
		"m",
		"--key-env",
		"EMBED_KEY",
		"--batch",
		"3",
		"--retries",
		"1",
	}
	var stdout, stderr bytes.Buffer
	if code := run(args, nil, &stdout, &stderr); code != exitWrongUse {
		t.Errorf("exit code %d, want %d", code, exitWrongUse)
	}
	for _, want := range []string{
		"500 Internal Server Error: out of memory; next attempt in",
		"(tried 2 times); 3 of 4 texts are embedded and kept in " + out + ".partial: the same command continues from there",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr %q, want %q", stderr.String(), want)
		}
	}
	if strings.Contains(stderr.String(), "hidden") {
		t.Errorf("stderr contains the key: %s", stderr.String())
	}
	service.alive = 1
	stderr.Reset()
	if code := run(args, nil, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	slices.Sort(service.texts)
	if want := []string{"a", "bb", "ccc", "dddd"}; !slices.Equal(service.texts, want) {
		t.Errorf("requests for %q, want each of %q once", service.texts, want)
	}
	if want := out + ": 4 requests, 4 distinct texts, 2 dimensions, m at " + service.URL +
		"/v1/embeddings, "; !strings.HasPrefix(stdout.String(), want) {
		t.Errorf("printed %q, want %q", stdout.String(), want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files %v, %v, want the trace and the embeddings", entries, err)
	}
}

// TestEmbedNoticesAnotherTrace: a trace that changed while the service worked does not get the embeddings of its old
// content.
func TestEmbedNoticesAnotherTrace(t *testing.T) {
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "lines.txt"), filepath.Join(dir, "out.npy")
	const before = "how are you\nwhat is this\n"
	for _, after := range []string{"how are you\n", "how are you\nwhat is that\n", before + "who is there\n"} {
		must.Do(t, os.WriteFile(trace, []byte(before), 0o644))
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := os.WriteFile(trace, []byte(after), 0o644); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,1]}]}`)
		}))
		var stdout, stderr bytes.Buffer
		code := run([]string{"embed", trace, "-o", out, "--input-format", "text", "--endpoint", service.URL, "--model",
			"m"}, nil, &stdout, &stderr)
		service.Close()
		if code != exitWrongUse || !strings.Contains(stderr.String(), "changed while its texts were embedded") {
			t.Errorf("%q: exit code %d: %s", after, code, stderr.String())
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q: %s was written", after, out)
		}
		if err := os.Remove(out + ".partial"); err != nil {
			t.Error(err)
		}
	}
}
