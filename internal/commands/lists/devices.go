package lists

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/cuda"
)

// deviceJSON is a device as JSON has it. Only GPUs have a capability, multiprocessors and a driver.
type deviceJSON struct {
	Device     string   `json:"device"`
	Name       string   `json:"name"`
	Memory     int64    `json:"memory_bytes"`
	Capability string   `json:"capability,omitempty"`
	Processors int      `json:"multiprocessors,omitempty"`
	Driver     string   `json:"driver,omitempty"`
	Computes   []string `json:"computes"`
}

func Devices(gpus []cuda.Info) List {
	available, _ := memory.Available()
	all := []deviceJSON{{Device: "cpu", Name: fmt.Sprintf("%s, %d cores", runtime.GOARCH, runtime.GOMAXPROCS(0)),
		Memory: available, Computes: []string{"everything"}}}
	for _, g := range gpus {
		d := deviceJSON{fmt.Sprintf("cuda:%d", g.Number), g.Name, g.Memory, g.Capability.String(), g.Processors, g.Driver,
			[]string{}}
		for _, c := range cuda.Computations(g.Capability) {
			d.Computes = append(d.Computes, c.Name)
		}
		all = append(all, d)
	}
	l := List{
		Noun: "device",
		Columns: []tabular.Head{wordHead("device"), textHead("name"), {Name: "memory"}, {Name: "capability"},
			{Name: "multiprocessors"}, textHead("driver"), textHead("computes")},
		Kept: 3, Below: "computes, driver",
	}
	for _, d := range all {
		processors, computes := "", strings.Join(d.Computes, ", ")
		if d.Processors > 0 {
			processors = strconv.Itoa(d.Processors)
		}
		if len(d.Computes) == 0 {
			computes = "nothing: its capability is too low"
		}
		size := memory.Bytes(d.Memory)
		l.Items = append(l.Items, Item{
			Name:  d.Device,
			Row:   []string{d.Device, d.Name, size, d.Capability, processors, d.Driver, computes},
			Texts: []string{computes, d.Driver},
			JSON:  d,
		})
	}
	return l
}
