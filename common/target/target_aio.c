/* SPDX-License-Identifier: MIT */
/*
 * target_aio - block devices and files through libaio, always O_DIRECT (P10).
 *
 * FLUSH is IOCB_CMD_FDSYNC, or fdatasync(2): on a block device both are a FLUSH
 * to the drive and nothing else. A FUA write carries RWF_DSYNC. It must never
 * go through a synchronous pwrite: the kernel follows that with a FLUSH, which
 * hides a drive that ignores FUA. docs/TARGETS.md has both tables.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/fileid.h"
#include "common/target/identity.h"
#include "common/target/stack.h"
#include "common/target/target_ops.h"
#include "common/target/usage.h"

#define SUBMIT_TRIES_MAX  2000 /* with a millisecond between them */
#define REQUEST_BYTES_MAX 0x40000000U
#define SECTOR_BYTES      512U

static_assert(sizeof(void *) == sizeof(uint64_t), "a tag travels in iocb.data");

struct aio_target {
	struct target base;
	char node[64]; /* in sysfs, of the drive below; "" unknown */
	struct stack *stack;
};

struct aio_queue {
	struct target_queue base;
	io_context_t context;
	struct iocb *iocbs;
	struct iocb **pointers;
	struct io_event *events;
};

/* BLKROGET, without a descriptor that may write. */
static bool is_read_only(const struct stat *status)
{
	char node[64], text[8];

	if (!S_ISBLK(status->st_mode))
		return false;
	(void)snprintf(node, sizeof(node), "/sys/dev/block/%u:%u",
		       major(status->st_rdev), minor(status->st_rdev));
	return identity_read_text(node, "ro", text, sizeof(text)) &&
	       strcmp(text, "0") != 0;
}

static int open_failed(const char *name, enum target_mode mode, int errnum,
		       struct err *err)
{
	const char *what = mode == TARGET_WRITE ? "writing" : "reading";
	struct stat status;
	char user[256];

	(void)err_sys(err, errnum, "cannot open %s for %s", name, what);
	if (errnum == EINVAL)
		return err_set(
			err,
			"cannot open %s for %s: its file system refuses "
			"direct I/O\nhint: take a block device, or a file "
			"on ext4 or xfs",
			name, what);
	if (mode == TARGET_WRITE && (errnum == EACCES || errnum == EROFS) &&
	    stat(name, &status) == 0 && is_read_only(&status))
		return err_set(err,
			       "cannot open %s for writing: it is read-only"
			       "\nhint: a drive that came back so has given up "
			       "writing, or somebody set it so (blockdev "
			       "--getro); plugpull-verifier reads it all the "
			       "same",
			       name);
	if (errnum == EBUSY && stat(name, &status) == 0 &&
	    usage_find(&status, user, sizeof(user)))
		return err_set(err, "cannot open %s for %s: %s\nhint: %s", name,
			       what, strerror(errnum), user);
	return -1;
}

/* O_EXCL keeps file systems, md and LVM off a block device while it is open. */
static int open_fd(const char *name, enum target_mode mode, struct stat *status,
		   struct err *err)
{
	int flags = O_DIRECT | O_CLOEXEC | O_NOCTTY |
		    (mode == TARGET_WRITE ? O_RDWR : O_RDONLY);
	int fd;

	if (stat(name, status) == -1)
		return open_failed(name, mode, errno, err);
	if (!S_ISBLK(status->st_mode) && !S_ISREG(status->st_mode))
		return err_set(err,
			       "cannot open %s: it is neither a block "
			       "device nor a regular file",
			       name);
	if (S_ISBLK(status->st_mode))
		flags |= O_EXCL;
	fd = open(name, flags);
	if (fd == -1)
		return open_failed(name, mode, errno, err);
	if (fstat(fd, status) == -1) {
		(void)open_failed(name, mode, errno, err);
		goto fail;
	}
	if (S_ISREG(status->st_mode) &&
	    flock(fd, LOCK_NB | (mode == TARGET_WRITE ? LOCK_EX : LOCK_SH)) ==
		    -1 &&
	    errno == EWOULDBLOCK) {
		(void)err_set(err,
			      "cannot open %s: another program holds a "
			      "lock on it",
			      name);
		goto fail;
	}
	return fd;
fail:
	(void)close(fd); /* nothing was written */
	return -1;
}

/* Loop devices serve reads from their backing file's page cache, even direct
 * ones, unless they were told not to (P10). */
static int refuse_cached_loop(const char *name, const char *loop,
			      struct err *err)
{
	return err_set(err,
		       "cannot use %s: %s reads its file through the page "
		       "cache, so a lost write would look kept\nhint: "
		       "losetup --direct-io=on /dev/%s",
		       name, loop, loop);
}

static int inspect_block(struct aio_target *target, const char *name,
			 const struct stat *status, struct err *err)
{
	struct target_info *info = &target->base.info;
	struct identity identity;
	int sector_bytes = 0;

	if (ioctl(target->base.fd, BLKGETSIZE64, &info->size_bytes) == -1 ||
	    ioctl(target->base.fd, BLKSSZGET, &sector_bytes) == -1)
		return err_sys(err, errno, "cannot tell the size of %s", name);
	info->is_block_device = true;
	info->logical_block_bytes = (uint32_t)sector_bytes;
	info->is_write_back = true;
	(void)snprintf(info->erase_name, sizeof(info->erase_name), "%s", name);
	if (identity_read("/sys", major(status->st_rdev),
			  minor(status->st_rdev), &identity) == -1)
		return 0; /* no sysfs: nothing is known, and "" says so */
	info->is_write_back = stack_is_write_back(target->stack);
	memcpy(info->identity, identity.text, sizeof(info->identity));
	if (identity.serial[0] != '\0')
		memcpy(info->erase_name, identity.serial,
		       sizeof(info->erase_name));
	return 0;
}

/* What direct I/O wants offsets to be multiples of; 0: it is not to be had. */
static uint32_t direct_alignment(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx more;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &more) == 0 &&
	    (more.stx_mask & STATX_DIOALIGN) != 0) {
		if (more.stx_dio_offset_align == 0)
			return 0;
		return more.stx_dio_offset_align > SECTOR_BYTES
			       ? more.stx_dio_offset_align
			       : SECTOR_BYTES;
	}
#else
	(void)fd;
#endif
	return SECTOR_BYTES;
}

static int inspect_file(struct aio_target *target, const char *name,
			const struct stat *status, struct err *err)
{
	struct target_info *info = &target->base.info;

	info->size_bytes = (uint64_t)status->st_size;
	info->logical_block_bytes = direct_alignment(target->base.fd);
	info->is_write_back = stack_is_write_back(target->stack);
	if (info->logical_block_bytes == 0)
		return open_failed(name, target->base.mode, EINVAL, err);
	/* Not the device's number, which is another after a power cycle. */
	if (fileid_tell(target->base.fd, info->identity,
			sizeof(info->identity)) == -1)
		return open_failed(name, target->base.mode, errno, err);
	(void)snprintf(info->erase_name, sizeof(info->erase_name), "%s", name);
	return 0;
}

static int inspect_stack(struct aio_target *target, const char *name,
			 const struct stat *status, struct err *err)
{
	const char *loop;

	if (S_ISBLK(status->st_mode))
		target->stack = stack_of_device("/sys", status->st_rdev);
	else
		target->stack = stack_of_file("/sys", target->base.fd);
	if (target->stack == NULL)
		return err_sys(err, ENOMEM, "cannot open %s", name);
	loop = stack_cached_loop(target->stack);
	return loop[0] == '\0' ? 0 : refuse_cached_loop(name, loop, err);
}

static void find_node(struct aio_target *target, const struct stat *status)
{
	dev_t device = target->base.info.is_block_device ? status->st_rdev
							 : status->st_dev;

	(void)snprintf(target->node, sizeof(target->node),
		       "/sys/dev/block/%u:%u", major(device), minor(device));
	if (access(target->node, F_OK) == -1)
		target->node[0] = '\0'; /* its absence will prove nothing */
}

static struct target *aio_open(const char *name, enum target_mode mode,
			       struct err *err)
{
	struct aio_target *target = calloc(1, sizeof(*target));
	struct stat status;
	int result;

	if (target == NULL) {
		(void)err_sys(err, errno, "cannot open %s", name);
		return NULL;
	}
	target->base.fd = open_fd(name, mode, &status, err);
	if (target->base.fd == -1)
		goto fail_memory;
	target->base.mode = mode;
	target->base.info.has_flush = true;
	target->base.info.has_fua = true;
	target->base.info.max_request_bytes = REQUEST_BYTES_MAX;
	result = inspect_stack(target, name, &status, err);
	if (result == 0 && S_ISBLK(status.st_mode))
		result = inspect_block(target, name, &status, err);
	else if (result == 0)
		result = inspect_file(target, name, &status, err);
	if (result == -1)
		goto fail;
	if (target->base.info.size_bytes == 0) {
		(void)err_set(err,
			      "cannot use %s: its size is 0 bytes\nhint: it "
			      "has no medium, or has not come up; give it "
			      "power again",
			      name);
		goto fail;
	}
	find_node(target, &status);
	return &target->base;
fail:
	stack_close(target->stack);
	(void)close(target->base.fd); /* nothing was written */
fail_memory:
	free(target);
	return NULL;
}

static void aio_close(struct target *target)
{
	struct aio_target *aio = (struct aio_target *)target;

	stack_close(aio->stack);
	(void)close(target->fd); /* every write told its own result */
	free(target);
}

static bool aio_is_write_back(const struct target *target)
{
	const struct aio_target *aio = (const struct aio_target *)target;

	return stack_is_write_back(aio->stack);
}

static struct stack *aio_stack(const struct target *target)
{
	return ((const struct aio_target *)target)->stack;
}

static bool aio_is_gone(const struct target *target)
{
	const struct aio_target *aio = (const struct aio_target *)target;
	uint64_t size_bytes = 0;
	struct stat status;

	if (aio->node[0] != '\0' && access(aio->node, F_OK) == -1)
		return true;
	if (!target->info.is_block_device)
		return fstat(target->fd, &status) == -1;
	if (ioctl(target->fd, BLKGETSIZE64, &size_bytes) == -1)
		return errno == ENXIO || errno == ENODEV || errno == ENOMEDIUM;
	return size_bytes == 0;
}

/* As FDSYNC, but for the worker of the kernel that carries that out. Not the
 * library's fdatasync(), which libeatmydata makes do nothing. */
static int aio_flush_waiting(const struct target *target)
{
	return syscall(SYS_fdatasync, target->fd) == 0 ? 0 : -errno;
}

static void queue_free(struct aio_queue *queue)
{
	free(queue->iocbs);
	free(queue->pointers);
	free(queue->events);
	free(queue);
}

static struct target_queue *aio_queue_open(struct target *target,
					   unsigned int depth, struct err *err)
{
	struct aio_queue *queue = calloc(1, sizeof(*queue));
	int result = -ENOMEM;

	if (queue == NULL)
		goto fail;
	queue->iocbs = calloc(depth, sizeof(*queue->iocbs));
	queue->pointers = calloc(depth, sizeof(*queue->pointers));
	queue->events = calloc(depth, sizeof(*queue->events));
	if (queue->iocbs == NULL || queue->pointers == NULL ||
	    queue->events == NULL)
		goto fail;
	result = io_setup((int)depth, &queue->context);
	if (result == 0)
		return &queue->base;
fail:
	(void)err_sys(err, -result, "cannot open a queue of %u requests on %s",
		      depth, target->name);
	if (result == -EAGAIN)
		(void)err_set(err,
			      "cannot open a queue of %u requests on %s: too "
			      "many are in use on this machine\nhint: sysctl "
			      "fs.aio-max-nr=1048576",
			      depth, target->name);
	if (queue != NULL)
		queue_free(queue);
	return NULL;
}

/* io_destroy() would wait for what is in flight, on a dead drive for minutes:
 * such a queue is left to the end of the process. */
static void aio_queue_close(struct target_queue *base)
{
	struct aio_queue *queue = (struct aio_queue *)base;

	if (base->in_flight > 0) {
		target_queue_abandon(base);
		return;
	}
	(void)io_destroy(queue->context); /* it holds nothing any more */
	queue_free(queue);
}

static void prepare(struct iocb *iocb, int fd,
		    const struct target_request *request)
{
	switch (request->kind) {
	case TARGET_REQUEST_READ:
		io_prep_pread(iocb, fd, request->buffer.to, request->length,
			      (long long)request->offset_bytes);
		break;
	case TARGET_REQUEST_WRITE:
		/* Same address, without the const that libaio lacks. */
		io_prep_pwrite(iocb, fd, request->buffer.to, request->length,
			       (long long)request->offset_bytes);
		iocb->aio_rw_flags = request->is_fua ? RWF_DSYNC : 0;
		break;
	case TARGET_REQUEST_FLUSH:
		io_prep_fdsync(iocb, fd);
		break;
	}
	iocb->data = (void *)(uintptr_t)request->tag;
}

static int aio_submit(struct target_queue *base, unsigned int *taken)
{
	struct aio_queue *queue = (struct aio_queue *)base;
	unsigned int tries = 0;

	for (unsigned int i = 0; i < base->queued; i++) {
		prepare(&queue->iocbs[i], base->target->fd, &base->requests[i]);
		queue->pointers[i] = &queue->iocbs[i];
	}
	while (*taken < base->queued) {
		int result =
			io_submit(queue->context, (long)(base->queued - *taken),
				  queue->pointers + *taken);

		if (result > 0) {
			*taken += (unsigned int)result;
			continue;
		}
		if (result != -EAGAIN && result != -EINTR)
			return result < 0 ? result : -EIO;
		if (++tries == SUBMIT_TRIES_MAX)
			return -EAGAIN;
		clock_sleep_ms(1);
	}
	return 0;
}

static int aio_reap(struct target_queue *base,
		    struct target_completion *completions, unsigned int room,
		    int timeout_ms)
{
	struct aio_queue *queue = (struct aio_queue *)base;
	struct timespec timeout = {.tv_sec = timeout_ms / 1000,
				   .tv_nsec = timeout_ms % 1000 * 1000000L};
	long want = room < base->depth ? room : base->depth;
	int count;

	count = io_getevents(queue->context, 1, want, queue->events,
			     timeout_ms < 0 ? NULL : &timeout);
	if (count == -EINTR)
		return 0;
	for (int i = 0; i < count; i++) {
		completions[i].tag = (uintptr_t)queue->events[i].data;
		completions[i].result = (int64_t)queue->events[i].res;
	}
	return count;
}

const struct target_ops target_aio_ops = {
	.keeps_once_queue = true,
	.open = aio_open,
	.close = aio_close,
	.is_gone = aio_is_gone,
	.is_write_back = aio_is_write_back,
	.stack = aio_stack,
	.flush_waiting = aio_flush_waiting,
	.queue_open = aio_queue_open,
	.queue_close = aio_queue_close,
	.submit = aio_submit,
	.reap = aio_reap,
};
