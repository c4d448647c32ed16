// SPDX-License-Identifier: GPL-2.0-only
/*
 * processes.cpp - processes and files that come in the middle: fork, vfork, exec, a plugin, a function
 * that the loader finds at its first call.
 */
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stacks.h"

static int wait_for(pid_t pid)
{
	int status;

	return pid <= 0 || waitpid(pid, &status, 0) != pid || status;
}

STACK_FN static void fork_child()
{
	grab(7201, 11);
	stay();
}

STACK_FN static void fork_after()
{
	grab(7202, 13);
	stay();
}

STACK_FN static int fork_a()
{
	pid_t pid;
	int err;

	pid = fork();
	if (!pid) {
		fork_child();
		_exit(0);
	}
	err = wait_for(pid);
	fork_after();
	stay();
	return err;
}

STACK_FN static int case_fork()
{
	int err = fork_a();

	stay();
	return err;
}

STACK_FN static void vfork_child()
{
	grab(7211, 17);
	stay();
}

STACK_FN static int vfork_a()
{
	pid_t pid;

	pid = vfork();
	if (!pid) {
		vfork_child();
		_exit(0);
	}
	grab(7212, 19);
	return wait_for(pid);
}

STACK_FN static int case_vfork()
{
	int err = vfork_a();

	stay();
	return err;
}

STACK_FN static int case_exec()
{
	pid_t pid;

	grab(7221, 5);
	pid = fork();
	if (!pid) {
		grab(7222, 7);
		exec_case("after_exec");
		_exit(1);
	}
	return wait_for(pid);
}

STACK_FN static void exec_b()
{
	grab(7223, 13);
	stay();
}

STACK_FN static int case_after_exec()
{
	prctl(PR_SET_NAME, "exec");
	exec_b();
	exec_case("after_exec_2");
	stay();
	return 1;
}

STACK_FN static int case_after_exec_2()
{
	prctl(PR_SET_NAME, "exec");
	grab(7224, 17);
	stay();
	return 0;
}

#ifndef STACKS_STATIC
static void (*plugin_function(const char *name))(bool)
{
	char path[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - sizeof("stacks_plugin.so"));
	char *base;
	void *lib;

	if (bytes < 0)
		return nullptr;
	path[bytes] = '\0';
	base = strrchr(path, '/') + 1;
	strcpy(base, "stacks_plugin.so");
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	return lib ? (void (*)(bool))dlsym(lib, name) : nullptr;
}

STACK_FN static int case_plugin()
{
	void (*entry)(bool) = plugin_function("plugin_entry");

	if (!entry)
		return 1;
	entry(burning);
	stay();
	return 0;
}

STACK_FN static int case_lazy()
{
	void (*entry)(bool) = plugin_function("lazy_entry");

	if (!entry)
		return 1;
	entry(burning);
	stay();
	return 0;
}
#endif

const struct stack_case process_cases[] = {
	{ "fork", case_fork },
	{ "vfork", case_vfork },
	{ "exec", case_exec },
	{ "after_exec", case_after_exec },
	{ "after_exec_2", case_after_exec_2 },
#ifndef STACKS_STATIC
	{ "plugin", case_plugin },
	{ "lazy", case_lazy },
#endif
	{ nullptr, nullptr },
};
