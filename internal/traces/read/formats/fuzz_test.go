package formats_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzText reads what the formats that are code read of lines.
func FuzzText(f *testing.F) {
	tracetest.FuzzAll(f, []string{"plain", "arc", "lirs", "seq-id-size", "batches", "rating", "cachelib", "csv",
		"csv:key=2,time=1,header=false,time-unit=ms"},
		"1\n22\nabc\r\n\n",
		"18446744073709551616\n007",
		"*\n1\n*\n",
		"a b\n",
		"1 1 0 0\n2 3 0 1\n",
		"18446744073709551615 1 0 0\n",
		"1 0 0 0",
		"1 1000000000 0 0\n",
		"1\n*\n\n2\r\n",
		" 007 \n",
		"-1\n",
		"1 0 68\n2 1 7454\n",
		"1 2 99999999999999999999\n",
		"1 2\n",
		"1 2,3\n4\r\n\n",
		"a\t007\n",
		"1\n\n2",
		" , ,\n1",
		"1::1074638::7::1365029107\n1::2::3::4\n",
		"1::::3::4\n",
		"::::::::\n",
		"op_time,key,key_size,op,op_count,size\n604038471,82131353f9ddc8c6,48,GET,1,87\n",
		"key,op,op_count,size,key_size\n1,SET,1000000000,0,0\n2,DELETE,1,1,1\n",
		"time,key,size,op\n0.5,a,10,get\n1,2,20,set\n",
		"\"key\"\t\"size\"\n\"a\"\"b\n\"\t7\n",
		"id;ts\n1;2023-11-16 18:17:03.97\n",
		"1,2\n3,4\n",
		"1 2\n3  4\n",
		"1e3|\"\"\n")
}
