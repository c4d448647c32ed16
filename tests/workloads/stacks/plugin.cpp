// SPDX-License-Identifier: GPL-2.0-only
/*
 * plugin.cpp - stacks_plugin.so, which stacks opens while it runs.
 */
#include "stacks.h"

#define EXPORT	__attribute__((visibility("default")))

static bool plugin_burning;

STACK_FN static void plugin_grab(size_t size, int count)
{
	spend(plugin_burning, size, count);
}

STACK_FN static void plugin_b()
{
	plugin_grab(7301, 23);
	stay();
}

extern "C" {

EXPORT void plugin_entry(bool burn);
EXPORT void lazy_entry(bool burn);
EXPORT void lazy_called();
EXPORT void lazy_chosen();

STACK_FN void plugin_entry(bool burn)
{
	plugin_burning = burn;
	plugin_b();
	stay();
}

STACK_FN void lazy_called()
{
	plugin_grab(7311, 29);
	stay();
}

STACK_FN static void lazy_choice()
{
	stay();
}

/* Runs inside the loader, at the first call of lazy_chosen(). */
__attribute__((noinline, used)) static void (*lazy_resolver())()
{
	plugin_grab(7312, 31);
	stay();
	return lazy_choice;
}

void lazy_chosen() __attribute__((ifunc("lazy_resolver")));

STACK_FN void lazy_entry(bool burn)
{
	plugin_burning = burn;
	lazy_called();
	lazy_chosen();
	stay();
}

} /* extern "C" */
