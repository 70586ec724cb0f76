package source

import (
	"bufio"
	"bytes"
	"io"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// containerLine is a line of the log of a container: what a program wrote, with the stream it wrote to. Kubernetes
// keeps such logs on its nodes; Docker's driver json-file and the interface CRI write them. Sources:
// https://docs.docker.com/engine/logging/drivers/json-file/, and kubelet-cri-logging in Kubernetes' design proposals.
type containerLine struct {
	text   []byte // without a line break
	stream []byte // stdout or stderr
	whole  bool   // the line ends here; a long one is in pieces
}

// parseContainerLine reads a line of either kind: {"log":"text\n","stream":"stdout","time":"2026-03-01T12:00:00Z"}, or
// 2026-03-01T12:00:00Z stdout F text.
func parseContainerLine(s *JSONScanner, line []byte) (c containerLine, ok bool) {
	if len(line) > 0 && line[0] == '{' {
		return parseDockerLine(s, line)
	}
	return parseCRILine(line)
}

func parseDockerLine(s *JSONScanner, line []byte) (c containerLine, ok bool) {
	s.Reset(line)
	hasLog, hasTime := false, false
	err := s.Object(func(name []byte) (err error) {
		switch string(name) {
		case "log":
			hasLog = true
			c.text, err = s.String()
		case "stream":
			c.stream, err = s.String()
		case "time":
			hasTime = true
			err = s.Skip()
		case "attrs":
			err = s.Skip()
		default:
			return s.Fail("no other field")
		}
		return err
	})
	if err != nil || s.End() != nil || !hasLog || !hasTime || len(c.stream) == 0 {
		return c, false
	}
	c.text, c.whole = bytes.CutSuffix(c.text, []byte("\n"))
	return c, true
}

func parseCRILine(line []byte) (c containerLine, ok bool) {
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	stream, rest, _ := bytes.Cut(rest, []byte(" "))
	tag, text, ok := bytes.Cut(rest, []byte(" "))
	if _, isDate := ParseDate(stamp); !isDate || !ok || len(tag) != 1 || tag[0] != 'F' && tag[0] != 'P' ||
		string(stream) != "stdout" && string(stream) != "stderr" {
		return c, false
	}
	return containerLine{text, stream, tag[0] == 'F'}, true
}

// Unwrap makes s read what a program in a container wrote, if its content is the log of the container: Container says
// so then. It reads the stream that has most of the first lines, and counts those of the other.
func (s *Source) Unwrap() error {
	head, err := s.Head()
	if err != nil {
		return err
	}
	var scanner JSONScanner
	streams := map[string]int{}
	for _, line := range WithoutBlankEnd(head.Lines) {
		c, ok := parseContainerLine(&scanner, line)
		if !ok {
			return nil
		}
		streams[string(c.stream)]++
	}
	if len(streams) == 0 {
		return nil
	}
	u := &unwrapper{src: s, wrapped: s.buf, stream: "stdout"}
	if streams["stderr"] > streams["stdout"] {
		u.stream = "stderr"
	}
	s.held, s.Container, s.buf = nil, "container log, "+u.stream, newBuffer(u)
	return nil
}

// unwrapper implements io.Reader with the lines of one stream of a container.
type unwrapper struct {
	src     *Source
	wrapped *buffer
	stream  string
	scanner JSONScanner
	left    []byte // of the last line, not returned yet
	room    []byte // for that line
	begun   bool   // the last line was a part of a longer one
	others  int64  // lines of the other stream that the reading does not count yet
}

func (u *unwrapper) Read(p []byte) (n int, err error) {
	if r := u.src.Reading; r != nil && u.others > 0 {
		r.LeftOut += u.others
		r.Reasons = stream.Count(r.Reasons, "of the container's other stream", u.others)
		u.others = 0
	}
	for len(u.left) == 0 {
		if err := u.next(); err != nil {
			return 0, err
		}
	}
	n = copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

// next takes the next line. One that is not of a container stays as it is, for the format to refuse.
func (u *unwrapper) next() error {
	line, err := u.wrapped.ReadSlice('\n')
	if err != nil && err != bufio.ErrBufferFull && (err != io.EOF || len(line) == 0) {
		return err
	}
	c, ok := parseContainerLine(&u.scanner, bytes.TrimRight(line, "\r\n"))
	switch {
	case !ok:
		u.left, u.begun = line, false
	case string(c.stream) != u.stream:
		u.others++
	case c.whole && len(c.text) == 0 && !u.begun: // programs write blank lines between others
	default:
		if u.room = append(u.room[:0], c.text...); c.whole {
			u.room = append(u.room, '\n')
		}
		u.left, u.begun = u.room, !c.whole
	}
	return nil
}
