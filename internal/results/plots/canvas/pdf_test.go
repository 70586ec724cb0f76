package canvas

import (
	"bytes"
	"compress/zlib"
	"image"
	"image/color/palette"
	"io"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// A PDF has an image the right way up, as rectangles that reach below the next ones.
func TestPDFsHaveImagesAsRectangles(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 3, 2), palette.Plan9)
	copy(img.Pix, []uint8{7, 7, 9, 1, 2, 3})
	c := pdfCanvas{vgpdf.New(30, 20)}
	c.DrawImage(vg.Rectangle{Max: vg.Point{X: 30, Y: 20}}, img)
	var file bytes.Buffer
	must.Get(c.WriteTo(&file))(t)
	var boxes []string
	box := regexp.MustCompile(`([0-9.]+ [0-9.]+) m\n.* l\n([0-9.]+ [0-9.]+) l\n`)
	for _, part := range bytes.SplitAfter(file.Bytes(), []byte("stream\n")) {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			text, _ := io.ReadAll(r) // the end of the stream is not that of the part
			for _, corners := range box.FindAllStringSubmatch(string(text), -1) {
				boxes = append(boxes, corners[1]+" to "+corners[2])
			}
		}
	}
	// The canvas turns the page, whose lower edge is at 20, the right way up.
	want := []string{"0.00 20.00 to 20.00 0.00", "10.00 20.00 to 30.00 0.00", "20.00 20.00 to 30.00 0.00",
		"0.00 10.00 to 30.00 0.00", "20.00 10.00 to 30.00 0.00"}
	if !slices.Equal(boxes, want) {
		t.Errorf("rectangles %q, want %q", boxes, want)
	}
}
