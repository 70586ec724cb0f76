package experiment

func (f *File) validate() error {
	_, err := f.Cells(CellOptions{})
	return err
}
