package pylog

import (
	"fmt"
	"regexp"
	"strconv"
)

// Clock finds the times of lines that servers print on the console.
type Clock struct {
	year  int    // of the last line, where lines have only month and day
	month int    // likewise
	last  []byte // the last time found
}

var (
	fullDate = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?`)
	dayDate  = regexp.MustCompile(`\b(\d\d)-(\d\d \d\d:\d\d:\d\d)`)
)

// firstYear is the year of logs that state none. It is a leap year, which has every day.
const firstYear = 2024

// Of returns the time in what a line has before its message, or else that of the last line that had one; nil if none
// has. A month before the last one begins the next year, if no year is stated.
func (c *Clock) Of(before []byte) []byte {
	const longest = 200 // what programs and collectors print before a message
	before = before[:min(len(before), longest)]
	if at := fullDate.FindIndex(before); at != nil {
		date := append([]byte(nil), before[at[0]:at[1]]...)
		if len(date) > 19 && date[19] == ',' {
			date[19] = '.'
		}
		c.last = date
	} else if found := dayDate.FindSubmatch(before); found != nil {
		month, _ := strconv.Atoi(string(found[1]))
		if c.year == 0 {
			c.year = firstYear
		} else if month < c.month-6 {
			c.year++
		}
		c.month = month
		c.last = fmt.Appendf(nil, "%d-%s-%s", c.year, found[1], found[2])
	}
	return c.last
}
