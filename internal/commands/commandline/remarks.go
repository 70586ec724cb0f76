package commandline

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// mostRemarks is the number of lines that one screen has for what a trace is, and what may be wrong with it.
const mostRemarks = 4

// mostSentences is the number of lines that one screen has for the sentences of an answer.
const mostSentences = 8

// Remarks returns remarks on a trace as they are if one screen of width columns has room for them beside an answer, and
// else the beginnings of the first ones, and which command prints all. A width of 0 is unlimited.
func Remarks(remarks []string, width int, command string) (short []string) {
	lines := 0
	for _, r := range remarks {
		lines += len(terminal.WrapHanging(r, width))
	}
	if width == 0 || lines <= mostRemarks {
		return remarks
	}
	for _, r := range remarks[:min(len(remarks), mostRemarks-1)] {
		short = append(short, Snipped(r, width))
	}
	return append(short, fmt.Sprintf("%d remarks on this log in full: %s", len(remarks), command))
}

// Sentences returns the sentences of an answer as they are if one screen of width columns has room for them below a
// table. Else the last ones are shortened, as many as needed.
func Sentences(sentences []string, width int) (short []string) {
	short = slices.Clone(sentences)
	lines := 0
	for _, s := range sentences {
		lines += len(terminal.Wrap(s, width))
	}
	for i := len(short) - 1; i >= 0 && lines > mostSentences; i-- {
		lines -= len(terminal.Wrap(short[i], width)) - 1
		short[i] = Snipped(short[i], width)
	}
	return short
}

// Snipped returns as much of a text as a line of width columns has room for.
func Snipped(text string, width int) string {
	if len(terminal.Wrap(text, width)) == 1 {
		return text
	}
	return terminal.Wrap(text, width-len(" …"))[0] + " …"
}
