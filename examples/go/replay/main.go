// Command replay replays a trace under three policies and draws their hit ratios over the capacity into curves.svg.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim"
)

func main() {
	log.SetFlags(0)
	trace := "zipf(objects=10000,requests=200000)"
	if len(os.Args) > 1 {
		trace = os.Args[1]
	}
	records, err := cachesim.Run(context.Background(), trace, cachesim.Options{
		Policies:   []string{"lru", "s3fifo", "lirs"},
		Capacities: []string{"0.5%..32%x2"},
		Note:       func(text string) { log.Print(text) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := draw(records, "curves.svg"); err != nil {
		log.Fatal(err)
	}
}

// draw prints the records and draws a line for each policy.
func draw(records []cachesim.Record, path string) error {
	lines := map[string]plotter.XYs{}
	for _, r := range records {
		ratio, _ := r.Metric("hit_ratio")
		fmt.Printf("%-8s %6d %6.2f%%\n", r.Label, r.Capacity, 100*ratio)
		lines[r.Label] = append(lines[r.Label], plotter.XY{X: float64(r.Capacity), Y: ratio})
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "objects", "hit ratio"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Left, p.Legend.Top = true, true
	for _, name := range []string{"lru", "s3fifo", "lirs"} {
		if err := plotutil.AddLinePoints(p, name, lines[name]); err != nil {
			return err
		}
	}
	return p.Save(16*vg.Centimeter, 11*vg.Centimeter, path)
}
