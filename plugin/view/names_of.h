/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PERF_CHURN_VIEW_NAMES_OF_H
#define PERF_CHURN_VIEW_NAMES_OF_H

#include <stdio.h>

#include "churn/stacks.h"

/** print_function() - "leaf", "leaf (inlined)", or "0x1234" where there is no name. */
void print_function(FILE *out, const struct stack_frame *f);

/** print_site() - "leaf (tree.c:12)", "leaf (inlined) (tree.c:12)", or without lines "leaf+0x1f (prog)". */
void print_site(FILE *out, const struct stack_frame *f);

/** print_frame() - A frame of a call path: "main", "0x1234 (prog)", "inner (inlined)". */
void print_frame(FILE *out, const struct stack_frame *f);

#endif /* PERF_CHURN_VIEW_NAMES_OF_H */
