package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// noJob is the job of reads without a known job, as - is the tenant of requests without one.
const noJob = "-"

// JobOf returns the number of the job that reads each object, and the names of the jobs. reads has the positions at
// which reads begin, objects the object of each request. Two jobs that read a block are an error.
func (c *Columns) JobOf(reads []int, objects []uint32) (of []uint32, names []string, err error) {
	if c.Jobs == nil {
		return nil, nil, fmt.Errorf("its reads have no jobs: write --tenant 'directory(depth=1)', or name the job of a " +
			"file with the option job of its format")
	}
	names = append(names, c.JobNames...)
	unknown := slices.Index(names, noJob)
	if unknown < 0 {
		unknown = len(names)
		names = append(names, noJob)
	}
	job := make([]int32, len(c.Files)) // 1 + number, 0 for none
	for read, from := range reads {
		to := len(objects)
		if read+1 < len(reads) {
			to = reads[read+1]
		}
		of := c.Jobs[read] + 1
		if of == 0 {
			of = int32(unknown) + 1
		}
		for _, o := range objects[from:to] {
			if job[o] != 0 && job[o] != of {
				return nil, nil, fmt.Errorf("block %d of %.200q is read by two jobs, %q and %q: write --tenant "+
					"'directory(depth=1)', with the depth of the data sets",
					c.Numbers[o], c.Paths[c.Files[o]], names[job[o]-1], names[of-1])
			}
			job[o] = of
		}
	}
	of = make([]uint32, len(job))
	for o, number := range job {
		of[o] = uint32(number - 1)
	}
	return of, names, nil
}

// DirectoryOf returns the number of the directory that each object belongs to, and their paths: of its file the first
// depth components, without the name of the file. A file in the root belongs to "/", one without a directory to ".".
func (c *Columns) DirectoryOf(depth int) (of []uint32, names []string) {
	directories := stream.NewNumbering()
	file := make([]uint32, c.Read)
	for i, path := range c.Paths[:c.Read] {
		file[i] = directories.OfText([]byte(directoryOf(path, depth)))
	}
	of = make([]uint32, len(c.Files))
	for o, f := range c.Files {
		of[o] = file[f]
	}
	return of, directories.Texts()
}

func directoryOf(path string, depth int) string {
	last := strings.LastIndexByte(path, '/')
	switch last {
	case -1:
		return "."
	case 0:
		return "/"
	}
	end := 0
	for range depth {
		next := strings.IndexByte(path[end+1:last+1], '/')
		if next < 0 {
			break
		}
		end += 1 + next
	}
	return path[:end]
}
