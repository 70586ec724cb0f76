// Package canvas has the formats of the files that figures are written as, and what is drawn on for each of them.
package canvas

import (
	"image"
	"math"
	"slices"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// Format is a kind of image file.
type Format struct {
	Ext string // ".svg"
	// New returns a canvas of that size, which is written so many times as large, with so many pixels in an inch.
	New func(width, height, scale vg.Length, dpi int) vg.CanvasWriterTo
}

// The formats that there are.
var (
	SVG = Format{".svg", func(w, h, s vg.Length, _ int) vg.CanvasWriterTo { return NewSVG(w, h, s) }}
	PNG = Format{".png", func(w, h, s vg.Length, dpi int) vg.CanvasWriterTo {
		dpi = int(math.Round(float64(dpi) * float64(s)))
		return pngCanvas{vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))}}
	}}
	PDF = Format{".pdf", func(w, h, s vg.Length, _ int) vg.CanvasWriterTo {
		return scaledCanvas{pdfCanvas{vgpdf.New(w*s, h*s)}, s}
	}}
	TeX = Format{".tex", func(w, h, s vg.Length, _ int) vg.CanvasWriterTo {
		return scaledCanvas{newTeXCanvas(w*s, h*s), s}
	}}
)

// Formats are all of them.
var Formats = []Format{SVG, PNG, PDF, TeX}

// Names are the names of the formats.
func Names() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Ext[1:])
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

// leastPixels is the least width and height of an image in a file, so that it stays sharp where a viewer smooths it.
const leastPixels = 1024

// enlarged returns an image in which each pixel is a rectangle of so many that none looks blurred.
func enlarged(img image.Image) image.Image {
	small, ok := img.(*image.Paletted)
	if !ok {
		return img
	}
	size := small.Bounds().Size()
	wide, high := copies(size.X), copies(size.Y)
	out := image.NewPaletted(image.Rect(0, 0, wide*size.X, high*size.Y), small.Palette)
	for i := range out.Pix {
		x, y := i%out.Stride, i/out.Stride
		out.Pix[i] = small.Pix[y/high*small.Stride+x/wide]
	}
	return out
}

// copies returns how often each of n pixels is repeated. One alone has no neighbour to be blurred with.
func copies(n int) int {
	if n == 1 {
		return 1
	}
	return (leastPixels + n - 1) / n
}
