// SPDX-License-Identifier: GPL-2.0-only
/*
 * corners_tls.c - a library of corners.c whose thread-local storage must be static, where there is
 * little room for libraries that come late.
 */
static __thread volatile int many[256] __attribute__((tls_model("initial-exec")));

int corners_tls(void)
{
	many[255] = 7;
	return many[255] + many[0];
}
