// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list_objects.h"

#include "probe/preload_fit.h"
#include "probe/probe.h"
#include "record_preload.h"
#include "stack/slow.h"
#include "target/command.h"
#include "target/images.h"
#include "target/process.h"
#include "target/workload.h"
#include "util/files.h"
#include "util/msg.h"

static int append(struct list_objects *list, struct probe_image *image)
{
	struct probe_image **grown;

	grown = reallocarray(list->images, list->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[list->nr++] = image;
	list->images = grown;
	return 0;
}

static int add_file(struct list_objects *list, const struct process_image *file)
{
	struct probe_image *image;
	int err = list->slow_path ? slow_image__new(file->open_path, file->path, &image) :
				    probe_image__new(file->open_path, file->path, &image);

	list->nr_refused += err == -ENODATA;
	if (err == -ENODATA || err == -ENOENT || err == -ENOEXEC)
		return 0;
	if (err && err != -ENOMEM) {
		pr_warning("%s: cannot be searched for an allocator: %s\n", file->path,
			   strerror(-err));
		return 0;
	}
	if (err)
		return err;
	/* Our own library's hook is no place that calls pass. */
	if (image->counter_offset) {
		probe_image__free(image);
		return 0;
	}
	err = append(list, image);
	if (err)
		probe_image__free(image);
	return err;
}

static int find_allocators(const struct process_image *files, size_t nr, bool slow_path,
			   struct list_objects *ret)
{
	struct list_objects list = { .slow_path = slow_path };
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		err = add_file(&list, &files[i]);
	if (!err && !list.nr) {
		if (!list.nr_refused)
			pr_err("No allocator that is known in what the target maps. Searched for %s.\n",
			       probe_families__describe());
		err = -ENOENT;
	}
	if (err)
		list_objects__exit(&list);
	else
		*ret = list;
	return err;
}

static void explain_process(int pid, pid_t tgid, int err)
{
	if (err == -EINVAL)
		pr_err("%d is a thread of process %d: use -p %d\n", pid, tgid, tgid);
	else if (err == -ESRCH)
		pr_err("Process %d: no such process\n", pid);
	else
		pr_err("Cannot look into process %d: %s (CAP_SYS_PTRACE is needed for another user's)\n",
		       pid, strerror(-err));
}

/* The list has the strings from now on. */
static int move_files(struct image_list *list, struct process_image *files, size_t nr)
{
	int err = 0, one;

	for (size_t i = 0; i < nr; i++) {
		one = image_list__add(list, &files[i]);
		err = err ?: one;
	}
	free(files);
	return err;
}

static int add_process(struct image_list *list, int pid)
{
	struct process_image *files;
	pid_t tgid = pid;
	size_t nr;
	int err;

	err = process__check(pid, &tgid) ?: process__images(pid, &files, &nr);
	if (err) {
		explain_process(pid, tgid, err);
		return err;
	}
	return move_files(list, files, nr);
}

int list_objects__of_pids(const int *pids, int nr_pids, bool slow_path, struct list_objects *ret)
{
	struct image_list files = {};
	int i, err = 0;

	for (i = 0; i < nr_pids && !err; i++)
		err = add_process(&files, pids[i]);
	err = err ?: find_allocators(files.images, files.nr_images, slow_path, ret);
	image_list__exit(&files);
	if (err)
		return err;
	for (i = 0; !slow_path && i < nr_pids && record_preload__loaded(pids[i]); i++)
		;
	ret->preloads = i == nr_pids;
	return 0;
}

int list_objects__of_command(char **argv, bool slow_path, struct list_objects *ret)
{
	struct process_image *files;
	enum preload_fit fit;
	size_t nr;
	int err = workload__images(argv, &files, &nr);

	if (err == -EMFILE)
		files__say_too_many();
	else if (err)
		command__explain(argv[0], err);
	if (err)
		return err;
	err = find_allocators(files, nr, slow_path, ret);
	process_images__free(files, nr);
	if (!err && !slow_path && !preload__judge(argv, &fit)) {
		ret->preloads = fit == PRELOAD_FITS;
		ret->why_not = preload_fit__text(fit);
	}
	return err;
}

void list_objects__exit(struct list_objects *list)
{
	for (size_t i = 0; i < list->nr; i++)
		probe_image__free(list->images[i]);
	free(list->images);
}
