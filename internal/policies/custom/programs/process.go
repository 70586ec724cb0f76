package programs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/custom/events"
)

// process is a program that runs. It implements events.Outside.
type process struct {
	command *exec.Cmd
	in      *os.File // what it reads
	out     *os.File // what it writes
	answers *bufio.Reader
	errors  *tail
	ended   chan struct{} // closed when it has ended and outcome is set
	outcome string        // "exit status 1"
	closing sync.Once

	timeout time.Duration
	watch   *time.Timer
	hung    atomic.Bool

	told  string // it is told this first
	text  bool   // events are lines
	asked bool   // it is asked what to load
	lines []byte // a buffer
	pos   int64  // of the request of the last event; -1 at the greeting
}

// succeeded is the outcome of a program that ends as it should.
const succeeded = "exit status 0"

// grace is how long a program has to end by itself once its input has ended.
const grace = time.Second

// longestLine is the length of a greeting or an answer.
const longestLine = 4096

// run starts the program that parameters name, which is to be told a line first.
func run(v policies.Values, told string) (*process, error) {
	words, err := params.Words(v.Text("command"))
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(float64(v.Float("timeout") * 1e9))
	p := &process{command: exec.Command(words[0], words[1:]...), errors: &tail{}, ended: make(chan struct{}),
		timeout: timeout, told: told}
	in, err := p.connect()
	if err == nil {
		p.command.Stderr, p.command.WaitDelay = p.errors, grace
		inGroup(p.command)
		err = p.command.Start()
	}
	for _, end := range in { // the program has its own
		end.Close()
	}
	if err != nil {
		for _, end := range []*os.File{p.in, p.out} {
			end.Close() // nil is fine
		}
		var reason *exec.Error
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return nil, fmt.Errorf("the program %q cannot be started: %w", words[0], err)
	}
	p.answers = bufio.NewReaderSize(p.out, longestLine)
	p.watch = time.AfterFunc(timeout, p.stuck)
	go func() {
		err := p.command.Wait()
		p.outcome = succeeded
		if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // what the program has started may still write messages
			p.outcome = err.Error()
		}
		close(p.ended)
	}()
	return p, nil
}

// connect opens the pipes, and returns the ends that are the program's.
func (p *process) connect() (ends []*os.File, err error) {
	var reads, writes *os.File
	if reads, p.in, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.out, writes, err = os.Pipe(); err != nil {
		return []*os.File{reads}, err
	}
	p.command.Stdin, p.command.Stdout = reads, writes
	return []*os.File{reads, writes}, nil
}

// stuck ends a program that has taken too long.
func (p *process) stuck() {
	p.hung.Store(true)
	kill(p.command)
	p.out.Close() // another process may have it, too
	p.in.Close()
}

// Close ends the program: its input ends, and if it does not end then, it is killed.
func (p *process) Close() {
	p.closing.Do(func() {
		p.watch.Stop()
		p.in.Close()
		select {
		case <-p.ended:
		case <-time.After(grace):
			kill(p.command)
			<-p.ended
		}
		p.out.Close()
	})
}

// watched calls what waits for the program, which is ended if that takes too long.
func (p *process) watched(wait func() error) error {
	p.watch.Reset(p.timeout)
	err := wait()
	if !p.watch.Stop() && p.hung.Load() {
		return late(fmt.Sprintf("the program did not answer within %v s %s; give it more time by timeout=",
			p.timeout.Seconds(), p.when()))
	}
	return err
}

// late is the error of a program that did not do in time what it must: an os.ErrDeadlineExceeded.
type late string

func (l late) Error() string { return string(l) }

func (late) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// Finish implements events.Outside: the input of the program ends, and then the program must.
func (p *process) Finish() error {
	p.watch.Reset(p.timeout)
	p.in.Close()
	<-p.ended
	switch {
	case !p.watch.Stop() && p.hung.Load():
		return late(fmt.Sprintf("the program did not end within %v s of the end of its input; give it more time by timeout=",
			p.timeout.Seconds()))
	case p.outcome != succeeded:
		return fmt.Errorf("the program failed at the end of its input (%s)%s", p.outcome, p.errors)
	}
	return nil
}

// when says when something happened.
func (p *process) when() string {
	if p.pos < 0 {
		return "at the greeting"
	}
	return fmt.Sprintf("at request %d", p.pos)
}

// gone explains that the program cannot be reached.
func (p *process) gone() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the program ended %s (%s)%s", p.when(), p.outcome, p.errors)
	case <-time.After(grace):
		return fmt.Errorf("the program closed its input or output %s%s", p.when(), p.errors)
	}
}

func (p *process) write(data []byte) error {
	if _, err := p.in.Write(data); err != nil {
		return p.gone()
	}
	return nil
}

// greet tells the program what there is to do, and returns its own greeting.
func (p *process) greet() (g saidFirst, err error) {
	p.pos = -1
	err = p.watched(func() error {
		if err := p.write([]byte(p.told + "\n")); err != nil {
			return err
		}
		line, err := p.readLine()
		if err == nil {
			g, err = readGreeting(line)
		}
		return err
	})
	return g, err
}

// Begin implements events.Outside.
func (p *process) Begin(o *events.Options) error {
	g, err := p.greet()
	if err == nil && g.admits && !o.Admits {
		err = errors.New("the program wants to be asked what to load; add admits=true to its parameters")
	}
	o.NoHits, o.NoMisses = !g.hits, !g.misses
	p.text, p.asked = g.text, g.admits
	return err
}

func (p *process) readLine() (string, error) {
	line, err := p.answers.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("the program wrote more than %d bytes without an end of the line %s: %s", longestLine,
			p.when(), shown(line))
	case err != nil:
		return "", p.gone()
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

// Take implements events.Outside.
func (p *process) Take(block []byte) error {
	p.pos = events.Read(block[len(block)-events.Length:]).Pos
	return p.watched(func() error { return p.write(p.encode(block)) })
}

// encode returns a block in the format that the program has chosen.
func (p *process) encode(block []byte) []byte {
	if !p.text {
		return block
	}
	p.lines = p.lines[:0]
	for ; len(block) > 0; block = block[events.Length:] {
		p.lines = appendLine(p.lines, events.Read(block))
	}
	return p.lines
}

// Ask implements events.Outside.
func (p *process) Ask(block []byte) (answer policies.Object, err error) {
	question := events.Read(block[len(block)-events.Length:])
	if question.Kind == events.Admit && !p.asked {
		if block = block[:len(block)-events.Length]; len(block) > 0 {
			err = p.Take(block)
		}
		return 1, err
	}
	if p.answers.Buffered() > 0 {
		return 0, fmt.Errorf("the program wrote what it was not asked for %s; all it may write are answers, with "+
			"messages to its standard error", p.when())
	}
	p.pos = question.Pos
	err = p.watched(func() error {
		if err := p.write(p.encode(block)); err != nil {
			return err
		}
		if p.text {
			answer, err = p.readNumber()
			return err
		}
		data, err := p.answers.Peek(4)
		if err != nil {
			return p.gone()
		}
		answer = binary.LittleEndian.Uint32(data)
		_, err = p.answers.Discard(len(data))
		return err
	})
	return answer, err
}

// readNumber reads an answer that is a line.
func (p *process) readNumber() (policies.Object, error) {
	line, err := p.readLine()
	if err != nil || line == "none" {
		return policies.NoObject, err
	}
	n, err := strconv.ParseUint(line, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the program answers %s %s; want the number of an object, or none", shown([]byte(line)),
			p.when())
	}
	return policies.Object(n), nil
}

// kinds are the first words of lines.
var kinds = [...]string{events.Hit: "hit ", events.Miss: "miss ", events.Insert: "insert ", events.Remove: "remove ",
	events.Resized: "resized ", events.Resize: "resize ", events.Grow: "grow ", events.Victim: "victim ",
	events.Admit: "admit "}

// appendLine appends an event as a line.
func appendLine(to []byte, e events.Event) []byte {
	to = append(to, kinds[e.Kind]...)
	if e.Object == policies.NoObject {
		to = append(to, '-')
	} else {
		to = strconv.AppendUint(to, uint64(e.Object), 10)
	}
	for _, n := range [...]int64{e.Size, e.Time, e.Pos} {
		to = strconv.AppendInt(append(to, ' '), n, 10)
	}
	if e.Reason != policies.Demand {
		to = append(append(to, ' '), e.Reason.String()...)
	}
	if e.Write {
		to = append(to, " write"...)
	}
	return append(to, '\n')
}

// tail keeps the end of what a program writes to its standard error.
type tail struct {
	mutex sync.Mutex
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-longestLine):]
	return len(p), nil
}

// String returns the last line, behind a comma.
func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return ", its last message: " + shown([]byte(text[strings.LastIndexByte(text, '\n')+1:]))
}

// shown quotes what a program has written, as far as it is short.
func shown(text []byte) string {
	const most = 200
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}
