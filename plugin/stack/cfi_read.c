// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "cfi_read.h"

/* Linkers merge those of .eh_frame to a few; .debug_frame has one for each object file. */
#define MAX_CIES	(1U << 18)

/* A section being read. Its CIEs are @cies. */
struct reader {
	const struct cfi_elf *elf;
	const struct cfi_section *sec;
	struct cfi_base base;
	bool is_debug;
	const struct cfi_cie *cies;
	size_t nr_cies;
};

/* An entry: @body is what follows its id, which stands at @id_offset. */
struct entry {
	size_t offset, id_offset;
	__u64 id;
	bool is_wide;			/* 64-bit DWARF */
	struct cfi_bytes body;
};

static struct reader open_section(const struct cfi_frames *frames, bool is_debug)
{
	const struct cfi_elf *elf = frames->elf;
	const struct cfi_section *sec = is_debug ? &elf->debug_frame : &elf->eh_frame;
	size_t first = is_debug ? frames->first_debug_cie : 0;
	size_t end = is_debug ? frames->nr_cies : frames->first_debug_cie;

	return (struct reader) {
		.elf = elf, .sec = sec, .base = { .bytes = sec->data, .vaddr = sec->vaddr },
		.is_debug = is_debug, .cies = end > first ? frames->cies + first : NULL,
		.nr_cies = end - first,
	};
}

/* The next entry that is not a terminator. Return: false at the end. */
static bool next_entry(const struct reader *r, struct cfi_bytes *b, struct entry *e)
{
	__u64 bytes;

	do {
		e->offset = b->pos - r->sec->data;
		bytes = cfi_bytes__u32(b);
		e->is_wide = bytes == UINT32_MAX;
		if (e->is_wide)
			bytes = cfi_bytes__u64(b);
		else if (!bytes && r->sec->ends_itself)
			return false;
	} while (!bytes && !b->bad);
	e->id_offset = b->pos - r->sec->data;
	e->body = cfi_bytes__take(b, bytes);
	e->id = e->is_wide ? cfi_bytes__u64(&e->body) : cfi_bytes__u32(&e->body);
	return !b->bad;
}

static bool is_cie(const struct reader *r, const struct entry *e)
{
	if (!r->is_debug)
		return !e->id;
	return e->id == (e->is_wide ? UINT64_MAX : UINT32_MAX);
}

/* ------------------------------------------------------------------ CIEs */

/* The letters behind "z", each of which may have data. Unknown ones end it: the size is known. */
static void read_augmentation(const struct reader *r, struct cfi_cie *cie, const char *letters,
			      struct cfi_bytes *data)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'L':
			cfi_bytes__u8(data);
			break;
		case 'P':
			cfi_bytes__skip_pointer(data, cfi_bytes__u8(data), &r->base);
			break;
		case 'R':
			cie->encoding = cfi_bytes__u8(data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':			/* pointer authentication keys, for arm64 */
			break;
		default:
			return;
		}
	}
}

/* Up to the instructions; these are left in e->body. */
static int read_cie_head(const struct reader *r, struct entry *e, struct cfi_cie *cie)
{
	struct cfi_bytes *b = &e->body, data;
	__u8 version = cfi_bytes__u8(b);
	const char *letters = (const char *)b->pos;
	__u64 ra_reg;

	if ((version != 1 && version != 3 && version != 4) ||
	    !memchr(letters, 0, cfi_bytes__left(b)))
		return -EINVAL;
	cfi_bytes__take(b, strlen(letters) + 1);
	/* Sizes of an address and of a segment selector. */
	if (version == 4 && (cfi_bytes__u8(b) != 8 || cfi_bytes__u8(b) != 0))
		return -EINVAL;
	cie->code_align = cfi_bytes__uleb(b);
	cie->data_align = cfi_bytes__sleb(b);
	ra_reg = version == 1 ? cfi_bytes__u8(b) : cfi_bytes__uleb(b);
	cie->has_data = *letters == 'z';
	if (ra_reg != CFI_RA || (*letters && !cie->has_data))
		return -EINVAL;
	if (cie->has_data) {
		data = cfi_bytes__take(b, cfi_bytes__uleb(b));
		read_augmentation(r, cie, letters + 1, &data);
		if (data.bad)
			return -EINVAL;
	}
	return b->bad ? -EINVAL : 0;
}

static int append_cie(struct cfi_frames *frames, const struct cfi_cie *cie)
{
	size_t room = frames->room_cies ? 2 * frames->room_cies : 16;
	struct cfi_cie *grown;

	if (frames->nr_cies == MAX_CIES)
		return -E2BIG;
	if (frames->nr_cies == frames->room_cies) {
		grown = reallocarray(frames->cies, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		frames->cies = grown;
		frames->room_cies = room;
	}
	frames->cies[frames->nr_cies++] = *cie;
	return 0;
}

/* All of a section's, and the number of its FDEs, which may stand before their CIE. */
static int read_cies(struct cfi_frames *frames, const struct reader *r, size_t *nr_fdes)
{
	struct cfi_bytes b = { r->sec->data, r->sec->data + r->sec->bytes, false };
	struct entry e;
	int err = 0;

	*nr_fdes = 0;
	while (!err && next_entry(r, &b, &e)) {
		struct cfi_cie cie = { .offset = e.offset, .encoding = DW_EH_PE_absptr };

		if (!is_cie(r, &e))
			(*nr_fdes)++;
		else if (!read_cie_head(r, &e, &cie) && !cfi_cie__run(&cie, e.body))
			err = append_cie(frames, &cie);
	}
	return err;
}

/* They are in the order of the section. */
static const struct cfi_cie *find_cie(const struct reader *r, __u64 offset)
{
	size_t lo = 0, hi = r->nr_cies;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->cies[mid].offset == offset)
			return &r->cies[mid];
		if (r->cies[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* ------------------------------------------------------------------ FDEs */

/* Code that was thrown away has address 0, or one outside of all segments. */
static bool read_range(const struct reader *r, struct cfi_bytes *b, struct cfi_program *prog)
{
	const struct cfi_segment *seg;
	__u8 encoding = prog->cie->encoding;
	__u64 bytes;

	prog->start = cfi_bytes__pointer(b, encoding, &r->base);
	/* A plain number, as wide as the address. */
	bytes = cfi_bytes__pointer(b, encoding & 0x0f, &r->base);
	seg = cfi_elf__segment(r->elf, prog->start);
	if (b->bad || !prog->start || !bytes || !seg)
		return false;
	prog->end = bytes < seg->end - prog->start ? prog->start + bytes : seg->end;
	return true;
}

static bool read_fde(const struct reader *r, struct entry *e, struct cfi_program *prog)
{
	struct cfi_bytes *b = &e->body;

	prog->base = r->base;
	prog->cie = find_cie(r, r->is_debug ? e->id : e->id_offset - e->id);
	if (!prog->cie || !read_range(r, b, prog))
		return false;
	if (prog->cie->has_data)
		cfi_bytes__take(b, cfi_bytes__uleb(b));
	prog->code = *b;
	return !b->bad;
}

static int read_fdes(struct cfi_frames *frames, const struct reader *r, size_t nr)
{
	struct cfi_bytes b = { r->sec->data, r->sec->data + r->sec->bytes, false };
	struct cfi_fde *grown;
	struct cfi_program prog;
	struct entry e;

	if (!nr)
		return 0;
	grown = reallocarray(frames->fdes, frames->nr_fdes + nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	frames->fdes = grown;
	while (next_entry(r, &b, &e)) {
		if (is_cie(r, &e) || !read_fde(r, &e, &prog))
			continue;
		frames->fdes[frames->nr_fdes++] = (struct cfi_fde) {
			.start = prog.start, .offset = e.offset, .is_debug = r->is_debug,
		};
	}
	return 0;
}

static int read_section(struct cfi_frames *frames, bool is_debug)
{
	struct reader r = open_section(frames, is_debug);
	size_t nr_fdes;
	int err;

	if (!r.sec->data)
		return 0;
	err = read_cies(frames, &r, &nr_fdes);
	if (err)
		return err;
	if (!is_debug)
		frames->first_debug_cie = frames->nr_cies;
	r = open_section(frames, is_debug);
	return read_fdes(frames, &r, nr_fdes);
}

int cfi_frames__init(struct cfi_frames *frames, const struct cfi_elf *elf)
{
	*frames = (struct cfi_frames) { .elf = elf };
	return read_section(frames, false) ?: read_section(frames, true);
}

void cfi_frames__exit(struct cfi_frames *frames)
{
	free(frames->cies);
	free(frames->fdes);
	*frames = (struct cfi_frames) {};
}

struct cfi_program cfi_frames__program(const struct cfi_frames *frames, const struct cfi_fde *fde)
{
	const struct reader r = open_section(frames, fde->is_debug);
	struct cfi_bytes b = { r.sec->data + fde->offset, r.sec->data + r.sec->bytes, false };
	struct cfi_program prog = {};
	struct entry e;

	/* It worked the first time. */
	if (next_entry(&r, &b, &e))
		read_fde(&r, &e, &prog);
	return prog;
}
