package embed

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// partial is a file with the embeddings that have arrived so far: a line of JSON that says of what, and then the vectors of the first distinct texts, as
// little-endian float32. A vector stands at the place that its number tells, so that what was cut off in the middle is written over.
type partial struct {
	file    *os.File
	about   partialHeader
	start   int64 // where the first vector begins
	vectors []float32
}

// partialHeader says what the vectors of a partial file are of.
type partialHeader struct {
	Texts      string `json:"texts"` // checksum of the distinct texts, in order
	Count      int    `json:"count"` // of them
	Endpoint   string `json:"endpoint"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"` // as asked for
	Dim        int    `json:"dim"`        // as they came
}

// checksumOf tells texts and where each of them ends.
func checksumOf(texts []string) string {
	sum := sha256.New()
	var length [8]byte
	for _, text := range texts {
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		sum.Write(length[:])
		io.WriteString(sum, text)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Embed returns the embeddings of texts, each distinct text asked for once. What has arrived is kept in the file at path, where the same call goes on
// after an error or an interruption; the caller deletes it when it has stored the embeddings. progress, unless it is nil, hears how many of the
// distinct texts are embedded.
// Memory: 4 bytes per number of all vectors, of distinct texts twice.
func (e *Endpoint) Embed(ctx context.Context, texts []string, path string, progress func(done, total int)) (Embeddings, error) {
	if err := e.Check(); err != nil {
		return Embeddings{}, err
	}
	distinct, numbers := Distinct(texts)
	address, _ := e.address()
	p, err := openPartial(path, partialHeader{
		Texts: checksumOf(distinct), Count: len(distinct), Endpoint: redacted(address), Model: e.Model, Dimensions: e.Dimensions,
	})
	if err != nil {
		return Embeddings{}, err
	}
	err = e.fill(ctx, p, distinct, progress)
	if err := errors.Join(err, p.close()); err != nil {
		return Embeddings{}, err
	}
	return Embeddings{Dim: p.about.Dim, Vectors: Spread(p.vectors, p.about.Dim, numbers)}, nil
}

// UnfinishedError says that not all texts are embedded, and where those are kept that are.
type UnfinishedError struct {
	Done, Total int
	Path        string
	Err         error
}

func (e *UnfinishedError) Error() string {
	text := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		text = "interrupted"
	}
	if e.Done == 0 {
		return text
	}
	return fmt.Sprintf("%s; %d of %d texts are embedded and kept in %s: the same command goes on from there", text, e.Done, e.Total, e.Path)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// fill asks for what p does not hold yet.
func (e *Endpoint) fill(ctx context.Context, p *partial, texts []string, progress func(done, total int)) error {
	for {
		done := p.len()
		if progress != nil {
			progress(done, len(texts))
		}
		if done == len(texts) {
			return nil
		}
		vectors, err := e.ask(ctx, texts[done:][:min(e.Batch, len(texts)-done)], p.about.Dim)
		if err == nil {
			err = p.add(vectors, min(e.Batch, len(texts)-done))
		}
		if err != nil {
			return &UnfinishedError{Done: done, Total: len(texts), Path: p.file.Name(), Err: err}
		}
	}
}

// openPartial opens the file at path, or creates it, and reads what it holds. That it is of something else, or damaged, is an error.
func openPartial(path string, about partialHeader) (*partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot keep what arrives: %w", err)
	}
	p := &partial{file: file, about: about}
	if err := p.read(); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w; delete it to start anew, or name another output", path, err)
	}
	return p, nil
}

// longestHeader is more than the header of a partial file takes.
const longestHeader = 1 << 16

// read takes over the vectors in the file, all of them that are complete.
func (p *partial) read() error {
	info, err := p.file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	r := bufio.NewReaderSize(p.file, longestHeader)
	line, err := r.ReadSlice('\n')
	var found partialHeader
	if err != nil || json.Unmarshal(line, &found) != nil || found.Dim < 1 || found.Dim > maxDim {
		return errors.New("not a file in which embeddings were kept")
	}
	if err := p.about.compare(found); err != nil {
		return err
	}
	p.about.Dim, p.start = found.Dim, int64(len(line))
	rows := (info.Size() - p.start) / int64(4*found.Dim)
	if rows > int64(p.about.Count) {
		return fmt.Errorf("damaged: it holds %d embeddings of %d texts", rows, p.about.Count)
	}
	vectors := make([]float32, int(rows)*found.Dim)
	if err := binary.Read(r, binary.LittleEndian, vectors); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	for i := range int(rows) {
		if err := checkLength(vectors[i*found.Dim:][:found.Dim]); err != nil {
			return fmt.Errorf("damaged at embedding %d: %w", i, err)
		}
	}
	p.vectors = vectors
	return nil
}

// checkLength returns an error where a vector is not 1 long.
func checkLength(vector []float32) error {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	if !(math.Abs(sum-1) < 1e-3) {
		return fmt.Errorf("its length is %.4g, want 1", math.Sqrt(sum))
	}
	return nil
}

// compare returns an error that says in what a file is of something else than wanted.
func (want partialHeader) compare(found partialHeader) error {
	switch {
	case found.Texts != want.Texts || found.Count != want.Count:
		return fmt.Errorf("it keeps embeddings of other texts (%d, here %d)", found.Count, want.Count)
	case found.Endpoint != want.Endpoint:
		return fmt.Errorf("it keeps embeddings of another service, %s", found.Endpoint)
	case found.Model != want.Model:
		return fmt.Errorf("it keeps embeddings of another model, %s", found.Model)
	case found.Dimensions != want.Dimensions:
		return fmt.Errorf("it keeps embeddings made with --dimensions %d", found.Dimensions)
	}
	return nil
}

// len returns of how many texts p holds the embeddings.
func (p *partial) len() int {
	if p.about.Dim == 0 {
		return 0
	}
	return len(p.vectors) / p.about.Dim
}

// add keeps the vectors of the next texts, so many as count says.
func (p *partial) add(vectors []float32, count int) error {
	var content []byte
	if p.about.Dim == 0 {
		p.about.Dim = len(vectors) / count
		header, err := json.Marshal(p.about)
		if err != nil {
			return err
		}
		content = append(header, '\n')
		p.start = int64(len(content))
	}
	at := p.start + int64(4*len(p.vectors)) - int64(len(content))
	content, err := binary.Append(content, binary.LittleEndian, vectors)
	if err != nil {
		return err
	}
	if _, err := p.file.WriteAt(content, at); err != nil {
		return fmt.Errorf("cannot keep what arrives: %w", err)
	}
	p.vectors = append(p.vectors, vectors...)
	return nil
}

// close closes the file, and deletes it if nothing has arrived.
func (p *partial) close() error {
	err := p.file.Close()
	if p.len() == 0 {
		return errors.Join(err, os.Remove(p.file.Name()))
	}
	return err
}
