/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preload_fit.h - can a command take our preload library?
 */
#ifndef PERF_CHURN_PROBE_PRELOAD_FIT_H
#define PERF_CHURN_PROBE_PRELOAD_FIT_H

/**
 * enum preload_fit - Whether it can, or why not.
 * @PRELOAD_FITS: Its loader will load the library, and the library's malloc will be called.
 * @PRELOAD_STATIC: There is no loader that could.
 * @PRELOAD_PRIVILEGED: It runs with more rights than we have (set-user-ID, set-group-ID, file
 *	capabilities): the loader ignores LD_PRELOAD. Where security modules make it so, that is not
 *	seen.
 * @PRELOAD_LOADER: Its loader is not glibc's, as the library needs.
 * @PRELOAD_ARCH: No x86-64 program.
 * @PRELOAD_OWN_MALLOC: The executable defines malloc, which goes before the library's.
 * @PRELOAD_SANITIZER: A sanitizer's runtime, which wants to come first, replaces malloc.
 */
enum preload_fit {
	PRELOAD_FITS,
	PRELOAD_STATIC,
	PRELOAD_PRIVILEGED,
	PRELOAD_LOADER,
	PRELOAD_ARCH,
	PRELOAD_OWN_MALLOC,
	PRELOAD_SANITIZER,
};

/**
 * preload__judge() - Can the program that a command runs take the preload library?
 * @argv: The command, @argv[0] searched on PATH. Scripts are followed to their interpreter.
 * @ret: Set on success only.
 *
 * Rights are compared with those of this process, as the kernel does when it executes the command.
 *
 * Return: 0; as command__program() when there is no such command; -ENOMEM; or the errno of open(2)
 * (-EACCES for a program that may be executed but not read). Prints nothing.
 */
int preload__judge(char *const *argv, enum preload_fit *ret);

/**
 * preload_fit__text() - One line why not, to stand behind "COMMAND: "; NULL for PRELOAD_FITS.
 */
const char *preload_fit__text(enum preload_fit fit);

#endif /* PERF_CHURN_PROBE_PRELOAD_FIT_H */
