// SPDX-License-Identifier: GPL-2.0-only
/* Which processes have the preload library. */
#include <linux/types.h>

#include "trace/hooked.h"

#include <kselftest_harness.h>

FIXTURE(hooked) {
	struct hooked *h;
};

FIXTURE_SETUP(hooked)
{
	ASSERT_EQ(0, hooked__new(&self->h));
}

FIXTURE_TEARDOWN(hooked)
{
	hooked__free(self->h);
}

TEST_F(hooked, a_program_without_it_counts_once)
{
	hooked__allocator(self->h, 10);
	hooked__allocator(self->h, 10);
	EXPECT_EQ(1, hooked__nr_without(self->h));
}

TEST_F(hooked, one_that_has_it_does_not_count)
{
	hooked__load(self->h, 10);
	hooked__allocator(self->h, 10);
	EXPECT_EQ(0, hooked__nr_without(self->h));
}

TEST_F(hooked, one_that_has_it_behind_another_does_not_count)
{
	hooked__allocator(self->h, 10);
	hooked__load(self->h, 10);
	EXPECT_EQ(0, hooked__nr_without(self->h));
	hooked__allocator(self->h, 10);
	EXPECT_EQ(0, hooked__nr_without(self->h));
}

TEST_F(hooked, children_have_what_their_parent_has)
{
	hooked__load(self->h, 10);
	hooked__fork(self->h, 10, 11);
	hooked__allocator(self->h, 11);
	EXPECT_EQ(0, hooked__nr_without(self->h));
	hooked__allocator(self->h, 20);
	hooked__fork(self->h, 20, 21);
	hooked__allocator(self->h, 21);
	EXPECT_EQ(1, hooked__nr_without(self->h));
}

TEST_F(hooked, a_new_program_is_asked_again)
{
	hooked__load(self->h, 10);
	hooked__reset(self->h, 10);
	hooked__allocator(self->h, 10);
	EXPECT_EQ(1, hooked__nr_without(self->h));
	hooked__reset(self->h, 10);
	hooked__allocator(self->h, 10);
	EXPECT_EQ(2, hooked__nr_without(self->h));
}

TEST_HARNESS_MAIN
