package canvas

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// texCanvas writes PGF, the language below TikZ. A file is a document of its own for pdflatex and lualatex, and can be
// put into another with \input. Unlike gonum's canvas it escapes texts, draws images without further files, closes
// paths, and gives the same bytes at any time. It implements vg.CanvasWriterTo.
type texCanvas struct {
	width, height vg.Length
	tex           bytes.Buffer
	pen           pen
	pushed        []pen
}

// texHeader begins a document unless there is one. Without another \cachesimfont letters are those of Helvetica, which
// are as wide as the figure expects.
const texHeader = `%% A figure of cachesim. Compile it with pdflatex or lualatex, or put it into a document that has
%%   \usepackage{pgf}
%% with \input. \newcommand\cachesimfont{} in that document sets its own font.
\expandafter\ifx\csname @twoclasseserror\endcsname\documentclass
  \let\cachesimend\relax
\else
  \documentclass{article}
  \usepackage[paperwidth=%[1]s,paperheight=%[2]s,margin=0pt]{geometry}
  \usepackage[T1]{fontenc}
  \usepackage{pgf}
  \def\cachesimend{\end{document}}
  \begin{document}\pagestyle{empty}\noindent
\fi
\providecommand\cachesimfont{\fontencoding{T1}\fontfamily{phv}}
\begin{pgfpicture}
\pgfpathrectangle{\pgfpointorigin}{\pgfpoint{%[1]s}{%[2]s}}
\pgfusepath{use as bounding box}
`

func newTeXCanvas(width, height vg.Length) *texCanvas {
	c := &texCanvas{width: width, height: height}
	c.write(texHeader, bp(width), bp(height))
	vg.Initialize(c)
	return c
}

func (c *texCanvas) write(format string, values ...any) { fmt.Fprintf(&c.tex, format, values...) }

// bp writes a length in the points of PDF, which TeX calls big points.
func bp(l vg.Length) string { return Digits(l) + "bp" }

func (c *texCanvas) at(p vg.Point) string { return fmt.Sprintf(`\pgfpoint{%s}{%s}`, bp(p.X), bp(p.Y)) }

func (c *texCanvas) Size() (x, y vg.Length) { return c.width, c.height }

func (c *texCanvas) SetLineWidth(w vg.Length) { c.pen.width = w }

func (c *texCanvas) SetLineDash(dashes []vg.Length, offset vg.Length) {
	c.pen.dashes, c.pen.offset = slices.Clone(dashes), offset
}

func (c *texCanvas) SetColor(to color.Color) {
	if to == nil {
		to = color.Black
	}
	c.pen.color = color.NRGBAModel.Convert(to).(color.NRGBA)
}

func (c *texCanvas) Push() {
	c.pushed = append(c.pushed, c.pen)
	c.write("\\begin{pgfscope}\n")
}

func (c *texCanvas) Pop() {
	last := len(c.pushed) - 1
	c.pen, c.pushed = c.pushed[last], c.pushed[:last]
	c.write("\\end{pgfscope}\n")
}

func (c *texCanvas) Translate(by vg.Point) { c.write("\\pgftransformshift{%s}\n", c.at(by)) }

func (c *texCanvas) Rotate(rad float64) { c.write("\\pgftransformrotate{%.6g}\n", rad*180/math.Pi) }

func (c *texCanvas) Scale(x, y float64) {
	c.write("\\pgftransformxscale{%.6g}\\pgftransformyscale{%.6g}\n", x, y)
}

func (c *texCanvas) Fill(path vg.Path) { c.paint(path, "fill", "") }

func (c *texCanvas) Stroke(path vg.Path) {
	if c.pen.width <= 0 {
		return
	}
	var dashes strings.Builder
	for _, l := range c.pen.dashes {
		dashes.WriteString("{" + bp(l) + "}")
	}
	c.paint(path, "stroke", fmt.Sprintf(`\pgfsetlinewidth{%s}\pgfsetdash{%s}{%s}`, bp(c.pen.width), &dashes,
		bp(c.pen.offset)))
}

// paint draws a path in the colour of the pen. What is not opaque needs a scope of its own, which ends the opacity.
func (c *texCanvas) paint(path vg.Path, use, line string) {
	if c.pen.color.A < 0xff {
		c.Push()
		defer c.Pop()
	}
	c.write("{\\color[RGB]{%d,%d,%d}", c.pen.color.R, c.pen.color.G, c.pen.color.B)
	if c.pen.color.A < 0xff {
		c.write("\\pgfset%sopacity{%.3g}", use, float64(c.pen.color.A)/0xff)
	}
	c.write("%s\n", line)
	for i, to := range path {
		switch to.Type {
		case vg.MoveComp:
			c.write("\\pgfpathmoveto{%s}", c.at(to.Pos))
		case vg.LineComp:
			c.write("\\pgfpathlineto{%s}", c.at(to.Pos))
		case vg.ArcComp:
			sin, cos := math.Sincos(to.Start)
			begin := to.Pos.Add(vg.Point{X: to.Radius * vg.Length(cos), Y: to.Radius * vg.Length(sin)})
			start, end := to.Start*180/math.Pi, (to.Start+to.Angle)*180/math.Pi
			move := "line"
			if i == 0 {
				move = "move"
			}
			c.write("\\pgfpath%sto{%s}\\pgfpatharc{%.6g}{%.6g}{%s}", move, c.at(begin), start, end, bp(to.Radius))
		case vg.CurveComp:
			first, second := to.Control[0], to.Control[len(to.Control)-1]
			c.write("\\pgfpathcurveto{%s}{%s}{%s}", c.at(first), c.at(second), c.at(to.Pos))
		case vg.CloseComp:
			c.write("\\pgfpathclose")
		}
		c.write("%%\n")
	}
	c.write("\\pgfusepath{%s}}\n", use)
}

func (c *texCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size <= 0 || text == "" {
		return
	}
	c.write("{\\color[RGB]{%d,%d,%d}\\pgftext[base,left,at={%s}]{\\fontsize{%s}{%s}\\cachesimfont\\selectfont %s}}\n",
		c.pen.color.R, c.pen.color.G, c.pen.color.B, c.at(at), bp(f.Font.Size), bp(f.Font.Size), texText(text))
}

// DrawImage implements vg.Canvas.
func (c *texCanvas) DrawImage(area vg.Rectangle, img image.Image) { drawPixels(c, area, img) }

func (c *texCanvas) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(append(c.tex.Bytes(), "\\end{pgfpicture}%\n\\cachesimend\n"...))
	return int64(n), err
}

// texNames are characters that mean something to TeX, or that not all of its fonts have.
var texNames = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`,
	"%", `\%`, "_", `\_`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`,
	"|", `\textbar{}`, `"`, `\textquotedbl{}`, "--", `-{}-`, "−", `\ensuremath{-}`, "×", `\ensuremath{\times}`,
	"±", `\ensuremath{\pm}`, "µ", `\ensuremath{\mu}`, "·", `\ensuremath{\cdot}`, "…", `\dots{}`, "≥", `\ensuremath{\geq}`,
	"≤", `\ensuremath{\leq}`)

// texText writes a text for TeX. Characters that are not in a Western font become "?".
func texText(text string) string {
	return texNames.Replace(strings.Map(func(r rune) rune {
		if _, ok := charmap.Windows1252.EncodeRune(r); !ok && !strings.ContainsRune("−≥≤", r) {
			return '?'
		}
		return r
	}, text))
}
