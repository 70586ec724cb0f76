// Command release packs what `make release` has built into one archive for each system: the program, the README and
// the licence, in a .zip for Windows and in a .tar.gz otherwise, with SHA256SUMS beside them.
//
// The archives of a commit have the same bytes whoever makes them: files are in a fixed order, with fixed modes, no
// owner, and the time of the commit.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxProgram is how large a program may be, in bytes: what is larger has taken in a library that it should do without.
const maxProgram = 44_000_000

func main() {
	log.SetFlags(0)
	var r release
	flag.StringVar(&r.version, "version", "", "version in the names of the archives")
	flag.StringVar(&r.programs, "programs", "", "folder with a folder OS_ARCH for each system, which has the program")
	flag.StringVar(&r.out, "o", "", "folder for the archives; must exist")
	seconds := flag.Int64("time", 0, "time of all files, in seconds since 1970")
	flag.Parse()
	r.time, r.files = time.Unix(*seconds, 0).UTC(), flag.Args()
	if r.version == "" || r.programs == "" || r.out == "" || *seconds <= 0 {
		log.Fatal("release: -version, -programs, -o and -time are all needed")
	}
	if err := r.write(); err != nil {
		log.Fatal("release: ", err)
	}
}

type release struct {
	version, programs, out string
	time                   time.Time
	files                  []string // in each archive beside the program
}

// write writes the archives of all systems and their checksums.
func (r release) write() error {
	systems, err := os.ReadDir(r.programs) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, system := range systems {
		name, err := r.pack(system.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", system.Name(), err)
		}
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	if sums.Len() == 0 {
		return fmt.Errorf("%s holds no program", r.programs)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// archive is what tar and zip have in common.
type archive interface {
	add(name string, mode int64, content []byte) error
	Close() error
}

// pack writes the archive of one system, such as linux_amd64, and returns its name.
func (r release) pack(system string) (name string, err error) {
	windows := strings.HasPrefix(system, "windows_")
	program, extension := "cachesim", ".tar.gz"
	if windows {
		program, extension = "cachesim.exe", ".zip"
	}
	folder := fmt.Sprintf("cachesim_%s_%s", r.version, system)
	name = folder + extension
	file, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	a := newTarball(file, r.time)
	if windows {
		a = zipFile{zip.NewWriter(file), r.time}
	}
	for _, path := range append([]string{filepath.Join(r.programs, system, program)}, r.files...) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		mode, base := int64(0o644), filepath.Base(path)
		if base == program {
			mode = 0o755
			if len(content) > maxProgram {
				return "", fmt.Errorf("%s has %d bytes, want at most %d: go tool nm -size -sort size shows what is large",
					path, len(content), maxProgram)
			}
			fmt.Printf("%s: program of %.1f MB\n", name, float64(len(content))/1e6)
		}
		if err := a.add(folder+"/"+base, mode, content); err != nil {
			return "", err
		}
	}
	if err := a.Close(); err != nil {
		return "", err
	}
	return name, file.Close()
}

// tarball is a .tar.gz.
type tarball struct {
	tar  *tar.Writer
	zip  *gzip.Writer
	time time.Time
}

func newTarball(w io.Writer, at time.Time) archive {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one of package gzip
	}
	return tarball{tar.NewWriter(compressed), compressed, at}
}

func (t tarball) add(name string, mode int64, content []byte) error {
	err := t.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)),
		ModTime: t.time, Format: tar.FormatUSTAR})
	if err == nil {
		_, err = t.tar.Write(content)
	}
	return err
}

func (t tarball) Close() error {
	if err := t.tar.Close(); err != nil {
		return err
	}
	return t.zip.Close()
}

type zipFile struct {
	*zip.Writer
	time time.Time
}

func (z zipFile) add(name string, mode int64, content []byte) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.time}
	header.SetMode(os.FileMode(mode))
	w, err := z.CreateHeader(header)
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}
