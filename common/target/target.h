/* SPDX-License-Identifier: MIT */
/*
 * target - the drive under test, whatever it hangs on: a block device or a
 * file through libaio with O_DIRECT, or an NBD export through libnbd.
 *
 * It moves bytes and reports completions; it decides nothing, retries nothing
 * and caches nothing (P10). A target is opened once; each thread that does I/O
 * opens its own queue. Errors of an I/O are -errno in its completion.
 *
 * T is "nbd://...", "nbd+unix://..." (libnbd's URIs), or a path.
 */
#ifndef COMMON_TARGET_TARGET_H
#define COMMON_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct target;
struct target_queue;

#define TARGET_ALIGNMENT  4096 /* of every buffer */
#define TARGET_DEPTH_MAX  1024
#define TARGET_TEXT_BYTES 256

enum target_mode {
	TARGET_READ,  /* read only, O_EXCL on block devices */
	TARGET_WRITE, /* read and write, O_EXCL on block devices */
};

enum target_engine {
	TARGET_ENGINE_USUAL,  /* libaio, or libnbd for its URIs */
	TARGET_ENGINE_NATIVE, /* the drive's own commands (target_native.c) */
};

struct target_info {
	uint64_t size_bytes;
	uint32_t logical_block_bytes;
	bool is_block_device;
	bool is_nbd;
	bool has_flush; /* a FLUSH can be asked for */
	bool has_fua;   /* a FUA write can be asked for */
	/*
	 * False where a FLUSH never reaches the drive, because the system
	 * believes that it, or something below it, has no volatile cache
	 * (queue/write_cache says "write through", see stack.h), or the NBD
	 * server takes no FLUSH.
	 */
	bool is_write_back;
	uint32_t max_request_bytes; /* of one read or write (asserted) */
	/*
	 * By what the drive is known again (P10): serial number or WWN of a
	 * block device, "loop:" and backing file, "file:" device and inode, an
	 * NBD export's description, else "". Compared as text.
	 */
	char identity[TARGET_TEXT_BYTES];
	/* What --erase must repeat: the serial number, or T where there is
	 * none. */
	char erase_name[TARGET_TEXT_BYTES];
};

struct target *target_open(const char *name, enum target_mode mode,
			   struct err *err);
/* Likewise, with an engine of the caller's choice. */
struct target *target_open_engine(const char *name, enum target_mode mode,
				  enum target_engine engine, struct err *err);
/* Creates a regular file of SIZE_BYTES (only for paths that do not exist). */
int target_create_file(const char *path, uint64_t size_bytes, struct err *err);
void target_close(struct target *target);
const struct target_info *target_info(const struct target *target);
const char *target_name(const struct target *target);
/* "libaio", "libnbd", or what the native engine speaks: "NVMe pass-through,
 * Flush". */
const char *target_describe_engine(const struct target *target);

/*
 * Asks the system once more whether a FLUSH or FUA asked for now is sent to the
 * drive: queue/write_cache can be switched to "write through" at any moment,
 * and the kernel then drops both and reports success.
 */
bool target_is_write_back(const struct target *target);

/* A block device that takes no writes (BLKROGET); false where that is unknown.
 */
bool target_is_read_only(const struct target *target);

/*
 * Asks the system once more whether the drive is still there: true if it has
 * vanished (capacity 0, ENXIO, ENODEV, node gone, connection lost). A write
 * that fails with ENOSPC or a read that returns 0 bytes means this, not "disk
 * full" (kernels report a removed disk so).
 */
bool target_is_gone(const struct target *target);

/*
 * One FLUSH for which the caller's thread waits in the system, however long:
 * nothing can end that wait but the drive. It is quicker than one through a
 * queue, and covers what was reaped before the call. 0 or -errno; -EINTR where
 * a signal has broken it off. Only where the engine can.
 */
bool target_can_flush_waiting(const struct target *target);
int target_flush_waiting(struct target *target);

/* DEPTH requests at most are in flight at once. */
struct target_queue *target_queue_open(struct target *target,
				       unsigned int depth, struct err *err);
/*
 * Never waits for a drive. Requests still in flight are abandoned: with libaio
 * the queue is then leaked on purpose, and their buffers must not be freed or
 * used again (the kernel may still move data; ending the process waits until it
 * has given up on the drive). Close every queue before the target.
 */
void target_queue_close(struct target_queue *queue);

/*
 * Queue a request; nothing is sent before target_queue_submit(). TAG comes back
 * in the completion. The buffer is the caller's and must stay until then. The
 * caller keeps the number of requests in flight within DEPTH, the buffer on a
 * multiple of TARGET_ALIGNMENT, offset and length on multiples of the logical
 * block and inside the target (all asserted).
 */
void target_queue_write(struct target_queue *queue, uint64_t tag,
			const void *buffer, size_t length,
			uint64_t offset_bytes, bool is_fua);
void target_queue_read(struct target_queue *queue, uint64_t tag, void *buffer,
		       size_t length, uint64_t offset_bytes);
/* Covers the writes of this queue that were reaped before it was submitted, and
 * no others. */
void target_queue_flush(struct target_queue *queue, uint64_t tag);

/* Hands everything queued to the system. 0 or -errno; on an error nothing says
 * which requests went out, so the caller must end the run (P1). */
int target_queue_submit(struct target_queue *queue);

struct target_completion {
	uint64_t tag;
	int64_t result; /* bytes moved (0 for a flush), or -errno */
};

/*
 * Waits until at least one request has completed or the time is over
 * (TIMEOUT_MS, -1: no limit, 0: only look), stores at most ROOM completions and
 * returns how many; 0 on timeout; -errno where waiting itself failed (the
 * connection is lost: -ENOTCONN, and every request in flight is unknown).
 * A signal (EINTR) returns 0.
 */
int target_queue_reap(struct target_queue *queue,
		      struct target_completion *completions, unsigned int room,
		      int timeout_ms);

/* Page-aligned memory for buffers; NULL with err. Free with free(). */
void *target_buffer_new(size_t bytes, struct err *err);

/*
 * Leave BUFFER, or QUEUE with requests in flight, to a drive that never
 * answered: it may still write there, and closing would wait for it. Both are
 * kept to the end of the process. NULL does nothing. Any thread may call.
 */
void target_buffer_abandon(void *buffer);
void target_queue_abandon(struct target_queue *queue);

/*
 * Does the drive answer reads at all: of its first or of its last logical
 * block, within TIMEOUT_MS each? A device whose backing has died (loop, a
 * bridge without its drive) stays in the system, and answers every request
 * with an error.
 */
bool target_answers(struct target *target, int timeout_ms);

/* Reads LENGTH bytes, in one request where the target takes that much at once,
 * waiting at most TIMEOUT_MS: 0, or -errno (-ETIMEDOUT where the drive did not
 * answer, -ESTALE for a short read: the target has shrunk). BUFFER is the
 * caller's whatever comes. For labels and re-reads. */
int target_read_once(struct target *target, void *buffer, size_t length,
		     uint64_t offset_bytes, int timeout_ms);

#endif
