package plots

import (
	"bytes"
	"image"
	"io"
	"math"
	"path"
	"slices"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
)

// Format is a kind of image file.
type Format struct {
	ext string
	// newCanvas returns a canvas of that size, which is written so many times as large.
	newCanvas func(width, height vg.Length, o Options) vg.CanvasWriterTo
}

var (
	SVG = Format{".svg", func(w, h vg.Length, o Options) vg.CanvasWriterTo { return newSVGCanvas(w, h, o.scale()) }}
	PNG = Format{".png", func(w, h vg.Length, o Options) vg.CanvasWriterTo {
		dpi := pngDPI
		if o.Width > 0 {
			dpi = paperDPI
		}
		dpi = int(math.Round(float64(dpi) * float64(o.scale())))
		return pngCanvas{vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))}}
	}}
	PDF = Format{".pdf", func(w, h vg.Length, o Options) vg.CanvasWriterTo {
		s := o.scale()
		return scaledCanvas{pdfCanvas{vgpdf.New(w*s, h*s)}, s}
	}}
	TeX = Format{".tex", func(w, h vg.Length, o Options) vg.CanvasWriterTo {
		s := o.scale()
		return scaledCanvas{newTeXCanvas(w*s, h*s), s}
	}}
)

var formats = []Format{SVG, PNG, PDF, TeX}

func formatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.ext[1:])
	}
	return names
}

// scaledCanvas draws everything so many times as large. It implements vg.CanvasWriterTo.
type scaledCanvas struct {
	vg.CanvasWriterTo
	by vg.Length
}

func (c scaledCanvas) Size() (x, y vg.Length) {
	x, y = c.CanvasWriterTo.Size()
	return x / c.by, y / c.by
}

func (c scaledCanvas) SetLineWidth(w vg.Length) { c.CanvasWriterTo.SetLineWidth(w * c.by) }

func (c scaledCanvas) SetLineDash(dashes []vg.Length, offset vg.Length) {
	long := make([]vg.Length, len(dashes))
	for i, l := range dashes {
		long[i] = l * c.by
	}
	c.CanvasWriterTo.SetLineDash(long, offset*c.by)
}

func (c scaledCanvas) Translate(by vg.Point) { c.CanvasWriterTo.Translate(by.Scale(c.by)) }
func (c scaledCanvas) Stroke(path vg.Path)   { c.CanvasWriterTo.Stroke(c.path(path)) }
func (c scaledCanvas) Fill(path vg.Path)     { c.CanvasWriterTo.Fill(c.path(path)) }

func (c scaledCanvas) path(path vg.Path) vg.Path {
	path = slices.Clone(path)
	for i := range path {
		to := &path[i]
		to.Pos, to.Radius, to.Control = to.Pos.Scale(c.by), to.Radius*c.by, slices.Clone(to.Control)
		for k := range to.Control {
			to.Control[k] = to.Control[k].Scale(c.by)
		}
	}
	return path
}

func (c scaledCanvas) FillString(f font.Face, at vg.Point, text string) {
	f.Font.Size *= c.by
	c.CanvasWriterTo.FillString(f, at.Scale(c.by), text)
}

func (c scaledCanvas) DrawImage(area vg.Rectangle, img image.Image) {
	c.CanvasWriterTo.DrawImage(vg.Rectangle{Min: area.Min.Scale(c.by), Max: area.Max.Scale(c.by)}, img)
}

// init makes documents that do not depend on when they are made.
func init() {
	fpdf.SetDefaultCatalogSort(true)
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
}

// pngCanvas draws images with sharp pixels. It implements vg.Canvas.
type pngCanvas struct{ vgimg.PngCanvas }

func (c pngCanvas) DrawImage(area vg.Rectangle, img image.Image) {
	c.PngCanvas.DrawImage(area, enlarged(img))
}

// pdfCanvas mends what the canvas of gonum draws otherwise than other canvases.
type pdfCanvas struct{ *vgpdf.Canvas }

// DrawImage implements vg.Canvas. The canvas of gonum draws images upside down, and in any order in the file.
func (c pdfCanvas) DrawImage(area vg.Rectangle, img image.Image) { drawPixels(c, area, img) }

// drawPixels draws an image as rectangles, one for all equal pixels side by side. They reach below those that follow
// them at the right and above, so that no viewer shows seams.
func drawPixels(c vg.Canvas, area vg.Rectangle, img image.Image) {
	bounds := img.Bounds()
	pixel := vg.Point{X: area.Size().X / vg.Length(bounds.Dx()), Y: area.Size().Y / vg.Length(bounds.Dy())}
	for row := range bounds.Dy() {
		y := bounds.Max.Y - 1 - row
		for column := 0; column < bounds.Dx(); {
			first, colour := column, img.At(bounds.Min.X+column, y)
			for column < bounds.Dx() && img.At(bounds.Min.X+column, y) == colour {
				column++
			}
			box := vg.Rectangle{Min: area.Min.Add(vg.Point{X: vg.Length(first) * pixel.X, Y: vg.Length(row) * pixel.Y})}
			box.Max = area.Min.Add(vg.Point{X: vg.Length(min(column+1, bounds.Dx())) * pixel.X,
				Y: vg.Length(min(row+2, bounds.Dy())) * pixel.Y})
			c.SetColor(colour)
			c.Fill(box.Path())
		}
	}
}

// FillString implements vg.Canvas. It writes in the encoding of the fonts in a PDF, Windows 1252; other characters
// become "?".
func (c pdfCanvas) FillString(f font.Face, at vg.Point, s string) {
	var western []byte
	for _, r := range s {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
		}
		western = append(western, b)
	}
	c.Canvas.FillString(f, at, string(western))
}

// Drawing is a figure that has been drawn, in one or more formats.
type Drawing struct {
	Name  string // of the files, without their endings
	Title string
	Width float64 // in points
	Files []File
	svg   []byte // for a page, if it is none of the files
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
	if i := slices.IndexFunc(d.Files, func(f File) bool { return path.Ext(f.Name) == SVG.ext }); i >= 0 {
		svg = d.Files[i].Data
	}
	if at := bytes.Index(svg, []byte("<svg")); at >= 0 {
		return themed(svg[at:])
	}
	return nil
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
func render(name, title string, width, height vg.Length, paint func(draw.Canvas), o Options,
	usual []Format) (Drawing, error) {
	d := Drawing{Name: name, Title: title, Width: (width * o.scale()).Points()}
	wanted := o.formats(usual)
	draw := func(f Format) (File, error) {
		canvas := f.newCanvas(width, height, o)
		paint(draw.New(canvas))
		var image bytes.Buffer
		if _, err := canvas.WriteTo(&image); err != nil {
			return File{}, err
		}
		if svg, ok := canvas.(*svgCanvas); ok {
			d.svg, d.Points, d.Told = image.Bytes(), svg.points, svg.told
		}
		return File{name + f.ext, image.Bytes()}, nil
	}
	for _, f := range wanted {
		file, err := draw(f)
		if err != nil {
			return Drawing{}, err
		}
		d.Files = append(d.Files, file)
	}
	if isSVG := func(f Format) bool { return f.ext == SVG.ext }; slices.ContainsFunc(usual, isSVG) && d.svg == nil {
		if _, err := draw(SVG); err != nil { // for a page
			return Drawing{}, err
		}
	}
	return d, nil
}
