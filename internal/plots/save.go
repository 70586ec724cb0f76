package plots

import (
	"bytes"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/cachesim/cachesim/internal/atomicfile"
)

// format is a kind of image file.
type format struct {
	ext       string
	newCanvas func(width, height vg.Length) vg.CanvasWriterTo
}

var (
	asSVG = format{".svg", func(w, h vg.Length) vg.CanvasWriterTo { return vgsvg.New(w, h) }}
	asPNG = format{".png", func(w, h vg.Length) vg.CanvasWriterTo {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))}
	}}
	asPDF = format{".pdf", func(w, h vg.Length) vg.CanvasWriterTo { return westernText{vgpdf.New(w, h)} }}
)

// init makes documents that do not depend on when they are made.
func init() {
	fpdf.SetDefaultCatalogSort(true)
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
}

// westernText writes text in the encoding of the fonts in a PDF, Windows 1252; other characters become "?".
type westernText struct{ *vgpdf.Canvas }

// FillString implements vg.Canvas.
func (c westernText) FillString(f font.Face, at vg.Point, s string) {
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

// save draws one image in several formats into dir, which must exist, and returns the names of the files.
func save(dir, name string, width, height vg.Length, paint func(draw.Canvas), formats []format) (files []string,
	err error) {
	for _, f := range formats {
		canvas := f.newCanvas(width, height)
		paint(draw.New(canvas))
		err := atomicfile.WriteIn(dir, name+f.ext, func(w io.Writer) error { return encode(w, canvas) })
		if err != nil {
			return files, err
		}
		files = append(files, name+f.ext)
	}
	return files, nil
}

// encode writes the image. An SVG names only the font that was measured; the names added here have the same widths or
// are what every viewer has.
func encode(w io.Writer, canvas io.WriterTo) error {
	var image bytes.Buffer
	if _, err := canvas.WriteTo(&image); err != nil {
		return err
	}
	data := bytes.ReplaceAll(image.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation "+
		"Sans,Arial,Helvetica,sans-serif;"))
	_, err := w.Write(data)
	return err
}
