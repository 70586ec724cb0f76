package embed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// question is what a service is asked.
type question struct {
	Model      string
	Input      []string
	Dimensions int
}

// service is a server with the embeddings API. It answers requests by what handle says, which is given the number of
// the request, from 0 on; false asks for the right answer.
type service struct {
	*httptest.Server
	asked []question
}

func newService(t *testing.T, handle func(n int, w http.ResponseWriter, r *http.Request, q question) bool) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		n := len(s.asked)
		s.asked = append(s.asked, q)
		if handle == nil || !handle(n, w, r, q) {
			fmt.Fprint(w, rightAnswer(q))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// vectorOf is what the services of these tests make of a text.
func vectorOf(text string) []float64 { return []float64{float64(len(text)), float64(text[0]), 1} }

type item struct {
	Index     int       `json:"index"`
	Embedding []float64 `json:"embedding"`
}

// rightAnswer is an answer with the vectors in reverse order.
func rightAnswer(q question) string {
	var data []item
	for i, text := range slices.Backward(q.Input) {
		data = append(data, item{i, vectorOf(text)})
	}
	content, err := json.Marshal(map[string]any{"object": "list", "data": data})
	if err != nil {
		panic(err)
	}
	return string(content)
}

func (s *service) endpoint() *Endpoint {
	return &Endpoint{URL: s.URL, Model: "m", Batch: 2, Timeout: time.Hour, Retries: 2, firstWait: time.Millisecond}
}

var fiveTexts = []string{"one", "three", "five", "three", "seven", "eleven"} // five distinct ones

func partialPath(t *testing.T) string { return filepath.Join(t.TempDir(), "out.npy.partial") }

// checkVectors compares embeddings with what the services of these tests make.
func checkVectors(t *testing.T, e Embeddings, texts []string) {
	t.Helper()
	if e.Dim != 3 || len(e.Vectors) != 3*len(texts) {
		t.Fatalf("%d vectors of %d numbers, want %d of 3", len(e.Vectors), e.Dim, len(texts))
	}
	for i, text := range texts {
		want := vectorOf(text)
		length := math.Sqrt(want[0]*want[0] + want[1]*want[1] + want[2]*want[2])
		for k, x := range e.row(i) {
			if math.Abs(float64(x)-want[k]/length) > 1e-6 {
				t.Errorf("%s: vector %v, want the direction of %v", text, e.row(i), want)
			}
		}
	}
}

func TestEndpointAsksInBatches(t *testing.T) {
	s := newService(t, func(_ int, _ http.ResponseWriter, r *http.Request, _ question) bool {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		return false
	})
	e := s.endpoint()
	e.Key, e.Dimensions = "secret", 3
	var heard []string
	got := must.Get(e.Embed(t.Context(), fiveTexts, partialPath(t),
		func(done, total int) { heard = append(heard, fmt.Sprint(done, "/", total)) }))(t)
	checkVectors(t, got, fiveTexts)
	want := []question{
		{"m", []string{"one", "three"}, 3},
		{"m", []string{"five", "seven"}, 3},
		{"m", []string{"eleven"}, 3},
	}
	if fmt.Sprint(s.asked) != fmt.Sprint(want) {
		t.Errorf("asked %v, want %v", s.asked, want)
	}
	if want := "[0/5 2/5 4/5 5/5]"; fmt.Sprint(heard) != want {
		t.Errorf("progress %v, want %s", heard, want)
	}
}

func TestEndpointAddresses(t *testing.T) {
	for given, want := range map[string]string{
		"http://localhost:11434":                        "http://localhost:11434/v1/embeddings",
		"http://localhost:11434/":                       "http://localhost:11434/v1/embeddings",
		"https://api.openai.com/v1":                     "https://api.openai.com/v1/embeddings",
		"https://api.openai.com/v1/embeddings":          "https://api.openai.com/v1/embeddings",
		"https://x.example/openai/embeddings?version=1": "https://x.example/openai/embeddings?version=1",
	} {
		got, err := (&Endpoint{URL: given}).address()
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", given, got, err, want)
		}
	}
}

// TestEndpointRetries: what may pass is asked again, and the waits that a service tells are kept.
func TestEndpointRetries(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){
		"overloaded": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "come back later", http.StatusServiceUnavailable)
		},
		"too often": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"data":[`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(n int, w http.ResponseWriter, r *http.Request, _ question) bool {
				if n < 2 {
					fail(w, r)
				}
				return n < 2
			})
			e := s.endpoint()
			var failures []string
			e.Retrying = func(err error, _ time.Duration) { failures = append(failures, err.Error()) }
			got := must.Get(e.Embed(t.Context(), fiveTexts, partialPath(t), nil))(t)
			checkVectors(t, got, fiveTexts)
			if len(s.asked) != 5 || len(failures) != 2 {
				t.Errorf("asked %d times after the failures %q, want 5 times and 2 failures", len(s.asked), failures)
			}
		})
	}
}

func TestEndpointRetriesWhatIsSlow(t *testing.T) {
	var gaveUp atomic.Bool
	s := newService(t, func(_ int, _ http.ResponseWriter, r *http.Request, _ question) bool {
		if gaveUp.Load() {
			return false
		}
		<-r.Context().Done()
		return true
	})
	e := s.endpoint()
	e.Timeout = 500 * time.Millisecond
	var first error
	e.Retrying = func(err error, _ time.Duration) {
		first = cmp.Or(first, err)
		gaveUp.Store(true)
		e.Timeout = time.Hour
	}
	got := must.Get(e.Embed(t.Context(), fiveTexts, partialPath(t), nil))(t)
	checkVectors(t, got, fiveTexts)
	if first == nil || !strings.Contains(first.Error(), "no complete answer within 500ms") {
		t.Errorf("retried after %v, want that no answer came in time", first)
	}
}

// The service and its client have a clock and a network of their own.
func TestEndpointWaitsAsTold(t *testing.T) {
	path := partialPath(t)
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		e := &Endpoint{URL: "http://service", Model: "m", Batch: 6, Timeout: time.Hour, Retries: 1}
		e.transport = network(t, func(r *http.Request) string {
			if asked++; asked == 1 {
				return "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 77\r\nContent-Length: 0\r\n\r\n"
			}
			var q question
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			answer := rightAnswer(q)
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		})
		var told time.Duration
		e.Retrying = func(_ error, wait time.Duration) { told = wait }
		start := time.Now()
		must.Get(e.Embed(t.Context(), fiveTexts, path, nil))(t)
		if told != 77*time.Second || time.Since(start) != told {
			t.Errorf("waited %v, of them %v as told, want 77s", time.Since(start), told)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if wait, told := retryAfter(now.Add(90*time.Second).Format(http.TimeFormat), now); !told || wait != 90*time.Second {
		t.Errorf("a date 90 s ahead: %v, %v", wait, told)
	}
	if wait, told := retryAfter(now.Add(-time.Hour).Format(http.TimeFormat), now); !told || wait != 0 {
		t.Errorf("a date that has passed: %v, %v", wait, told)
	}
	for _, header := range []string{"", "soon", "-1", "99999999999999999999"} {
		if _, told := retryAfter(header, now); told {
			t.Errorf("%q tells a time", header)
		}
	}
}

// TestEndpointErrors holds what people are told, and how often the service was asked.
func TestEndpointErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header string // Retry-After
		body   string
		asked  int
		want   string

		dimensions int
	}{
		"wrong key": {status: 401, body: `{"error":{"message":"Incorrect API key provided: secret"}}`,
			asked: 1, want: "401 Unauthorized: Incorrect API key provided: (the key)"},
		"no such model": {status: 404, body: `{"error":"model \"m\" not found"}`,
			asked: 1, want: `404 Not Found: model "m" not found`},
		"page":        {status: 403, body: "<html>\n<p>no</p>", asked: 1, want: "403 Forbidden: <html> <p>no</p>"},
		"redirection": {status: 302, asked: 1, want: "give that address"},
		"overloaded": {status: 503, body: `{"detail":"overloaded"}`, asked: 3, want: "503 Service Unavailable: " +
			"overloaded (tried 3 times)"},
		"long wait": {status: 429, header: "7200", asked: 1, want: "requests a wait of 2h0m0s"},
		"error in answer": {status: 200, body: `{"error":{"message":"out of memory, secret"}}`,
			asked: 1, want: "answers with an error: out of memory, (the key)"},
		"garbage": {status: 200, body: "hello", asked: 1, want: "cannot read the answer"},
		"too few": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]}]}`,
			asked: 1, want: "answers with 1 embeddings: want 2"},
		"not a number": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[NaN,2]}]}`,
			asked: 1, want: "invalid character 'N'"},
		"null": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[null,2]}]}`,
			asked: 1, want: `that contains "null"`},
		"too large": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1e40,2]}]}`,
			asked: 1, want: `that contains "1e40"`},
		"zero": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[0,0]}]}`,
			asked: 1, want: "embedding of zeros"},
		"lengths": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}`,
			asked: 1, want: "of 1 numbers: want 2, as requested or as in the others"},
		"empty": {status: 200, body: `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`,
			asked: 1, want: "embedding of 0 numbers"},
		"no index": {status: 200, body: `{"data":[{"embedding":[1]},{"embedding":[1]}]}`,
			asked: 1, want: "without an index"},
		"same index": {status: 200, body: `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
			asked: 1, want: "two embeddings with index 1"},
		"index": {status: 200, body: `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
			asked: 1, want: "index 2: want 0 to 1"},
		"endless": {status: 200, body: strings.Repeat(" ",
			1<<17), asked: 1, want: "an answer above", dimensions: 8},
		"other length": {status: 200, body: `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[2,1]}]}`,
			asked: 1, want: "of 2 numbers: want 8", dimensions: 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ question) bool {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
				return true
			})
			e := s.endpoint()
			e.Key = "secret"
			e.Dimensions = c.dimensions
			path := partialPath(t)
			_, err := e.Embed(t.Context(), fiveTexts, path, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "m at "+s.URL) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want one with %q and the service, without the key", err, c.want)
			}
			if len(s.asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(s.asked), c.asked)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a partial file of nothing: %v", err)
			}
		})
	}
}

// network returns a network within the test, in which a service writes its answer to a request on each connection, and
// then keeps it open until the client closes it.
func network(t *testing.T, answer func(*http.Request) string) http.RoundTripper {
	t.Helper()
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				r := bufio.NewReader(far)
				if request, err := http.ReadRequest(r); err == nil {
					io.WriteString(far, answer(request))
				}
				io.Copy(io.Discard, r)
				far.Close()
			}()
			return near, nil
		},
	}
}

// TestEndpointsThatBreakTheProtocol: each is an error within the time limit, which shows neither the key nor what moves
// a cursor.
func TestEndpointsThatBreakTheProtocol(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"switches protocols": {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
			"101 Switching Protocols: want an answer"},
		"status with colour": {"HTTP/1.1 400 \x1b[31mred\x1b[0m\r\nContent-Length: 0\r\n\r\n", "400 \uFFFD[31mred\uFFFD[0m"},
		"status with key":    {"HTTP/1.1 400 sec\tret\r\nContent-Length: 0\r\n\r\n", "which is not shown"},
		"key in two lines": {"HTTP/1.1 400 Bad\r\nContent-Length: 14\r\n\r\nkey: sec\nret!!",
			"400 Bad: (a text with the key in it"},
		"key behind the cut": {"HTTP/1.1 400 Bad\r\nContent-Length: 303\r\n\r\n" +
			strings.Repeat("x", 297) + "secret", "400 Bad: xxx"},
		"place with key": {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /?k=%73ecret\r\n\r\n",
			"redirects to (a text with the key"},
		"nothing":           {"HTTP/1.1 204 No Content\r\n\r\n", "204 No Content"},
		"never answers":     {"", "no complete answer within 500ms"},
		"headers never end": {"HTTP/1.1 200 OK\r\nX-", "no complete answer within 500ms"},
		"body never ends": {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
			"ends early, after 1 bytes: no complete answer within 500ms"},
		"refusal never ends": {"HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\nno", "400 Bad: no"},
		"no HTTP":            {"SSH-2.0 \x1b[2J secret\r\n\r\n", "malformed HTTP"},
		"too much header":    {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 11<<20), "response headers exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			path := partialPath(t)
			synctest.Test(t, func(t *testing.T) {
				e := &Endpoint{URL: "http://service", Model: "m", Batch: 2, Timeout: 500 * time.Millisecond, Key: "secret",
					KeyInClear: true, transport: network(t, func(*http.Request) string { return c.answer })}
				_, err := e.Embed(t.Context(), fiveTexts, path, nil)
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secr") ||
					strings.Contains(err.Error(), "sec\n") || strings.ContainsAny(err.Error(), "\x1b\n") {
					t.Errorf("error %q, want one with %q", err, c.want)
				}
			})
		})
	}
}

// A key goes over http to this machine alone, unless the user wants it to.
func TestKeysInClear(t *testing.T) {
	for url, refused := range map[string]bool{
		"http://localhost": false, "http://a.localhost:80": false, "http://127.0.0.5:11434/v1": false, "http://[::1]": false,
		"https://example.com": false,
		"http://example.com":  true, "http://10.0.0.1:8000": true, "http://localhost.example.com": true,
		"http://[::2]:1": true, "http://0.0.0.0": true,
	} {
		e := Endpoint{URL: url, Model: "m", Batch: 1, Timeout: time.Second}
		if err := e.Check(); err != nil {
			t.Errorf("%s without a key: %v", url, err)
		}
		e.Key = "secret"
		if err := e.Check(); (err != nil) != refused {
			t.Errorf("%s with a key: error %v, want one: %v", url, err, refused)
		}
		e.KeyInClear = true
		if err := e.Check(); err != nil {
			t.Errorf("%s with a key that may be seen: %v", url, err)
		}
	}
}

func TestEndpointChecks(t *testing.T) {
	good := Endpoint{URL: "http://localhost:1", Model: "m", Batch: 1, Timeout: time.Second}
	must.Do(t, good.Check())
	for want, change := range map[string]func(*Endpoint){
		"want a URL":                func(e *Endpoint) { e.URL = "localhost:11434" },
		"with a password":           func(e *Endpoint) { e.URL = "http://me:secret@localhost" },
		"no model":                  func(e *Endpoint) { e.Model = "" },
		"dimensions -1":             func(e *Endpoint) { e.Dimensions = -1 },
		"batch 4097":                func(e *Endpoint) { e.Batch = 4097 },
		"batch 9223372036854775807": func(e *Endpoint) { e.Batch = math.MaxInt },
		"not shown":                 func(e *Endpoint) { e.URL = "http://me:secret word@localhost" },
		"endpoint (not shown, as it may hold a password)": func(e *Endpoint) { e.URL = "me:secret@localhost:80" },
		"want a URL such":    func(e *Endpoint) { e.URL = "http://localhost:port/?key=secret" },
		"want https://":      func(e *Endpoint) { e.URL, e.Key = "http://192.0.2.1", "secret" },
		"batch 0":            func(e *Endpoint) { e.Batch = 0 },
		"timeout 0s":         func(e *Endpoint) { e.Timeout = 0 },
		"retries -1":         func(e *Endpoint) { e.Retries = -1 },
		`endpoint "ht tp:/"`: func(e *Endpoint) { e.URL = "ht tp:/" },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestEndpointResumes: a service dies in the middle; the same call asks for the rest alone.
func TestEndpointResumes(t *testing.T) {
	dead := true
	s := newService(t, func(n int, w http.ResponseWriter, _ *http.Request, _ question) bool {
		if dead && n >= 1 {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	e := s.endpoint()
	path := partialPath(t)
	_, err := e.Embed(t.Context(), fiveTexts, path, nil)
	if err == nil || !strings.Contains(err.Error(), "2 of 5 texts are embedded and kept in "+path) {
		t.Fatalf("error %v, want one that tells what is kept", err)
	}
	cutOff(t, path, "half a vector")
	dead, s.asked = false, nil
	e.Batch = 3
	got, err := e.Embed(t.Context(), fiveTexts, path, nil)
	must.Do(t, err)
	checkVectors(t, got, fiveTexts)
	if want := [][]string{{"five", "seven", "eleven"}}; len(s.asked) != 1 || !slices.Equal(s.asked[0].Input, want[0]) {
		t.Errorf("asked %v, want %v", s.asked, want)
	}
	s.asked = nil
	if got, err = e.Embed(t.Context(), fiveTexts, path, nil); err != nil || len(s.asked) != 0 {
		t.Errorf("with everything there: asked %v, error %v", s.asked, err)
	}
	checkVectors(t, got, fiveTexts)
}

// cutOff appends what a write that was cut off leaves.
func cutOff(t *testing.T, path, rest string) {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(f.WriteString(rest[:6]))(t)
	must.Do(t, f.Close())
}

// TestEndpointStops: an interruption ends the waiting at once and keeps what has arrived.
func TestEndpointStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newService(t, func(n int, _ http.ResponseWriter, r *http.Request, _ question) bool {
		if n == 1 {
			cancel()
			<-r.Context().Done()
		}
		return n == 1
	})
	_, err := s.endpoint().Embed(ctx, fiveTexts, partialPath(t), nil)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "interrupted; 2 of 5 texts") {
		t.Errorf("error %v, want that of the context and what is kept", err)
	}
	if len(s.asked) != 2 {
		t.Errorf("asked %d times, want 2", len(s.asked))
	}
}

// TestPartialOfSomethingElse: what is kept is of these texts, this service and model, or it is refused and left as it
// is.
func TestPartialOfSomethingElse(t *testing.T) {
	s := newService(t, nil)
	path := partialPath(t)
	must.Get(s.endpoint().Embed(t.Context(), fiveTexts, path, nil))(t)
	before := must.Get(os.ReadFile(path))(t)
	for name, c := range map[string]struct {
		change func(*Endpoint)
		texts  []string
		file   []byte
		want   string
	}{
		"texts":      {texts: []string{"one", "thre"}, want: "other texts"},
		"model":      {change: func(e *Endpoint) { e.Model = "n" }, want: "another model, m"},
		"service":    {change: func(e *Endpoint) { e.URL = "http://localhost:1" }, want: "another service, " + s.URL},
		"dimensions": {change: func(e *Endpoint) { e.Dimensions = 3 }, want: "made with --dimensions 0"},
		"no partial": {file: []byte("hello\n"), want: "not a file of kept embeddings"},
		"header": {file: bytes.Replace(before, []byte(`"count":5`), []byte(`"count":4`), 1),
			want: "damaged at its beginning"},
	} {
		t.Run(name, func(t *testing.T) {
			e, texts, file := s.endpoint(), fiveTexts, before
			if c.change != nil {
				c.change(e)
			}
			if c.texts != nil {
				texts = c.texts
			}
			if c.file != nil {
				file = c.file
			}
			must.Do(t, os.WriteFile(path, file, 0o644))
			_, err := e.Embed(t.Context(), texts, path, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "delete it to start from scratch") {
				t.Errorf("error %v, want one with %q and what to do", err, c.want)
			}
			if after, err := os.ReadFile(path); err != nil || !slices.Equal(after, file) {
				t.Errorf("the file has changed, %v", err)
			}
		})
	}
}

// TestDamageInPartial: what is damaged in the file is dropped, said and asked for again, and nothing else.
func TestDamageInPartial(t *testing.T) {
	s := newService(t, nil)
	path := partialPath(t)
	must.Get(s.endpoint().Embed(t.Context(), fiveTexts, path, nil))(t)
	whole := must.Get(os.ReadFile(path))(t)
	start := bytes.IndexByte(whole, '\n') + 1
	row := (len(whole) - start) / 5
	swapped := slices.Concat(whole[:start], whole[start+row:][:row], whole[start:][:row], whole[start+2*row:])
	zeros := slices.Clone(whole)
	clear(zeros[start+row+2:][:2*row])
	tests := map[string]struct {
		file    []byte
		damaged int
		asked   int
	}{
		"two rows swapped": {swapped, 2, 2}, "zeros": {zeros, 3, 3}, "cut off": {whole[:len(whole)-3], 0, 1},
		"a row too many": {append(slices.Clone(whole), whole[start:][:row]...), 1, 0},
	}
	for i := range 8 * row * 5 {
		flipped := slices.Clone(whole)
		flipped[start+i/8] ^= 1 << (i % 8)
		tests[fmt.Sprintf("bit %d", i)] = struct {
			file    []byte
			damaged int
			asked   int
		}{flipped, 1, 1}
	}
	for name, test := range tests {
		must.Do(t, os.WriteFile(path, test.file, 0o644))
		s.asked = nil
		e, damaged := s.endpoint(), 0
		e.Damaged = func(count int) { damaged = count }
		e.Batch = 5
		got, err := e.Embed(t.Context(), fiveTexts, path, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkVectors(t, got, fiveTexts)
		asked := 0
		for _, q := range s.asked {
			asked += len(q.Input)
		}
		if damaged != test.damaged || asked != test.asked {
			t.Errorf("%s: %d damaged, %d asked for; want %d, %d", name, damaged, asked, test.damaged, test.asked)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, whole) {
			t.Errorf("%s: not mended, %v", name, err)
		}
	}
}

// TestPartialIsNoLink: what is kept is never written through a link.
func TestPartialIsNoLink(t *testing.T) {
	s := newService(t, nil)
	path := partialPath(t)
	must.Do(t, os.Symlink("victim", path))
	_, err := s.endpoint().Embed(t.Context(), fiveTexts, path, nil)
	if err == nil || !strings.Contains(err.Error(), "want a file; remove it") || len(s.asked) > 0 {
		t.Errorf("error %v", err)
	}
}

// FuzzAnswer: whatever a service answers, there are vectors 1 long for all texts, or an error.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(rightAnswer(question{Input: []string{"a", "bc"}})))
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1e-46,1]},{"index":1,"embedding":[null]}]}`))
	f.Add([]byte(`{"error":{"message":"no"}}`))
	f.Add([]byte(`{"data":[{"index":-1,"embedding":[3]},{"index":0}]}`))
	f.Add([]byte(`{"detail":["` + strings.Repeat("\xff\x00", 300)))
	e := &Endpoint{Key: "secret"}
	f.Fuzz(func(t *testing.T, content []byte) {
		if message := e.messageOf(content); len(message) > 3*300+3 {
			t.Errorf("a message of %d bytes", len(message))
		}
		vectors, err := e.parseAnswer(content, 2, 0)
		if err != nil {
			return
		}
		dim := len(vectors) / 2
		for _, vector := range [][]float32{vectors[:dim], vectors[dim:]} {
			if !hasLengthOne(vector) {
				t.Errorf("a vector whose length is not 1: %v", vector)
			}
		}
	})
}
