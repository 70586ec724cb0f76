// The functions of twins.h on the CPU: words from standard input, results to standard output.
#include <stdint.h>
#include <stdio.h>
#define TWIN
#include "twins.h"

int main(void) {
	u64 in[3], out[functions];
	while (fread(in, sizeof in, 1, stdin) == 1) {
		evaluate(in, out);
		if (fwrite(out, sizeof out, 1, stdout) != 1) return 1;
	}
	return 0;
}
