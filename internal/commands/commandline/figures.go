package commandline

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Figures are the flags of every command that draws figures: --figure and, where lines are policies, --highlight.
type Figures struct {
	look.Options // what Check has read

	look, highlight string
}

// RegisterLook adds --figure.
func (f *Figures) RegisterLook(flags *pflag.FlagSet) {
	flags.StringVar(&f.look, "figure", "", look.Usage)
}

// Register adds both flags.
func (f *Figures) Register(flags *pflag.FlagSet) {
	f.RegisterLook(flags)
	flags.StringVar(&f.highlight, "highlight", "", "policies that figures draw strong and above the others, which are "+
		"muted: a list of names, with or without their parameters")
}

// Check reads the flags. out is the folder of the figures; "" if there is none.
func (f *Figures) Check(out string) (err error) {
	if out == "" && f.look+f.highlight != "" {
		return errors.New("--figure and --highlight change figures, and none is written; add -o with a folder for them")
	}
	if f.look != "" {
		if f.Options, err = look.Parse(f.look); err != nil {
			return fmt.Errorf("--figure: %w", err)
		}
	}
	if f.highlight != "" {
		if f.Highlight, err = look.ParseHighlight(f.highlight); err != nil {
			return fmt.Errorf("--highlight: %w", err)
		}
	}
	return nil
}

// CheckNames rejects policies to highlight that none of some records has.
func (f *Figures) CheckNames(recs []records.Record) error {
	if err := f.CheckHighlight(recs); err != nil {
		return fmt.Errorf("--highlight: %w", err)
	}
	return nil
}

// CheckPolicies rejects policies to highlight that are not replayed.
func (f *Figures) CheckPolicies(specs []policies.Spec) error {
	var recs []records.Record
	for _, s := range specs {
		recs = append(recs, records.Record{Policy: s.Entry.Name, Label: s.String()})
	}
	return f.CheckNames(recs)
}
