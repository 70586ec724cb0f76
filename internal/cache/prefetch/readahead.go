package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

var readaheadEntry = Entry{
	Name: "readahead",
	Summary: "a window of blocks after each read that continues earlier ones of its file, which doubles and halves: " +
		"JuiceFS",
	Source: "JuiceFS (juicedata/juicefs), pkg/vfs/reader.go, guessSession and checkReadahead; the \"enhanced stride\" " +
		"of the IGTCache paper (arXiv 2506.12370), section 5.2",
	Memory:    "12 bytes and 32 per session for each row of the table",
	Addresses: true,
	Params: []params.Param{
		{Name: "max", Default: 8, Min: 1, Max: 1024, Doc: "largest window, in blocks; 8 blocks of 4 MiB in JuiceFS"},
		{Name: "sessions", Default: 2, Min: 1, Max: 64, Doc: "sequential readers that are told apart within an open file"},
		{Name: "files", Default: 1024, Min: 1, Max: 1 << 20, Doc: "open files that are known at a time, one for each " +
			"file and job; a file takes the row of the one whose hash is the same modulo this number"},
	},
	New: func(c Config) Prefetcher {
		return newReadahead(readsOf(c.Trace), c.Params.Int("max"), c.Params.Int("sessions"), c.Params.Int("files"))
	},
}

// readahead follows the reads of each open file with a few sessions, as JuiceFS does. Offsets and lengths are in bytes.
// Where the trace has no reads of files, all addresses are one file, a block is one address, and each request reads it.
type readahead struct {
	reads
	block    uint64 // bytes
	max      uint64 // largest window, in bytes
	sessions int
	rows     []openFile
	table    []session // of all rows, sessions for each
}

// openFile says which file a row of the table is about.
type openFile struct {
	file, job int32
	used      bool
}

// session is one sequential reader of an open file.
type session struct {
	last   uint64 // offset behind what has been read
	total  uint64 // bytes that have been read in sequence
	window uint64 // bytes to read ahead
	at     int    // when it was last used, in requests
}

func newReadahead(r reads, most, sessions, rows int) *readahead {
	block := uint64(1)
	if r.files != nil {
		block = uint64(r.files.Block)
	}
	return &readahead{
		reads: r, block: block, max: uint64(most) * block, sessions: sessions,
		rows: make([]openFile, rows), table: make([]session, rows*sessions),
	}
}

// Request implements Prefetcher. The window follows the last block of a read.
func (x *readahead) Request(a Access, proposals []Proposal) []Proposal {
	file, job, offset, length := int32(0), int32(-1), a.Key, uint64(1)
	if x.files != nil {
		read := x.at(a.At)
		if a.At+1 < x.end(read) {
			return proposals
		}
		file, job = x.files.Files[a.Object], x.job(read)
		offset, length = uint64(x.files.Offsets[read]), uint64(x.files.Lengths[read])
	}
	window := x.advance(x.open(file, job), offset, length, a.Pos)
	if window < x.block {
		return proposals
	}
	end := offset + length
	// Blocks after the last one of the read, up to the one in which the window ends.
	return proposeAhead(proposals, a.Key, 1, int((end+window-1)/x.block-(end-1)/x.block), 0)
}

func (x *readahead) open(file, job int32) []session {
	row := int((uint64(uint32(file))<<32 | uint64(uint32(job))) * 0x9e3779b97f4a7c15 >> 32 % uint64(len(x.rows)))
	sessions := x.table[row*x.sessions : (row+1)*x.sessions]
	if want := (openFile{file, job, true}); x.rows[row] != want {
		x.rows[row] = want
		clear(sessions)
	}
	return sessions
}

// advance records a read and returns the window after it, in bytes.
func (x *readahead) advance(sessions []session, offset, length uint64, now int) (window uint64) {
	end := offset + length
	s := x.match(sessions, offset)
	if s == nil {
		s = leastRecent(sessions)
		*s = session{last: offset, total: length}
	} else if end > s.last {
		s.total += end - s.last
	}
	s.at = now
	switch {
	case s.window == 0 && (offset == 0 || s.total > length):
		s.window = x.block
	case s.window < x.max && s.total >= s.window:
		s.window = min(2*s.window, x.max)
	case s.window >= x.block && s.total < s.window/4:
		s.window /= 2
	}
	s.last = max(s.last, end)
	return s.window
}

// match returns the session that a read continues. It prefers the furthest session that ends at most its window and a
// block before the read, then the nearest that ends a little behind the read's start.
func (x *readahead) match(sessions []session, offset uint64) (found *session) {
	for i := range sessions {
		s := &sessions[i]
		if s.last > 0 && s.last <= offset && offset-s.last <= s.window+x.block && (found == nil || s.last > found.last) {
			found = s
		}
	}
	if found != nil {
		return found
	}
	for i := range sessions {
		s := &sessions[i]
		if offset < s.last && s.last-offset <= max(s.window/8, x.block) && (found == nil || s.last < found.last) {
			found = s
		}
	}
	return found
}

// leastRecent returns a session that is not used, or the one that was used longest ago.
func leastRecent(sessions []session) *session {
	oldest := &sessions[0]
	for i := range sessions {
		s := &sessions[i]
		if s.total == 0 {
			return s
		}
		if s.at < oldest.at {
			oldest = s
		}
	}
	return oldest
}
