package plots

import (
	"bytes"
	"image"
	"io"
	"strings"
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
	ext       string
	newCanvas func(width, height vg.Length) vg.CanvasWriterTo
}

var (
	SVG = Format{".svg", func(w, h vg.Length) vg.CanvasWriterTo { return newSVGCanvas(w, h) }}
	PNG = Format{".png", func(w, h vg.Length) vg.CanvasWriterTo {
		return pngCanvas{vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))}}
	}}
	PDF = Format{".pdf", func(w, h vg.Length) vg.CanvasWriterTo { return pdfCanvas{vgpdf.New(w, h)} }}
)

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

// DrawImage implements vg.Canvas. The canvas of gonum draws images upside down, and in any order in the file. Instead,
// pixels are rectangles, one for all equal ones side by side. They reach below those that follow them at the right and
// above, so that no viewer shows seams.
func (c pdfCanvas) DrawImage(area vg.Rectangle, img image.Image) {
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
	for _, f := range d.Files {
		if at := bytes.Index(f.Data, []byte("<svg")); at >= 0 && strings.HasSuffix(f.Name, SVG.ext) {
			return themed(f.Data[at:])
		}
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
func render(name, title string, width, height vg.Length, paint func(draw.Canvas), formats []Format) (Drawing, error) {
	d := Drawing{Name: name, Title: title, Width: width.Points()}
	for _, f := range formats {
		canvas := f.newCanvas(width, height)
		paint(draw.New(canvas))
		var image bytes.Buffer
		if _, err := canvas.WriteTo(&image); err != nil {
			return Drawing{}, err
		}
		d.Files = append(d.Files, File{name + f.ext, image.Bytes()})
		if svg, ok := canvas.(*svgCanvas); ok {
			d.Points, d.Told = svg.points, svg.told
		}
	}
	return d, nil
}
