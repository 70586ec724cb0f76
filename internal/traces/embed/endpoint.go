package embed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// Endpoint is a service with the embeddings API of OpenAI (https://platform.openai.com/docs/api-reference/embeddings),
// and how to call it.
type Endpoint struct {
	URL        string        // "http://localhost:11434/v1" or in full: "http://localhost:11434/v1/embeddings"
	Model      string        // the service's name for it
	Dimensions int           // numbers in a vector, for models that can return fewer; 0: the model's own number
	Key        string        // sent as bearer token; "" sends none
	KeyInClear bool          // the key may be sent over http to another machine, so that others may read it on its way
	Batch      int           // texts in a request, at least 1
	Timeout    time.Duration // of a request
	Retries    int           // of a request that failed in a way that may be temporary
	// Retrying, unless it is nil, is called for each failure that is retried, with the wait before the retry.
	Retrying func(err error, wait time.Duration)
	// Damaged, unless it is nil, is called with the number of kept embeddings that are damaged and requested again.
	Damaged func(count int)

	firstWait time.Duration     // before the first retry, increasing from then on; 0: the library's default
	transport http.RoundTripper // a network for tests; nil: the machine's
}

// Limits on answers.
const (
	maxDim         = 32768
	bytesPerNumber = 40      // any float64, and as much white space as indented JSON has
	maxErrorBytes  = 1 << 16 // of an answer without numbers
	maxAnswer      = 1 << 30
	maxBatch       = 4096
	// longestWait is the longest wait that a service may request; beyond it users rather start again themselves.
	longestWait = 10 * time.Minute
)

func (e *Endpoint) Check() error {
	address, err := e.address()
	switch {
	case err != nil:
		return err
	case e.Key != "" && address.Scheme == "http" && !isLoopback(address.Hostname()) && !e.KeyInClear:
		return fmt.Errorf("endpoint %s: the key would be sent to another machine without encryption: want https://, or "+
			"--key-in-clear on a trusted network", redacted(address))
	case e.Model == "":
		return errors.New("no model given: want the service's name for it")
	case e.Dimensions < 0 || e.Dimensions > maxDim:
		return fmt.Errorf("dimensions %d: want 1 to %d, or 0 for the model's own number", e.Dimensions, maxDim)
	case e.Batch < 1 || e.Batch > maxBatch:
		return fmt.Errorf("batch %d: want 1 to %d texts in a request", e.Batch, maxBatch)
	case e.Timeout <= 0:
		return fmt.Errorf("timeout %v: want a time above 0, such as 30s", e.Timeout)
	case e.Retries < 0:
		return fmt.Errorf("retries %d: want 0 or more", e.Retries)
	}
	return nil
}

// isLoopback reports whether a host is this machine, so that data stay on it.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func (e *Endpoint) address() (*url.URL, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("endpoint %s: want a URL such as http://localhost:11434/v1", shownOf(e.URL))
	case u.User != nil:
		return nil, fmt.Errorf("endpoint %s: a URL with a password in it; name the environment variable that holds the key "+
			"instead", redacted(u))
	}
	switch path := strings.TrimSuffix(u.Path, "/"); {
	case strings.HasSuffix(path, "/embeddings"):
		u.Path = path
	case path == "":
		u.Path = "/v1/embeddings"
	default:
		u.Path = path + "/embeddings"
	}
	return u, nil
}

// Host returns the host of the service, without the port; "" if the URL is wrong.
func (e *Endpoint) Host() string {
	u, err := e.address()
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// redacted is an address without the parts that may be secret.
func redacted(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// shownOf is the part of an invalid URL that an error shows: passwords and keys may be anywhere in it.
func shownOf(text string) string {
	const longest = 80
	if strings.ContainsAny(text, "@?#") {
		return "(not shown, as it may hold a password)"
	}
	return fmt.Sprintf("%.*q", longest, text)
}

// String names the service and the model, without secrets.
func (e *Endpoint) String() string {
	u, err := e.address()
	if err != nil {
		return e.Model
	}
	return e.Model + " at " + redacted(u)
}

// ask returns the vectors of a batch, one after another, each with dim numbers unless dim is 0. It retries errors that
// may be temporary.
func (e *Endpoint) ask(ctx context.Context, texts []string, dim int) ([]float32, error) {
	address, err := e.address()
	if err != nil {
		return nil, err
	}
	body, err := jsonlines.Marshal(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{e.Model, texts, e.Dimensions})
	if err != nil {
		return nil, err
	}
	waits := backoff.NewExponentialBackOff()
	if e.firstWait > 0 {
		waits.InitialInterval = e.firstWait
	}
	dim = cmp.Or(dim, e.Dimensions)
	// No right answer is longer; what comes beyond it is not read.
	limit := min(int64(len(texts))*int64(cmp.Or(dim, maxDim))*bytesPerNumber+maxErrorBytes, maxAnswer)
	tries := 0
	content, err := backoff.Retry(ctx, func() ([]byte, error) {
		tries++
		return e.try(ctx, address, body, limit)
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(e.Retries)+1), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(e.notify))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var vectors []float32
	if err == nil {
		vectors, err = e.parseAnswer(content, len(texts), dim)
	}
	if err == nil {
		return vectors, nil
	}
	if err = e.withoutKey(err); tries > 1 {
		err = fmt.Errorf("%w (tried %d times)", err, tries)
	}
	return nil, err
}

func (e *Endpoint) notify(err error, wait time.Duration) {
	if e.Retrying != nil {
		e.Retrying(e.withoutKey(err), wait)
	}
}

// withoutKey is an error that names the service and hides the key, which services may repeat.
func (e *Endpoint) withoutKey(err error) error {
	return fmt.Errorf("%s: %s", e, secret(e.Key).hidden(err.Error()))
}

// try returns the answer of the service to one request, up to limit bytes. Errors that are not temporary are marked as
// permanent.
func (e *Endpoint) try(ctx context.Context, address *url.URL, body []byte, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, fmt.Errorf("no complete answer within %v", e.Timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(withoutAddress(ctx, err))
	}
	request.Header.Set("Content-Type", "application/json")
	if e.Key != "" {
		request.Header.Set("Authorization", "Bearer "+e.Key)
	}
	// A redirection is an error, as it would change the request.
	client := http.Client{Transport: e.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, withoutAddress(ctx, err)
	}
	defer response.Body.Close()
	// The body of a connection that was switched to another protocol ignores ctx.
	defer context.AfterFunc(ctx, func() { response.Body.Close() })()
	// The rest is in a protocol that was not requested, and may never end.
	if response.StatusCode < 200 {
		return nil, backoff.Permanent(fmt.Errorf("%s: want an answer to a request for embeddings",
			e.quote([]byte(response.Status))))
	}
	if response.StatusCode != http.StatusOK {
		return nil, e.refused(response)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer ends early, after %d bytes: %w", len(content), withoutAddress(ctx, err))
	case int64(len(content)) > limit:
		return nil, backoff.Permanent(fmt.Errorf("an answer above %d bytes: want at most that for these vectors", limit))
	}
	return content, nil
}

// withoutAddress is an error of the network without the address, which may hold secrets, and with the cause if the time
// ran out.
func withoutAddress(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var ofURL *url.Error
	if errors.As(err, &ofURL) {
		return ofURL.Err
	}
	return err
}

// refused returns the error for a status other than 200. Overload, time-outs and failures of the server are temporary.
func (e *Endpoint) refused(response *http.Response) error {
	// Any part that can be read explains more than an error about reading.
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	text := e.quote([]byte(response.Status))
	if message := e.messageOf(content); message != "" {
		text += ": " + message
	}
	status := response.StatusCode
	switch {
	case status >= 300 && status < 400:
		return backoff.Permanent(fmt.Errorf("%s: the service redirects to %s; give that address", text,
			e.quote([]byte(response.Header.Get("Location")))))
	case status != http.StatusTooManyRequests && status != http.StatusRequestTimeout && status < 500:
		return backoff.Permanent(errors.New(text))
	}
	wait, told := retryAfter(response.Header.Get("Retry-After"), time.Now())
	switch {
	case wait > longestWait:
		return backoff.Permanent(fmt.Errorf("%s; the service requests a wait of %v: want at most %v; run the same command "+
			"again then", text, wait, longestWait))
	case told:
		return fmt.Errorf("%s; %w", text, backoff.RetryAfter(int(wait.Seconds())))
	}
	return errors.New(text)
}

// retryAfter reads the header: seconds, or a date after now.
func retryAfter(header string, now time.Time) (wait time.Duration, told bool) {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now).Round(time.Second)), true
	}
	return 0, false
}
