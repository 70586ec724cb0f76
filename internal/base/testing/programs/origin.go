package programs

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Origin is a server of objects. The path of one ends with its size: /d3/17-4096. Its first folder says how it is
// answered: as a header Cache-Control (/max-age=60/17-4096), or with a status (/404/17-4096); any other is fresh for an
// hour, and has few headers below /plain. Conditional requests and ranges are answered; what other methods send is
// thrown away.
type Origin struct {
	Address string // host and port

	mutex   sync.Mutex
	answers Answers
}

// Answers counts what an origin answered.
type Answers struct{ All, NotModified int }

// changed is when all objects of an origin were changed the last time.
var changed = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// NewOrigin starts an origin, which ends with the test.
func NewOrigin(t testing.TB) *Origin {
	o := new(Origin)
	s := httptest.NewServer(http.HandlerFunc(o.answer))
	t.Cleanup(s.Close)
	o.Address = strings.TrimPrefix(s.URL, "http://")
	return o
}

// Answers returns what the origin has answered until now.
func (o *Origin) Answers() Answers {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.answers
}

var body = bytes.Repeat([]byte("x"), 4<<20)

// counted counts the statuses of responses.
type counted struct {
	http.ResponseWriter
	o *Origin
}

func (c counted) WriteHeader(status int) {
	c.o.mutex.Lock()
	c.o.answers.All++
	if status == http.StatusNotModified {
		c.o.answers.NotModified++
	}
	c.o.mutex.Unlock()
	c.ResponseWriter.WriteHeader(status)
}

func (o *Origin) answer(unwrapped http.ResponseWriter, r *http.Request) {
	w := counted{unwrapped, o}
	size, _ := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, '-')+1:])
	folder, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	status, _ := strconv.Atoi(folder)
	control := "max-age=3600"
	if strings.Contains(folder, "=") || strings.HasPrefix(folder, "no-") {
		control = folder
	}
	w.Header().Set("Cache-Control", control)
	w.Header().Set("Content-Type", "text/plain")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body[:3])
	case status > 0, folder == "plain":
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.WriteHeader(max(status, http.StatusOK))
		_, _ = w.Write(body[:size])
	default:
		w.Header().Set("Etag", `"`+strconv.Itoa(size)+`"`) // what follows compares it
		http.ServeContent(w, r, "", changed, bytes.NewReader(body[:size]))
	}
}
