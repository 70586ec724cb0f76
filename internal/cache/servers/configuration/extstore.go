package configuration

import (
	"fmt"
	"strconv"
	"strings"
)

// The pages of a file as memcached comes.
const pageSize, pagesMB = "ext_page_size", 64

// What statistics say of the file, which has another form as a setting.
const fileBytes, filePagesFree, filePagesUsed = "file", "free pages of the file", "used pages of the file"

// addFile makes settings of what statistics say of the file, and returns what is assumed or missing.
func (s *settings) addFile() (notes []string) {
	bytes, pages := s.number(fileBytes), s.number(filePagesFree)+s.number(filePagesUsed)
	page := s.number(pageSize)
	switch {
	case bytes > 0 && pages > 0:
		page = bytes / pages >> 20
	case page == 0:
		page = pagesMB
		if bytes > 0 {
			notes = append(notes, fmt.Sprintf("does not say how large the pages of its file are: %d MB, as memcached comes, "+
				"are assumed; ext_page_size says another size", page))
		}
	}
	if pages == 0 {
		pages = bytes >> 20 / page
	}
	if bytes == 0 || pages < 2 { // without a file, or one in which memcached writes nothing
		return s.dropFile()
	}
	s.values["ext_path"] = fmt.Sprintf("extstore:%dm", bytes>>20)
	s.values[pageSize] = strconv.FormatInt(page, 10)
	for _, under := range []string{"ext_compact_under", "ext_drop_under"} { // what 0 stands for
		if s.number(under) == pages/4 {
			delete(s.values, under)
		}
	}
	return notes
}

// dropFile leaves the settings of a file out whose size is not known, and says which are not those of a server without
// one.
func (s *settings) dropFile() (notes []string) {
	var left []string
	for _, p := range memcached().Params {
		if !strings.HasPrefix(p.Name, "ext_") && p.Name != "slab_automove_freeratio" {
			continue
		}
		if text, ok := s.values[p.Name]; ok {
			if value, err := p.Parse(text); err != nil || value != p.Default {
				left = append(left, p.Name+"="+text)
			}
		}
		delete(s.values, p.Name)
	}
	if len(left) == 0 && s.number(fileBytes) == 0 {
		return nil
	}
	file := "how large its file is"
	if bytes := s.number(fileBytes); bytes > 0 {
		file = fmt.Sprintf("how large the pages of its file of %d MB are", bytes>>20)
	}
	with := ""
	if len(left) > 0 {
		with = ", with " + strings.Join(left, ",")
	}
	return []string{fmt.Sprintf("has extstore, and does not say %s: without ext_path=FILE:SIZE and ext_page_size it is "+
		"left out%s; import what stats says together with stats settings", file, with)}
}

// number returns a setting that is a whole number; 0 if there is none.
func (s *settings) number(name string) int64 {
	n, _ := strconv.ParseInt(s.values[name], 10, 64)
	return n
}
