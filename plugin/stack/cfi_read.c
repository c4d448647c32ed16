// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "cfi_read.h"

/* Linkers merge those of .eh_frame to a few; .debug_frame has one for each object file. */
#define MAX_CIES	(1U << 18)

/* A section being read. @first_cie: Index of its first one. */
struct reader {
	struct cfi_frames *frames;
	const struct cfi_elf *elf;
	const struct cfi_section *sec;
	struct cfi_base base;
	bool is_debug;
	size_t first_cie;
};

/* An entry: @body is what follows its id, which stands at @id_offset. */
struct entry {
	size_t offset, id_offset;
	__u64 id;
	bool is_wide;			/* 64-bit DWARF */
	struct cfi_bytes body;
};

static const struct cfi_section *section_of(const struct cfi_elf *elf, bool is_debug)
{
	return is_debug ? &elf->debug_frame : &elf->eh_frame;
}

static struct cfi_base base_of(const struct cfi_section *sec)
{
	return (struct cfi_base) { .bytes = sec->data, .vaddr = sec->vaddr };
}

/* Return: the array, with room for one more; NULL when there is no memory. */
static void *grow(void *array, size_t nr, size_t *room, size_t element_bytes)
{
	size_t want = *room ? 2 * *room : 64;
	void *grown;

	if (nr < *room)
		return array;
	grown = reallocarray(array, want, element_bytes);
	if (grown)
		*room = want;
	return grown;
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

static int add_cie(const struct reader *r, struct entry *e)
{
	struct cfi_frames *frames = r->frames;
	struct cfi_cie cie = { .offset = e->offset, .encoding = DW_EH_PE_absptr }, *grown;

	if (read_cie_head(r, e, &cie) || cfi_cie__run(&cie, e->body))
		return 0;			/* its FDEs will not find it */
	if (frames->nr_cies == MAX_CIES)
		return -E2BIG;
	grown = grow(frames->cies, frames->nr_cies, &frames->room_cies, sizeof(cie));
	if (!grown)
		return -ENOMEM;
	frames->cies = grown;
	frames->cies[frames->nr_cies++] = cie;
	return 0;
}

/* They were added in the order of the section. */
static const struct cfi_cie *find_cie(const struct reader *r, __u64 offset)
{
	size_t lo = r->first_cie, hi = r->frames->nr_cies;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->frames->cies[mid].offset == offset)
			return &r->frames->cies[mid];
		if (r->frames->cies[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* ------------------------------------------------------------------ FDEs */

static const struct cfi_cie *cie_of(const struct reader *r, const struct entry *e)
{
	return find_cie(r, r->is_debug ? e->id : e->id_offset - e->id);
}

/* Code that was thrown away has address 0, or one outside of all segments. */
static bool read_range(const struct reader *r, const struct cfi_cie *cie, struct cfi_bytes *b,
		       struct cfi_fde *fde)
{
	const struct cfi_segment *seg;
	__u64 bytes;

	fde->start = cfi_bytes__pointer(b, cie->encoding, &r->base);
	/* A plain number, as wide as the address. */
	bytes = cfi_bytes__pointer(b, cie->encoding & 0x0f, &r->base);
	seg = cfi_elf__segment(r->elf, fde->start);
	if (b->bad || !fde->start || !bytes || !seg)
		return false;
	fde->end = bytes < seg->end - fde->start ? fde->start + bytes : seg->end;
	return true;
}

static int add_fde(const struct reader *r, struct entry *e)
{
	struct cfi_frames *frames = r->frames;
	const struct cfi_cie *cie = cie_of(r, e);
	struct cfi_bytes *b = &e->body;
	struct cfi_fde fde = { .is_debug = r->is_debug }, *grown;

	if (!cie || !read_range(r, cie, b, &fde))
		return 0;
	if (cie->has_data)
		cfi_bytes__take(b, cfi_bytes__uleb(b));
	if (b->bad)
		return 0;
	fde.cie = cie - frames->cies;
	fde.code = b->pos - r->sec->data;
	fde.code_bytes = cfi_bytes__left(b);
	grown = grow(frames->fdes, frames->nr_fdes, &frames->room_fdes, sizeof(fde));
	if (!grown)
		return -ENOMEM;
	frames->fdes = grown;
	frames->fdes[frames->nr_fdes++] = fde;
	return 0;
}

/* CIEs first: in .debug_frame they may stand behind their FDEs. */
static int read_entries(struct reader *r, bool want_cies)
{
	struct cfi_bytes b = { r->sec->data, r->sec->data + r->sec->bytes, false };
	struct entry e;
	int err = 0;

	while (!err && next_entry(r, &b, &e))
		if (!e.body.bad && is_cie(r, &e) == want_cies)
			err = want_cies ? add_cie(r, &e) : add_fde(r, &e);
	return err;
}

int cfi_frames__read(struct cfi_frames *frames, const struct cfi_elf *elf, bool is_debug)
{
	const struct cfi_section *sec = section_of(elf, is_debug);
	struct reader r = {
		.frames = frames, .elf = elf, .sec = sec, .base = base_of(sec),
		.is_debug = is_debug, .first_cie = frames->nr_cies,
	};

	if (!sec->data)
		return 0;
	return read_entries(&r, true) ?: read_entries(&r, false);
}

void cfi_frames__exit(struct cfi_frames *frames)
{
	free(frames->cies);
	free(frames->fdes);
	*frames = (struct cfi_frames) {};
}

int cfi_frames__run(const struct cfi_frames *frames, const struct cfi_elf *elf,
		    const struct cfi_fde *fde,
		    int (*emit)(void *ctx, __u64 vaddr, const struct walk_rule *rule), void *ctx)
{
	const struct cfi_section *sec = section_of(elf, fde->is_debug);
	struct cfi_base base = base_of(sec);
	const __u8 *code = sec->data + fde->code;
	struct cfi_program prog = {
		.cie = &frames->cies[fde->cie], .base = &base,
		.code = { code, code + fde->code_bytes, false },
		.start = fde->start, .end = fde->end, .emit = emit, .ctx = ctx,
	};

	return cfi_program__run(&prog);
}
