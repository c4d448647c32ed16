/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * object.h - an ELF file opened through libdwfl, with its separate debug file on demand.
 */
#ifndef PERF_CHURN_STACK_OBJECT_H
#define PERF_CHURN_STACK_OBJECT_H

#include <stdbool.h>
#include <elfutils/libdwfl.h>
#include <linux/types.h>

#include "locate.h"

/**
 * struct object_file - How to open an object again.
 * @path: From locate__object().
 * @build_id: As the file itself says.
 * @env: Where its debug file may be.
 */
struct object_file {
	char *path;
	struct build_id build_id;
	const struct locate_env *env;
};

/** object__begin() - An empty libdwfl session, whose modules look for debug files as we do. */
Dwfl *object__begin(void);

/**
 * object__report() - Add an object to a session.
 * @file: Must outlive the session.
 * @bias: Where it is loaded, less the addresses it was linked for; 0: as linked.
 *
 * Return: The module, or NULL for what is no ELF file.
 */
Dwfl_Module *object__report(Dwfl *dwfl, const struct object_file *file, __u64 bias);

#endif /* PERF_CHURN_STACK_OBJECT_H */
