package plots

import (
	"bytes"
	"io"
	"path"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Drawing is a figure that has been drawn, in one or more formats.
type Drawing struct {
	Name  string // of the files, without their endings
	Title string
	Width float64 // in points
	Files []File
	svg   []byte // for a page, if it is none of the files
	// narrow draws it for a small screen; nil if one figure serves all screens.
	narrow func() (Drawing, error)
	// Points is how many points the drawing has, and Told how many of them say their values in the SVG.
	Points, Told int
}

// File is one of the files of a drawing.
type File struct {
	Name string // with its ending
	Data []byte
}

// SVG returns the svg element of the drawing for a page that sets Properties, without the header of a file; nil if it
// was not drawn as SVG.
func (d Drawing) SVG() []byte {
	svg := d.svg
	if i := slices.IndexFunc(d.Files, func(f File) bool { return path.Ext(f.Name) == canvas.SVG.Ext }); i >= 0 {
		svg = d.Files[i].Data
	}
	if at := bytes.Index(svg, []byte("<svg")); at >= 0 {
		return themed(svg[at:])
	}
	return nil
}

// Narrow returns the svg element of the same figure, drawn for a small screen: its legend is below. It is nil if the
// figure has a width of its own, or cannot be drawn so narrow.
func (d Drawing) Narrow() []byte {
	if d.narrow == nil {
		return nil
	}
	narrow, err := d.narrow()
	if err != nil {
		return nil
	}
	return narrow.SVG()
}

// Outputs returns writers of the files of drawings.
func Outputs(drawings []Drawing) (outputs []atomicfile.Output) {
	for _, d := range drawings {
		for _, f := range d.Files {
			write := func(w io.Writer) error { _, err := w.Write(f.Data); return err }
			outputs = append(outputs, atomicfile.Output{Name: f.Name, Write: write})
		}
	}
	return outputs
}

// Write writes the files of drawings into dir, which is created if missing.
func Write(dir string, drawings ...Drawing) error {
	return atomicfile.WriteAllIn(dir, Outputs(drawings)...)
}

// render draws one image in several formats.
func render(name, title string, width, height vg.Length, paint func(draw.Canvas), o look.Options,
	usual []canvas.Format) (Drawing, error) {
	d := Drawing{Name: name, Title: title, Width: (width * o.Scale()).Points()}
	wanted := o.FormatsOf(usual)
	drawAs := func(f canvas.Format) (File, error) {
		on := f.New(width, height, o.Scale(), o.DPI())
		paint(draw.New(on))
		var image bytes.Buffer
		if _, err := on.WriteTo(&image); err != nil {
			return File{}, err
		}
		if svg, ok := on.(*canvas.SVGCanvas); ok {
			d.svg, d.Points, d.Told = image.Bytes(), svg.Points, svg.Told
		}
		return File{name + f.Ext, image.Bytes()}, nil
	}
	for _, f := range wanted {
		file, err := drawAs(f)
		if err != nil {
			return Drawing{}, err
		}
		d.Files = append(d.Files, file)
	}
	isSVG := func(f canvas.Format) bool { return f.Ext == canvas.SVG.Ext }
	if slices.ContainsFunc(usual, isSVG) && d.svg == nil {
		if _, err := drawAs(canvas.SVG); err != nil { // for a page
			return Drawing{}, err
		}
	}
	return d, nil
}
