// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <subcmd/pager.h>
#include <unistd.h>

#include "term.h"
#include "util/clock.h"

#define FIRST_BAR_NS	500000000ull
#define NEXT_BAR_NS	100000000ull
#define BAR_WIDTH	50

bool term__begin_output(bool pager)
{
	const char *term = getenv("TERM");
	bool color = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");

	if (pager)
		setup_pager();
	return color;
}

void term__progress(struct term_progress *p, __u64 done, __u64 total)
{
	__u64 now;
	int width, i;

	if (p->off || !total)
		return;
	now = clock__now_ns();
	if (!p->start_ns) {
		p->start_ns = now;
		p->off = !isatty(STDERR_FILENO);
		return;
	}
	if (now - p->start_ns < FIRST_BAR_NS || now - p->last_ns < NEXT_BAR_NS)
		return;
	p->last_ns = now;
	width = done < total ? (double)done / total * BAR_WIDTH : BAR_WIDTH;
	fprintf(stderr, "\rReading [");
	for (i = 0; i < BAR_WIDTH; i++)
		fputc(i < width ? '=' : ' ', stderr);
	fprintf(stderr, "] %3d %%", (int)(width * 100 / BAR_WIDTH));
	fflush(stderr);
}

void term__end_progress(struct term_progress *p)
{
	if (p->last_ns)
		fprintf(stderr, "\r\033[K");
	p->off = true;
}
