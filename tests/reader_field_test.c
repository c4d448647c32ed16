// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoint formats out of TRACING_DATA, and fields out of samples.
 */
#include <errno.h>
#include <traceevent/event-parse.h>

#include "perfdata_image.h"
#include "perfdata/reader.h"
#include "util/msg.h"

#include <kselftest_harness.h>

FIXTURE(field) {
	struct image_file f;
	struct image raw;
	struct pdreader *r;
	const struct pdevent *event;
	struct pdsample s;
	int fd;
};

FIXTURE_SETUP(field)
{
	image_file__init(&self->f);
	image_file__add_event(&self->f, PERF_TYPE_TRACEPOINT, 700, 2);
	image__sample(&self->f.data, 1, 100, 1);
	image__tracing_raw(&self->raw, 4096);
	self->s.raw = self->raw.bytes;
	self->s.raw_bytes = self->raw.nr;
	self->fd = -1;
}

FIXTURE_TEARDOWN(field)
{
	pdreader__close(self->r);
	if (self->fd >= 0)
		close(self->fd);
	image__free(&self->raw);
	image_file__exit(&self->f);
}

/* Open a file with this TRACING_DATA. */
static void open_tracing(FIXTURE_DATA(field) *self)
{
	struct image im = image_file__make(&self->f);
	char path[64];

	self->fd = image__publish(im.bytes, im.nr, path);
	image__free(&im);
	if (pdreader__open(path, &self->r))
		abort();
	self->event = pdreader__event(self->r, 1);
}

static void open_format(FIXTURE_DATA(field) *self, const char *format)
{
	image__tracing(image_file__feature(&self->f, 1), format);
	open_tracing(self);
}

static int get(FIXTURE_DATA(field) *self, const char *name, __u64 *ret)
{
	const struct tep_format_field *field = pdevent__field(self->event, name);

	return field ? pdfield__u64(field, &self->s, ret) : -ENOENT;
}

TEST_F(field, events_are_named_after_their_format)
{
	open_format(self, image_format);
	EXPECT_STREQ("churn_test:sample", self->event->name);
	EXPECT_NE(NULL, self->event->format);
	EXPECT_EQ(NULL, pdreader__event(self->r, 0)->format);
	EXPECT_EQ(NULL, pdevent__field(pdreader__event(self->r, 0), "size"));
	EXPECT_EQ(NULL, pdevent__field(self->event, "nothing"));
}

TEST_F(field, numbers_of_every_width_are_read)
{
	__u64 value;

	open_format(self, image_format);
	ASSERT_EQ(0, get(self, "size", &value));
	EXPECT_EQ(4096, value);
	ASSERT_EQ(0, get(self, "delta", &value));
	EXPECT_EQ(-5, (__s64)value);
	ASSERT_EQ(0, get(self, "tiny", &value));
	EXPECT_EQ(200, value);
	ASSERT_EQ(0, get(self, "below", &value));
	EXPECT_EQ(-3, (__s64)value);
	ASSERT_EQ(0, get(self, "narrow", &value));
	EXPECT_EQ(-300, (__s64)value);
	ASSERT_EQ(0, get(self, "common_pid", &value));
	EXPECT_EQ(101, value);
}

TEST_F(field, a_short_payload_is_an_error)
{
	__u64 value = 1;

	open_format(self, image_format);
	self->s.raw_bytes = 15;
	EXPECT_EQ(-EINVAL, get(self, "size", &value));
	self->s.raw_bytes = 0;
	EXPECT_EQ(-EINVAL, get(self, "common_pid", &value));
	self->s.raw = NULL;
	EXPECT_EQ(-EINVAL, get(self, "common_pid", &value));
	EXPECT_EQ(1, value);
}

TEST_F(field, an_array_is_no_number)
{
	__u64 value;

	open_format(self, image_format);
	self->s.raw_bytes = 36;
	EXPECT_EQ(0, get(self, "path", &value));
	image__free(&self->raw);
	pdreader__close(self->r);
	self->r = NULL;
	close(self->fd);
	image__free(&self->f.features[1]);
	open_format(self, "name: sample\nID: 700\nformat:\n"
		    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		    "\tfield:char three[3];\toffset:2;\tsize:3;\tsigned:0;\n");
	self->s.raw = "12345678";
	self->s.raw_bytes = 8;
	EXPECT_EQ(-EINVAL, get(self, "three", &value));
}

TEST_F(field, strings_are_cut_and_terminated)
{
	const struct tep_format_field *comm, *path;
	char text[16];

	open_format(self, image_format);
	comm = pdevent__field(self->event, "comm");
	path = pdevent__field(self->event, "path");
	ASSERT_NE(NULL, comm);
	ASSERT_NE(NULL, path);
	ASSERT_EQ(0, pdfield__str(comm, &self->s, text, sizeof(text)));
	EXPECT_STREQ("abcdefgh", text);
	ASSERT_EQ(0, pdfield__str(comm, &self->s, text, 4));
	EXPECT_STREQ("abc", text);
	ASSERT_EQ(0, pdfield__str(path, &self->s, text, sizeof(text)));
	EXPECT_STREQ("/bin", text);
	EXPECT_EQ(-EINVAL, pdfield__str(path, &self->s, text, 0));
	self->s.raw_bytes -= 1;				/* the string now ends behind it */
	EXPECT_EQ(-EINVAL, pdfield__str(path, &self->s, text, sizeof(text)));
}

/* The line is left out, not the event. */
TEST_F(field, a_field_that_lies_about_its_place_is_left_out)
{
	static const char *const bad_lines[] = {
		"\tfield:u64 bad;\toffset:65536;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 bad;\toffset:-8;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 bad;\toffset:99999999999;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 bad;\tsize:8;\toffset:8;\tsigned:0;\n",
		"\tfield:u64 bad;\toffset:8;\tsize:8;\tsigned:2;\n",
		"\tfield:u64 bad;\toffset:8;\tsize:8;\n",
		"\tfield:u64 bad\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 [;\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 bad[;\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:u64 bad\"%s\";\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:[[[[ bad;\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:bad;\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:;\toffset:8;\tsize:8;\tsigned:0;\n",
		"\tfield:__data_loc char bad;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tfield:\n",
	};
	size_t i;

	for (i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "name: sample\nID: 700\nformat:\n"
			 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
			 "%s\tfield:u64 good;\toffset:16;\tsize:8;\tsigned:0;\n", bad_lines[i]);
		image__free(&self->f.features[1]);
		open_format(self, text);
		EXPECT_NE(NULL, pdevent__field(self->event, "good")) {
			TH_LOG("%s", bad_lines[i]);
		}
		EXPECT_EQ(NULL, pdevent__field(self->event, "bad"));
		pdreader__close(self->r);
		self->r = NULL;
		close(self->fd);
	}
	self->fd = -1;
}

TEST_F(field, fields_as_kernels_declare_them_are_known)
{
	static const char *const lines[][2] = {
		{ "const char * name", "name" },
		{ "struct task_struct * next", "next" },
		{ "unsigned long args[6]", "args" },
		{ "char comm[16]", "comm" },
		{ "char prev[TASK_COMM_LEN]", "prev" },
		{ "__data_loc char[] filename", "filename" },
		{ "__rel_loc char[] msg", "msg" },
		{ "__data_loc unsigned long[] list", "list" },
		{ "enum hrtimer_mode mode", "mode" },
		{ "unsigned long __probe_ip", "__probe_ip" },
		{ "u64 size", "size" },
		{ "bool flag", "flag" },
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "name: sample\nID: 700\nformat:\n"
			 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
			 "\tfield:%s;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"%%d\", x\n",
			 lines[i][0]);
		image__free(&self->f.features[1]);
		open_format(self, text);
		EXPECT_NE(NULL, pdevent__field(self->event, lines[i][1])) {
			TH_LOG("%s", lines[i][0]);
		}
		pdreader__close(self->r);
		self->r = NULL;
		close(self->fd);
	}
	self->fd = -1;
}

TEST_F(field, a_damaged_format_leaves_the_event_without_fields)
{
	msg__set_verbose(-1);
	open_format(self, "name: two words\nID: 700\nformat:\n");
	EXPECT_EQ(NULL, self->event->format);
	EXPECT_STREQ("tracepoint:700", self->event->name);
	EXPECT_EQ(NULL, pdevent__field(self->event, "common_pid"));
}

/* Every byte of the section's head once as 0xff, and every cut. */
TEST_F(field, damaged_tracing_data_are_survived)
{
	struct image *tracing = image_file__feature(&self->f, 1);
	size_t i, nr;

	msg__set_verbose(-1);
	image__tracing(tracing, image_format);
	nr = tracing->nr;
	for (i = 0; i < nr; i++) {
		char right = tracing->bytes[i];

		tracing->bytes[i] = 0xff;
		open_tracing(self);
		tracing->bytes[i] = right;
		pdreader__close(self->r);
		close(self->fd);

		tracing->nr = i;
		open_tracing(self);
		tracing->nr = nr;
		pdreader__close(self->r);
		self->r = NULL;
		close(self->fd);
	}
	self->fd = -1;
}

TEST_HARNESS_MAIN
