package source

import "fmt"

// ReadBeside reads a further file that an option of the format names, such as the listing of a data set. Files that are
// read together share the result of read, so that it is read once. what describes the file in errors.
func (s *Source) ReadBeside(path, what string, read func(*Source) (any, error)) (any, error) {
	return s.In.Together.share("beside "+path, func() (any, error) { return s.In.ReadBeside(path, what, read) })
}

// ReadBeside is ReadBeside of a Source, and reads the file each time. Label, Find and Budget of in must be set.
func (in *File) ReadBeside(path, what string, read func(*Source) (any, error)) (any, error) {
	if path == "-" {
		return nil, fmt.Errorf("%s: the %s is standard input: want the name of a file", in.Label, what)
	}
	found := path
	if in.Find != nil {
		var err error
		if found, err = in.Find(path); err != nil {
			return nil, err
		}
	}
	beside, err := openRegular(found)
	if err != nil {
		return nil, fmt.Errorf("%s: the %s %w", in.Label, what, err)
	}
	defer beside.Close()
	beside.Together, beside.Budget = new(Together), in.Budget
	src, err := New(beside, beside.Label, beside.Path, beside)
	if err != nil {
		return nil, err
	}
	src.Reading = NewReading(beside, src.Compression)
	made, err := read(src)
	if changed := beside.Opened.Check(); changed != nil {
		return nil, changed // explains any other error
	}
	return made, err
}
