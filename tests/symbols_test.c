// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and symbol tables.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "stack/demangle.h"
#include "stack/kallsyms.h"
#include "stack/strpool.h"
#include "stack/symtab.h"

/* ------------------------------------------------------------------ text */

struct clean_row { const char *in, *out; };

FIXTURE(clean) { struct strpool *pool; };
FIXTURE_VARIANT(clean) { struct clean_row row; };
FIXTURE_SETUP(clean) { ASSERT_EQ(0, strpool__new(&self->pool)); }
FIXTURE_TEARDOWN(clean) { strpool__free(self->pool); }

#define CLEAN(name, ...)	FIXTURE_VARIANT_ADD(clean, name) { .row = { __VA_ARGS__ } }

CLEAN(plain_stays, "operator new[]", "operator new[]");
CLEAN(empty_stays, "", "");
CLEAN(escape_goes, "\033]0;x\a", "?]0;x?");
CLEAN(tab_and_newline_go, "a\tb\nc\r", "a?b?c?");
CLEAN(umlaut_stays, "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
CLEAN(emoji_stays, "\xf0\x9f\x90\x84", "\xf0\x9f\x90\x84");
CLEAN(c1_control_goes, "a\xc2\x9b" "31m", "a?31m");
CLEAN(raw_c1_byte_goes, "a\x9b", "a?");
CLEAN(direction_override_goes, "a\xe2\x80\xae" "b", "a?b");
CLEAN(byte_order_mark_goes, "\xef\xbb\xbf", "?");
CLEAN(cut_sequence_goes, "a\xe2\x80", "a??");
CLEAN(overlong_goes, "\xc0\xaf", "??");
CLEAN(surrogate_goes, "\xed\xa0\x80", "???");
CLEAN(beyond_unicode_goes, "\xf5\x80\x80\x80", "????");

TEST_F(clean, text)
{
	EXPECT_STREQ(variant->row.out, strpool__clean(self->pool, variant->row.in));
	EXPECT_EQ(strpool__clean(self->pool, variant->row.in),
		  strpool__clean(self->pool, variant->row.in));
}

/* ------------------------------------------------------------------ demangling */

FIXTURE(demangle) { char *name; };
FIXTURE_VARIANT(demangle) { struct clean_row row; };
FIXTURE_SETUP(demangle) { self->name = demangle__name(variant->row.in); }
FIXTURE_TEARDOWN(demangle) { free(self->name); }

#define DEMANGLE(name, ...)	FIXTURE_VARIANT_ADD(demangle, name) { .row = { __VA_ARGS__ } }

DEMANGLE(cxx_without_parameters, "_ZN3FooIiE3addERKSsi", "Foo<int>::add");
DEMANGLE(cxx_template_without_return_type, "_Z3fooIiET_S0_", "foo<int>");
DEMANGLE(cxx_operator_new, "_Znwm", "operator new");
DEMANGLE(cxx_clone_suffix_is_dropped, "_ZL4leafi.isra.0", "leaf");
DEMANGLE(cxx_constructor, "_ZN3FooC2Ev", "Foo::Foo");
DEMANGLE(plt_is_kept, "_Znwm@plt", "operator new@plt");
DEMANGLE(rust_legacy_without_hash,
	 "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str");
DEMANGLE(rust_v0, "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
DEMANGLE(rust_v0_generic, "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
DEMANGLE(c_is_none, "malloc", "(none)");
DEMANGLE(c_underscore_is_none, "_int_malloc", "(none)");
DEMANGLE(c_plt_is_none, "_exit@plt", "(none)");
DEMANGLE(cut_is_none, "_ZN3Foo", "(none)");

TEST_F(demangle, name)
{
	EXPECT_STREQ(variant->row.out, self->name ?: "(none)");
}

/* B<A, A>, then B<that, that> and so on: n steps stand for 2^n names */
TEST(demangle_gives_up_on_names_that_explode)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[1024] = "_Z1fI1A1BIS0_S0_E";
	char *name;

	for (int i = 2; i < 34; i++) {
		char step[32];

		snprintf(step, sizeof(step), "S1_IS%c_S%c_E", digits[i], digits[i]);
		strcat(mangled, step);
	}
	strcat(mangled, "EvT_");
	name = demangle__name(mangled);
	EXPECT_EQ(NULL, name) TH_LOG("%zu characters", strlen(name));
	free(name);
}

TEST(demangle_survives_random_names)
{
	static const char letters[] = "_ZNRISKEvT0123456789abC_stLFGDpP.@$u";
	char mangled[200];

	for (int round = 0; round < 20000; round++) {
		int chars = 2 + random() % 190;

		memcpy(mangled, round % 2 ? "_Z" : "_R", 2);
		for (int i = 2; i < chars; i++)
			mangled[i] = letters[random() % (sizeof(letters) - 1)];
		mangled[chars] = '\0';
		free(demangle__name(mangled));
	}
}

/* ------------------------------------------------------------------ symbol tables */

FIXTURE(symtab) { struct symtab tab; };
FIXTURE_SETUP(symtab) { memset(&self->tab, 0, sizeof(self->tab)); }
FIXTURE_TEARDOWN(symtab) { symtab__exit(&self->tab); }

static const char *name_at(const struct symtab *tab, __u64 addr)
{
	const struct symbol *sym = symtab__find(tab, addr);

	return sym ? symtab__name(tab, sym) : "(none)";
}

static int add(struct symtab *tab, __u64 start, __u64 size, __u8 bind, const char *name)
{
	return symtab__add(tab, start, size, bind, name, NULL);
}

TEST_F(symtab, empty_finds_nothing)
{
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("(none)", name_at(&self->tab, 0));
}

TEST_F(symtab, gaps_between_sized_symbols_are_nobody)
{
	ASSERT_EQ(0, add(&self->tab, 0x200, 0x10, STB_GLOBAL, "b"));
	ASSERT_EQ(0, add(&self->tab, 0x100, 0x10, STB_LOCAL, "a"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("(none)", name_at(&self->tab, 0xff));
	EXPECT_STREQ("a", name_at(&self->tab, 0x100));
	EXPECT_STREQ("a", name_at(&self->tab, 0x10f));
	EXPECT_STREQ("(none)", name_at(&self->tab, 0x110));
	EXPECT_STREQ("b", name_at(&self->tab, 0x200));
	EXPECT_STREQ("(none)", name_at(&self->tab, 0x210));
}

TEST_F(symtab, size_zero_reaches_to_the_next)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0, STB_GLOBAL, "asm"));
	ASSERT_EQ(0, add(&self->tab, 0x200, 0x10, STB_GLOBAL, "next"));
	ASSERT_EQ(0, add(&self->tab, 0x3100, 0, STB_GLOBAL, "last"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("asm", name_at(&self->tab, 0x1ff));
	EXPECT_STREQ("last", name_at(&self->tab, 0x4fff));
	EXPECT_STREQ("(none)", name_at(&self->tab, 0x5000));
}

TEST_F(symtab, label_inside_a_function_is_the_function)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0x100, STB_GLOBAL, "fn"));
	ASSERT_EQ(0, add(&self->tab, 0x180, 0, STB_LOCAL, "label"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("fn", name_at(&self->tab, 0x180));
	EXPECT_STREQ("fn", name_at(&self->tab, 0x190));
}

TEST_F(symtab, outer_function_goes_on_after_a_nested_one)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0x100, STB_GLOBAL, "outer"));
	ASSERT_EQ(0, add(&self->tab, 0x120, 0x10, STB_GLOBAL, "nested"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("nested", name_at(&self->tab, 0x128));
	EXPECT_STREQ("outer", name_at(&self->tab, 0x130));
}

TEST_F(symtab, wrapping_size_ends_at_the_top)
{
	ASSERT_EQ(0, add(&self->tab, 0xfffffffffffff000, 0x2000, STB_GLOBAL, "top"));
	ASSERT_EQ(0, add(&self->tab, 0x10, ~0ULL, STB_GLOBAL, "all"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("top", name_at(&self->tab, 0xfffffffffffffffe));
	EXPECT_STREQ("all", name_at(&self->tab, 0x1000));
}

TEST_F(symtab, latest_wins_where_asked_for)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0x40, STB_GLOBAL, "old"));
	ASSERT_EQ(0, add(&self->tab, 0x120, 0x40, STB_GLOBAL, "newer"));
	ASSERT_EQ(0, add(&self->tab, 0x180, 0x10, STB_GLOBAL, "aside"));
	ASSERT_EQ(0, add(&self->tab, 0x150, 0x10, STB_GLOBAL, "newest"));
	symtab__finish_latest(&self->tab);
	EXPECT_EQ(2, self->tab.nr);
	EXPECT_STREQ("(none)", name_at(&self->tab, 0x120));
	EXPECT_STREQ("newest", name_at(&self->tab, 0x150));
	EXPECT_STREQ("aside", name_at(&self->tab, 0x180));
}

TEST_F(symtab, long_names_are_cut)
{
	char *name = malloc(1 << 20);

	ASSERT_NE(NULL, name);
	memset(name, 'x', (1 << 20) - 1);
	name[(1 << 20) - 1] = '\0';
	ASSERT_EQ(0, add(&self->tab, 0x100, 1, STB_GLOBAL, name));
	symtab__finish(&self->tab, true);
	EXPECT_GT(100000, strlen(name_at(&self->tab, 0x100)));
	free(name);
}

TEST_F(symtab, alias_with_a_size_beats_an_earlier_one_without)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0, STB_GLOBAL, "label"));
	ASSERT_EQ(0, add(&self->tab, 0x100, 8, STB_WEAK, "__fn"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("__fn", name_at(&self->tab, 0x100));
}

TEST_F(symtab, last_of_aliases_without_sizes_wins)
{
	ASSERT_EQ(0, add(&self->tab, 0x100, 0, STB_GLOBAL, "memset"));
	ASSERT_EQ(0, add(&self->tab, 0x100, 0, STB_LOCAL, "__memset"));
	ASSERT_EQ(0, add(&self->tab, 0x100, 0, STB_WEAK, "__pi_memset"));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ("__pi_memset", name_at(&self->tab, 0x100));
}

/* Aliases: which one perf shows, whatever their order in the file. */
struct alias { const char *name; __u64 size; __u8 bind; };

FIXTURE(alias) { struct symtab tab; };
FIXTURE_VARIANT(alias) { struct alias good, bad; };
FIXTURE_SETUP(alias) { memset(&self->tab, 0, sizeof(self->tab)); }
FIXTURE_TEARDOWN(alias) { symtab__exit(&self->tab); }

#define ALIAS(name, ...)	FIXTURE_VARIANT_ADD(alias, name) { __VA_ARGS__ }

ALIAS(strong_over_weak, .good = { "__libc_calloc", 8, STB_LOCAL },
      .bad = { "calloc", 8, STB_WEAK });
ALIAS(global_over_local, .good = { "__libc_malloc", 8, STB_GLOBAL },
      .bad = { "mal", 8, STB_LOCAL });
ALIAS(fewer_underscores, .good = { "malloc", 8, STB_GLOBAL },
      .bad = { "__libc_malloc", 8, STB_GLOBAL });
ALIAS(longer, .good = { "cfree@GLIBC_2.2.5", 8, STB_GLOBAL }, .bad = { "free", 8, STB_GLOBAL });
ALIAS(cxx_as_shown, .good = { "_Znwm", 8, STB_GLOBAL }, .bad = { "tc_new", 8, STB_GLOBAL });

static int add_alias(struct symtab *tab, const struct alias *alias)
{
	return add(tab, 8, alias->size, alias->bind, alias->name);
}

TEST_F(alias, first_in_the_table)
{
	ASSERT_EQ(0, add_alias(&self->tab, &variant->good));
	ASSERT_EQ(0, add_alias(&self->tab, &variant->bad));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ(variant->good.name, name_at(&self->tab, 8));
}

TEST_F(alias, last_in_the_table)
{
	ASSERT_EQ(0, add_alias(&self->tab, &variant->bad));
	ASSERT_EQ(0, add_alias(&self->tab, &variant->good));
	symtab__finish(&self->tab, true);
	EXPECT_STREQ(variant->good.name, name_at(&self->tab, 8));
}

/* ------------------------------------------------------------------ kallsyms */

FIXTURE(kallsyms) {
	struct symtab tab;
	char path[64];
	__u64 ref;
};

FIXTURE_SETUP(kallsyms)
{
	int fd;

	memset(self, 0, sizeof(*self));
	strcpy(self->path, "/tmp/stack_test_kallsyms_XXXXXX");
	fd = mkstemp(self->path);
	ASSERT_NE(-1, fd);
	close(fd);
}

FIXTURE_TEARDOWN(kallsyms)
{
	unlink(self->path);
	symtab__exit(&self->tab);
}

#define PARSE(text)	write_and_parse(self->path, text, strlen(text), &self->ref, &self->tab)

static int write_and_parse(const char *path, const char *text, size_t bytes, __u64 *ref,
			   struct symtab *tab)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -errno;
	fwrite(text, 1, bytes, file);
	fclose(file);
	return kallsyms__parse(path, "_text", ref, tab);
}

TEST_F(kallsyms, sample_of_a_kernel)
{
	ASSERT_EQ(0, kallsyms__parse("tests/data/kallsyms", "_text", &self->ref, &self->tab));
	EXPECT_EQ(0xffffffff81000000, self->ref);
	EXPECT_STREQ("do_fault", name_at(&self->tab, 0xffffffff81005010));
	EXPECT_STREQ("kvm_arch_init", name_at(&self->tab, 0xffffffffc0001008));
	EXPECT_STREQ("[kvm]", symtab__module(&self->tab,
					     symtab__find(&self->tab, 0xffffffffc0001008)));
}

TEST_F(kallsyms, functions_do_not_cross_a_modules_end)
{
	ASSERT_EQ(0, PARSE("ffffffff81000000 T _text\nffffffff81000100 T last\n"
			   "ffffffffc0000000 t mod_fn\t[mod]\n"
			   "ffffffffc0100000 t other_fn\t[other]\n"));
	EXPECT_STREQ("last", name_at(&self->tab, 0xffffffff81000fff));
	EXPECT_STREQ("(none)", name_at(&self->tab, 0xffffffff81100000));
	EXPECT_STREQ("mod_fn", name_at(&self->tab, 0xffffffffc0000800));
	EXPECT_STREQ("(none)", name_at(&self->tab, 0xffffffffc0080000));
}

TEST_F(kallsyms, hidden_addresses_are_told_apart)
{
	EXPECT_EQ(-EPERM, PARSE("0000000000000000 T _text\n0000000000000000 T do_fault\n"));
	EXPECT_EQ(0, self->tab.nr);
}

TEST_F(kallsyms, missing_and_empty_files_are_errors)
{
	EXPECT_EQ(-ENOENT, PARSE(""));
	EXPECT_EQ(-ENOENT, kallsyms__parse("/no/kallsyms", "_text", &self->ref, &self->tab));
}

TEST_F(kallsyms, garbage_lines_are_skipped)
{
	static const char text[] = "\n \nffffffff81000000\nffffffff81000000 T\nxyz T a\n"
				   "ffffffffffffffffff T toobig\nffffffff81000000 T \n"
				   "ffffffff81000010 T good\nffffffff81000020 TT bad\n\0\0 T nul\n"
				   "ffffffff81000030 T unended";

	ASSERT_EQ(0, write_and_parse(self->path, text, sizeof(text) - 1, &self->ref, &self->tab));
	EXPECT_EQ(2, self->tab.nr);
	EXPECT_STREQ("good", name_at(&self->tab, 0xffffffff81000010));
	EXPECT_STREQ("unended", name_at(&self->tab, 0xffffffff81000030));
}

TEST_HARNESS_MAIN
