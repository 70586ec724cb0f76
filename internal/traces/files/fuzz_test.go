package files_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzReads reads every log of reads.
func FuzzReads(f *testing.F) {
	tracetest.FuzzAll(f, []string{"reads", "dftracer", "juicefs", "strace", "fio", "blkparse"},
		"time,job,path,offset,length,file_size\n0.5,a,/x,0,10,100\n",
		"path,offset,length\na,0,1\n",
		`{"name":"pread","args":{"fname":"/a\\ud83d\\ude00\\n`+"\xff"+`","ret":1,"offset":0},`+
			`"cat":"POSIX"}`,
		`[`+"\n"+`{"name":"FH","cat":"dftracer","args":{"name":"/d/a","value":138}},`+"\n"+
			`{"name":"open","cat":"POSIX","pid":7,"ts":1,"args":{"fhash":138,"ret":3}}`+"\n"+
			`{"name":"read","cat":"POSIX","pid":7,"ts":2,"args":{"fd":3,"fhash":138,"ret":5}}`+"\n]\n",
		`{"id":"0","name":"open","cat":"POSIX","pid":"7","tid":"9","ts":"1","dur":"2","ph":"X","args":{"fname":"/d/a",`+
			`"ret":"3"}}`+"\n"+`{"name":"read","cat":"POSIX","pid":"7","ts":"2","args":{"fd":3,"fname":"/d/a","ret":"5"}}`+"\n",
		"2022.09.22 08:55:21.013121 [uid:0,gid:0,pid:0] read (1,2,3): OK (2) <1.3>\n",
		`7 1.5 openat(AT_FDCWD</>, "/d/a", O_RDONLY) = 3</d/a>`+"\n"+
			`7 2.0 read(3</d/a>, "x"..., 10) = 4`+"\n",
		"[pid 8] 2.5 read(3</d/a>,  <unfinished ...>\n"+
			"[pid 8] 2.7 <... read resumed>\"z\", 10) = 6\n",
		`1.5 preadv2(5</b\76>, [{}], 1, 70, 0) = 4`+"\n",
		"1.5 clone(strace: Process 7 attached\n, 7) = 7\n",
		`1.5 sendfile(5</b>, 0</a>, [500] => [510], 10) = 10`+"\n",
		`1.5 openat(AT_FDCWD</>, "a", 0) = 3</a>`+"\n"+`1.6 dup2(3</a>, 0) = 0</a>`+"\n"+
			`1.7 copy_file_range(0</a (deleted)>, NULL, 5</b>, NULL, 77, 0) = 77`+"\n",
		"fio version 2 iolog\n/a add\n/a read 4096 512\n",
		"fio version 3 iolog\n5 /a read 0 1\n",
		"fio version 3 iolog\n\v\n",
		"  8,0 3 1 0.25 697 Q R 10 + 8 [a]\nCPU0 (8,0):\n")
}
