// SPDX-License-Identifier: GPL-2.0-only
#include "format.h"
#include "names_of.h"

void print_function(FILE *out, const struct stack_frame *f)
{
	if (f->sym)
		print_text(out, f->sym);
	else if (f->rel_ip)
		fprintf(out, "%#llx", f->rel_ip);
	else
		fputs("[unknown]", out);
	if (f->inlined)
		fputs(" (inlined)", out);
}

static void print_object(FILE *out, const struct stack_frame *f)
{
	if (!f->dso)
		return;
	fputs(" (", out);
	print_text(out, base_name(f->dso));
	fputc(')', out);
}

void print_site(FILE *out, const struct stack_frame *f)
{
	print_function(out, f);
	if (f->srcline) {
		fputs(" (", out);
		print_text(out, f->srcline);
		fputc(')', out);
		return;
	}
	if (f->sym && f->sym_start && f->rel_ip > f->sym_start)
		fprintf(out, "+%#llx", f->rel_ip - f->sym_start);
	print_object(out, f);
}

void print_frame(FILE *out, const struct stack_frame *f)
{
	print_function(out, f);
	if (!f->sym)
		print_object(out, f);
}
