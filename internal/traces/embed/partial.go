package embed

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// partial is a file with the embeddings received so far: a line of JSON that identifies them, sealed with a digest, and
// then a row for each distinct text: its vector, as little-endian float32, and a digest of its number and its vector.
// The place of a row follows from its number; a row that is missing, cut off or damaged is requested again.
type partial struct {
	file    *atomicfile.Journal
	about   partialHeader
	start   int64 // offset of the first row
	vectors []float32
	has     []bool // per text: whether its embedding is here
	count   int    // embeddings that are here
	next    int    // all before this one are here
}

// partialHeader identifies the vectors of a partial file.
type partialHeader struct {
	Texts      string `json:"texts"` // checksum of the distinct texts, in order
	Count      int    `json:"count"` // of them
	Endpoint   string `json:"endpoint"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"` // as requested
	Dim        int    `json:"dim"`        // as received
}

// checksumOf is a checksum of texts and of their lengths.
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

// Embed returns the embeddings of texts and requests each distinct text once. It keeps received embeddings in the file
// at path, so that the same call continues after an error or an interruption. The caller deletes the file after storing
// the embeddings. progress, if any, is called with the number of distinct texts embedded. Memory: 4 bytes per number of
// all vectors, and again per number of the vectors of distinct texts.
func (e *Endpoint) Embed(ctx context.Context, texts []string, path string, progress func(done, total int)) (Embeddings,
	error) {
	if err := e.Check(); err != nil {
		return Embeddings{}, err
	}
	distinct, numbers := Distinct(texts)
	address, _ := e.address()
	p, err := openPartial(path, partialHeader{
		Texts:      checksumOf(distinct),
		Count:      len(distinct),
		Endpoint:   redacted(address),
		Model:      e.Model,
		Dimensions: e.Dimensions,
	}, e.Damaged)
	if err != nil {
		return Embeddings{}, err
	}
	err = e.fill(ctx, p, distinct, progress)
	if err := errors.Join(err, p.file.Close(p.count > 0)); err != nil { // deleted if nothing has arrived
		return Embeddings{}, err
	}
	return Embeddings{Dim: p.about.Dim, Vectors: Spread(p.vectors, p.about.Dim, numbers)}, nil
}

// UnfinishedError says that not all texts are embedded, and which file keeps the embeddings received.
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
	return fmt.Sprintf("%s; %d of %d texts are embedded and kept in %s: the same command continues from there", text,
		e.Done, e.Total, e.Path)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// fill requests the embeddings that p does not have yet.
func (e *Endpoint) fill(ctx context.Context, p *partial, texts []string, progress func(done, total int)) error {
	for {
		if progress != nil {
			progress(p.count, len(texts))
		}
		numbers := p.missing(e.Batch)
		if len(numbers) == 0 {
			return nil
		}
		batch := make([]string, len(numbers))
		for i, n := range numbers {
			batch[i] = texts[n]
		}
		vectors, err := e.ask(ctx, batch, p.about.Dim)
		if err == nil {
			err = p.add(numbers, vectors)
		}
		if err != nil {
			return &UnfinishedError{Done: p.count, Total: len(texts), Path: p.file.Name(), Err: err}
		}
	}
}

// openPartial opens the file at path, or creates it, and reads its embeddings. Embeddings of other texts, or by another
// service, are an error. damaged, unless it is nil, is called with the number of damaged embeddings.
func openPartial(path string, about partialHeader, damaged func(rows int)) (*partial, error) {
	file, err := atomicfile.OpenJournal(path)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the embeddings received: %w", err)
	}
	p := &partial{file: file, about: about, has: make([]bool, about.Count)}
	rows, err := p.read()
	if err != nil {
		file.Close(true)
		return nil, fmt.Errorf("%s: %w; delete it to start from scratch, or name another output", path, err)
	}
	if rows > 0 && damaged != nil {
		damaged(rows)
	}
	return p, nil
}

// longestHeader is more than the length of a partial file's header.
const longestHeader = 1 << 16

// digestLen is the length of a row's digest in bytes.
const digestLen = 8

// digestOf returns the digest of a row: of a number and a vector.
func digestOf(number int, vector []byte) []byte {
	sum := sha256.New()
	binary.Write(sum, binary.LittleEndian, uint64(number))
	sum.Write(vector)
	return sum.Sum(nil)[:digestLen]
}

// read loads the vectors in the file, and returns how many of them are damaged.
func (p *partial) read() (damaged int, err error) {
	info, err := p.file.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	r := bufio.NewReaderSize(filestate.Reader(p.file, p.file.Name()), longestHeader)
	line, err := r.ReadSlice('\n')
	if err != nil && err != io.EOF {
		return 0, err
	}
	found, err := openHeader(line)
	if err != nil {
		return 0, err
	}
	if err := p.about.compare(found); err != nil {
		return 0, err
	}
	p.setDim(found.Dim, int64(len(line)))
	row := make([]byte, p.rowLen())
	for number := range p.has {
		_, err := io.ReadFull(r, row)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return damaged, nil // cut off where the program was stopped
		case err != nil:
			return 0, err
		case !p.take(number, row):
			damaged++
		}
	}
	if _, err := r.ReadByte(); err != io.EOF {
		damaged++ // bytes after the last row
		err := p.file.Truncate(p.start + int64(len(p.has))*int64(p.rowLen()))
		return damaged, err
	}
	return damaged, nil
}

// openHeader reads the line that identifies the vectors.
func openHeader(line []byte) (h partialHeader, err error) {
	text, err := jsonlines.Unseal(line)
	if err != nil || json.Unmarshal(text, &h) != nil || h.Dim < 1 || h.Dim > maxDim {
		return h, errors.New("not a file of kept embeddings, or damaged at its beginning")
	}
	return h, nil
}

// setDim makes room for vectors of a dimension, which begin at an offset in the file.
func (p *partial) setDim(dim int, start int64) {
	p.about.Dim, p.start = dim, start
	p.vectors = make([]float32, p.about.Count*dim)
}

func (p *partial) rowLen() int { return 4*p.about.Dim + digestLen }

// take adopts a row, unless it is damaged.
func (p *partial) take(number int, row []byte) bool {
	content, digest := row[:4*p.about.Dim], row[4*p.about.Dim:]
	vector := p.vectors[number*p.about.Dim:][:p.about.Dim]
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(content[4*i:]))
	}
	if !bytes.Equal(digest, digestOf(number, content)) || !hasLengthOne(vector) {
		return false
	}
	p.has[number] = true
	p.count++
	return true
}

func hasLengthOne(vector []float32) bool {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Abs(sum-1) < 1e-3
}

// compare returns an error that names the first difference between the file's header and the wanted one.
func (want partialHeader) compare(found partialHeader) error {
	switch {
	case found.Texts != want.Texts || found.Count != want.Count:
		return fmt.Errorf("it has embeddings of %d other texts, want embeddings of these %d", found.Count, want.Count)
	case found.Endpoint != want.Endpoint:
		return fmt.Errorf("it has embeddings of another service, %s: want %s", found.Endpoint, want.Endpoint)
	case found.Model != want.Model:
		return fmt.Errorf("it has embeddings of another model, %s: want %s", found.Model, want.Model)
	case found.Dimensions != want.Dimensions:
		return fmt.Errorf("it has embeddings made with --dimensions %d: want %d", found.Dimensions, want.Dimensions)
	}
	return nil
}

// missing returns the numbers of the next texts without embeddings, at most as many as given.
func (p *partial) missing(most int) (numbers []int) {
	for p.next < len(p.has) && p.has[p.next] {
		p.next++
	}
	for number := p.next; number < len(p.has) && len(numbers) < most; number++ {
		if !p.has[number] {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// add keeps the vectors of the texts with these numbers.
func (p *partial) add(numbers []int, vectors []float32) error {
	if p.about.Dim == 0 {
		if err := p.begin(len(vectors) / len(numbers)); err != nil {
			return err
		}
	}
	for i, number := range numbers {
		vector := vectors[i*p.about.Dim:][:p.about.Dim]
		row, err := binary.Append(nil, binary.LittleEndian, vector)
		if err != nil {
			return err
		}
		// The number is part of the digest: a row in the wrong place counts as damaged.
		row = append(row, digestOf(number, row)...)
		if _, err := p.file.WriteAt(row, p.start+int64(number)*int64(len(row))); err != nil {
			return fmt.Errorf("cannot keep the embeddings received: %w", err)
		}
		copy(p.vectors[number*p.about.Dim:], vector)
		p.has[number] = true
		p.count++
	}
	return nil
}

// begin writes the header, now that the length of the vectors is known.
func (p *partial) begin(dim int) error {
	header := p.about
	header.Dim = dim
	text, err := jsonlines.Marshal(header)
	if err != nil {
		return err
	}
	text = jsonlines.Seal(text)
	if _, err := p.file.WriteAt(text, 0); err != nil {
		return fmt.Errorf("cannot keep the embeddings received: %w", err)
	}
	p.setDim(dim, int64(len(text)))
	return nil
}
