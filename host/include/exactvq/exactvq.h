/* exactvq: full-reference video quality scores with the same bits on every backend.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This header is the manual. It is C99 and has a stable C ABI: structures with a `struct_size` grow only at the end, and a zeroed
 * member of theirs always means "the default"; the others (exactvq_format, exactvq_plane, exactvq_metric, exactvq_option, exactvq_score) never change.
 *
 *     exactvq_open -> { exactvq_submit, exactvq_receive }* -> exactvq_flush -> exactvq_receive* -> exactvq_close
 *
 * Argument order is reference, then main (the distorted video), everywhere.
 *
 * Threads: one session is used by one thread at a time; different sessions are independent of each other. Callbacks
 * (log, release) run on the thread that is inside a call into the session, never on a worker. Workers have all signals blocked and the default
 * floating-point environment; that of the caller does not reach the scores. A session does not survive fork(): the child must not use it.
 *
 * Errors: every call that can fail returns an exactvq_status (0 or negative). exactvq_error() gives the sentence that says what is
 * wrong, with which input, and what to do. After EXACTVQ_ERROR_* from submit or receive the session only takes exactvq_close().
 */
#ifndef EXACTVQ_EXACTVQ_H
#define EXACTVQ_EXACTVQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define EXACTVQ_API
#elif defined(EXACTVQ_BUILD)
#define EXACTVQ_API __attribute__((visibility("default")))
#else
#define EXACTVQ_API
#endif

#define EXACTVQ_VERSION_MAJOR 0
#define EXACTVQ_VERSION_MINOR 1
#define EXACTVQ_VERSION_PATCH 0

/* "0.1.0": version of the library that is loaded, which may be newer than this header. */
EXACTVQ_API const char *exactvq_version(void);

typedef enum exactvq_status {
    EXACTVQ_OK                = 0,
    EXACTVQ_AGAIN             = -1, /* submit: queue full, receive first. receive: nothing to deliver now, submit or flush first */
    EXACTVQ_END               = -2, /* receive: flushed, and every frame has been delivered */
    EXACTVQ_ERROR_ARGUMENT    = -3, /* a value is out of range, unknown or contradictory */
    EXACTVQ_ERROR_UNSUPPORTED = -4, /* meaningful, but this build, backend or metric cannot do it */
    EXACTVQ_ERROR_NO_MEMORY   = -5, /* host or device memory or threads exhausted */
    EXACTVQ_ERROR_IO          = -6, /* a file cannot be read or written */
    EXACTVQ_ERROR_DEVICE      = -7, /* driver, device or kernel failure */
    EXACTVQ_ERROR_STATE       = -8  /* call out of order */
} exactvq_status;

typedef enum exactvq_backend {
    EXACTVQ_BACKEND_AUTO = 0, /* the backend of the frames' memory: host memory is measured by the CPU */
    EXACTVQ_BACKEND_CPU  = 1,
    EXACTVQ_BACKEND_CUDA = 2,
    EXACTVQ_BACKEND_HIP  = 3
} exactvq_backend;

typedef enum exactvq_memory {
    EXACTVQ_MEMORY_HOST = 0, /* plane pointers are host addresses */
    EXACTVQ_MEMORY_CUDA = 1, /* plane pointers are device addresses valid in the session's CUDA context; rows and samples lie at multiples of their word's size */
    /* Plane pointers are offsets into Linux dma-bufs, exactvq_frame.dmabuf; rows and samples lie at multiples of their word's size. Of the HIP backend. A session
     * opened for this memory takes frames in host memory too, one or both of a pair: what exactvq_import() refuses is handed over there. */
    EXACTVQ_MEMORY_DMABUF = 2
} exactvq_memory;

typedef enum exactvq_log_level {
    EXACTVQ_LOG_ERROR   = 0,
    EXACTVQ_LOG_WARNING = 1,
    EXACTVQ_LOG_INFO    = 2,
    EXACTVQ_LOG_DEBUG   = 3
} exactvq_log_level;

/* `message` is one line without a line feed, valid during the call. */
typedef void (*exactvq_log_callback)(void *opaque, exactvq_log_level level, const char *message);

/* ---- frames ---------------------------------------------------------------------------------------------------- */

/* What all frames of a session have in common. */
typedef struct exactvq_format {
    uint32_t width, height; /* luma size in samples, 1 .. 32768 */
    uint32_t depth;         /* significant bits of a sample, 8 .. 16 */
    uint32_t planes;        /* 1 (luma only) or 3 (Y, Cb, Cr) */
    uint32_t log2_chroma_w; /* chroma width  = ceil(width  / 2^log2_chroma_w), 0 .. 2 */
    uint32_t log2_chroma_h; /* chroma height = ceil(height / 2^log2_chroma_h), 0 .. 2 */
} exactvq_format;

/* One plane of one frame. Sample (x, y) is read at data + y * stride + x * step and is worth (word >> shift), where word is one
 * byte at depth 8, else a 16-bit word in the machine's byte order. Nothing before the first or behind the last sample of a row is read. */
typedef struct exactvq_plane {
    const void *data;  /* first sample of the top row; no alignment needed in host memory */
    ptrdiff_t stride;  /* bytes from one row to the next; negative for bottom-up pictures */
    uint32_t step;     /* bytes from one sample to the next: 1 or 2 at depth 8, 2 or 4 above (the larger: semi-planar chroma). 0: planar */
    uint32_t shift;    /* unused low bits of the word (P010: 6, yuv420p10: 0); depth + shift <= 16, at depth 8 always 0 */
} exactvq_plane;

/* A buffer that drivers share, as in FFmpeg's AVDRMObjectDescriptor. */
typedef struct exactvq_dmabuf {
    int fd;            /* stays the caller's, and open until `release` is called (motion reads a frame with the next ones, too) */
    uint32_t reserved; /* 0 */
    uint64_t size;     /* bytes; 0: as the descriptor tells */
    uint64_t modifier; /* DRM format modifier: only DRM_FORMAT_MOD_LINEAR, 0, can be read in place */
} exactvq_dmabuf;

/* A frame as the caller holds it. The library reads it in place: from a successful exactvq_submit() until `release` is called the
 * memory must stay valid and unchanged. */
typedef struct exactvq_frame {
    size_t struct_size;     /* sizeof(exactvq_frame) */
    uint32_t memory;        /* exactvq_memory */
    exactvq_format format;  /* must equal the session's */
    exactvq_plane plane[3]; /* the first format.planes are used */
    /* Called once when the library is done with the frame, if exactvq_submit() returned EXACTVQ_OK: inside exactvq_receive() or
     * exactvq_close(). Not called when submit fails: the frame is still the caller's. May be NULL. */
    void (*release)(void *opaque);
    void *opaque;
    /* EXACTVQ_MEMORY_CUDA: the CUstream that writes the frame (NULL: the default stream). What it holds at exactvq_submit() is finished before the
     * frame is read. The frame stays in use until `release`, and so does the stream: motion reads a reference with the next one or two pairs, too, and then waits again for what the stream holds. So no
     * work that itself waits for a release may be put into a stream whose last frame is not released. */
    void *stream;
    /* EXACTVQ_MEMORY_DMABUF: the buffers (as many as are used, from the first on), and the one that each plane lies in. What their drivers' fences say is being written at
     * exactvq_submit() is waited for. An imported buffer is remembered, so that a decoder's pool is imported once; up to 64 are kept until exactvq_close(). */
    exactvq_dmabuf dmabuf[4];
    uint32_t plane_dmabuf[3];
} exactvq_frame;

/* ---- session --------------------------------------------------------------------------------------------------- */

typedef struct exactvq_option {
    const char *key;
    const char *value;
} exactvq_option;

/* One metric with its options. Equal instances are computed once. Names and options: docs/metrics.md, exactvq_describe_metrics(). */
typedef struct exactvq_metric {
    const char *name;              /* "psnr", "float_psnr", "psnr_hvs", "adm", "vif", "motion", "vmaf" */
    const char *label;             /* NULL or "": none. Else [a-z][a-z0-9_]{0,31}: the scores are named "label.score"; vmaf's is named "label" */
    const exactvq_option *options; /* option_count pairs; an unknown key or a value out of range is an error naming it */
    size_t option_count;
} exactvq_metric;

/* Instruction sets the CPU backend may use (a mask). Results are equal bit for bit at every level. */
#define EXACTVQ_CPU_SSSE3  0x1u
#define EXACTVQ_CPU_SSE4   0x2u /* SSE4.1 and SSE4.2 with CLMUL and AES */
#define EXACTVQ_CPU_AVX2   0x4u /* AVX2, FMA, BMI2, F16C */
#define EXACTVQ_CPU_AVX512 0x8u /* AVX-512 F, BW, DQ, VL, CD */
#define EXACTVQ_CPU_LIMIT  0x80000000u /* set: use no more than the mask's other bits. Not set: the mask is ignored, everything the CPU has is used */

typedef struct exactvq_config {
    size_t struct_size;            /* sizeof(exactvq_config) */
    const exactvq_metric *metrics; /* metric_count >= 1 instances, in the order their scores are listed; copied */
    size_t metric_count;
    exactvq_format format;
    uint32_t backend;              /* exactvq_backend */
    int32_t device;                /* ordinal of the GPU; ignored by the CPU */
    void *device_context;          /* CUcontext to work in, must outlive the session; NULL: the primary context of `device` */
    uint32_t threads;              /* worker threads of the CPU backend, 0: one for each CPU this process may run on. CUDA and HIP: threads that copy frames from host memory, 0: up to 16. At most 1024 */
    uint32_t frames_in_flight;     /* pairs that may be queued at once, 1 .. 256, 0: 4, and one or two more if scores wait for later frames (motion). Bounds the memory. The threads are shared out for a full queue:
                                    * who submits and receives one pair at a time sets 1 */
    uint32_t cpu_mask;             /* EXACTVQ_CPU_* */
    uint32_t subsample;            /* score the pairs whose index is a multiple of this, 0 or 1: all */
    exactvq_log_callback log;      /* NULL: silent. Errors come as return values, not through this */
    void *log_opaque;
    /* Non-zero: keep every score (8 bytes a score a frame) so that exactvq_start_log() can be called and exactvq_summary() has percentiles. */
    uint32_t keep_scores;
    uint32_t memory;               /* exactvq_memory of all frames. Device memory is measured where it is: backend AUTO takes that backend, others refuse it */
} exactvq_config;

typedef struct exactvq_session exactvq_session;

/* Opens a session. On failure *session still is a session that only takes exactvq_error() and exactvq_close(), or NULL when there was no
 * memory for one. Does all checks that need no frame, and allocates all buffers; what is allocated later are kept scores and small
 * pieces of bookkeeping. */
EXACTVQ_API exactvq_status exactvq_open(const exactvq_config *config, exactvq_session **session);

/* Sentence of the last failed call on this session ("" if none). Valid until the next call. NULL gives the sentence of "no memory". */
EXACTVQ_API const char *exactvq_error(const exactvq_session *session);

/* The backend that computes: "cpu", "cuda" or "hip", with what it runs on, e.g. "cpu (AVX3, 8 threads)". */
EXACTVQ_API const char *exactvq_backend_name(const exactvq_session *session);

/* One score that every scored frame delivers. Strings are valid until exactvq_close(). */
typedef struct exactvq_output {
    size_t struct_size;       /* sizeof(exactvq_output) */
    const char *name;         /* "psnr_y"; with a label "label.psnr_y" */
    const char *libvmaf_name; /* name in libvmaf-compatible logs; with a label, the label and a dot come first there too */
    const char *metric;       /* "psnr" */
    const char *label;        /* "" if none */
    const char *unit;         /* "dB", or "" for a plain number */
    const char *unavailable;  /* NULL; or the sentence why this score has no value on any frame of this session's format */
} exactvq_output;

EXACTVQ_API size_t exactvq_output_count(const exactvq_session *session);
EXACTVQ_API exactvq_status exactvq_get_output(const exactvq_session *session, size_t index, exactvq_output *output);

/* Queues one pair. `index` counts pairs from 0 and must rise by one from call to call.
 * EXACTVQ_AGAIN: as many pairs are queued as there is room for; receive one, then submit this pair again. */
EXACTVQ_API exactvq_status exactvq_submit(exactvq_session *session, const exactvq_frame *reference, const exactvq_frame *main, uint64_t index);

typedef struct exactvq_score {
    double value;   /* finite or +/-infinity when has_value; 0 otherwise */
    int has_value;  /* 0: this score has no value on this frame */
} exactvq_score;

#define EXACTVQ_NO_WAIT 0x1u /* exactvq_receive: do not wait for a pair that is still being computed */

/* Delivers the oldest queued pair, in order, waiting until it is computed.
 * `scores` has room for exactvq_output_count() entries and is filled in that order; `index` (may be NULL) is the pair's.
 * EXACTVQ_AGAIN: nothing is queued, the oldest pair needs successors that were not submitted yet, or, with EXACTVQ_NO_WAIT, is not
 * ready. EXACTVQ_END: nothing will come any more.
 * Pairs left out by `subsample` are delivered too, with no values. */
EXACTVQ_API exactvq_status exactvq_receive(exactvq_session *session, exactvq_score *scores, uint64_t *index, uint32_t flags);

/* Asks whether the session can read this frame of EXACTVQ_MEMORY_DMABUF in place, and imports its buffers. EXACTVQ_ERROR_UNSUPPORTED: it cannot (a layout that is not
 * linear, a buffer that the GPU's driver does not take), exactvq_error() says why, and the session goes on: hand the frame over in host memory. */
EXACTVQ_API exactvq_status exactvq_import(exactvq_session *session, const exactvq_frame *frame);

/* The pair submitted next starts a new sequence: scores of pairs before it do not wait for it, and motion between the two is not looked at. For pairs that are far apart
 * in time, so that no pair waits for long. */
EXACTVQ_API exactvq_status exactvq_cut(exactvq_session *session);

/* No more pairs will be submitted: pairs that wait for successors are completed without them. */
EXACTVQ_API exactvq_status exactvq_flush(exactvq_session *session);

/* Waits for the workers, releases all frames and frees the session. NULL is allowed. */
EXACTVQ_API void exactvq_close(exactvq_session *session);

/* ---- results of the whole sequence ----------------------------------------------------------------------------- */

/* Pooled over the delivered frames that have a value. Formulas as libvmaf's: mean = (sequential sum) / count;
 * harmonic_mean = count / (sequential sum of 1 / (v + 1)) - 1; min, max by < and >. */
typedef struct exactvq_pooled {
    size_t struct_size; /* sizeof(exactvq_pooled) */
    uint64_t count;     /* frames with a value; 0: the other members are 0 */
    double mean, min, max, harmonic_mean;
    double stddev;      /* of all values (the divisor is count), by Welford's recurrence; infinite if a value is */
    /* Percentiles: what 1, 5 and 10 percent of the values lie below, between the two nearest in rank as numpy.percentile by default, and with its rounding. */
    double p1, p5, p10;
    int32_t has_percentiles; /* 0: the session does not keep its scores (keep_scores), p1, p5 and p10 are 0 */
    uint32_t reserved;       /* 0 */
} exactvq_pooled;

EXACTVQ_API exactvq_status exactvq_summary(const exactvq_session *session, size_t output, exactvq_pooled *pooled);

/* A value of the whole sequence (psnr with enable_apsnr: apsnr_y, apsnr_cb, apsnr_cr). Strings are valid until exactvq_close(). */
typedef struct exactvq_aggregate {
    size_t struct_size; /* sizeof(exactvq_aggregate) */
    const char *name;   /* "apsnr_y"; with a label "label.apsnr_y" */
    const char *metric; /* "psnr" */
    const char *label;  /* "" if none */
    double value;       /* of the frames delivered so far; -inf: of a plane that is not measured */
} exactvq_aggregate;

EXACTVQ_API size_t exactvq_aggregate_count(const exactvq_session *session);
EXACTVQ_API exactvq_status exactvq_get_aggregate(const exactvq_session *session, size_t index, exactvq_aggregate *aggregate);

typedef enum exactvq_log_format {
    EXACTVQ_LOG_FORMAT_JSON = 0,
    EXACTVQ_LOG_FORMAT_XML  = 1,
    EXACTVQ_LOG_FORMAT_CSV  = 2,
    EXACTVQ_LOG_FORMAT_SUB  = 3
} exactvq_log_format;

#define EXACTVQ_LOG_FULL_PRECISION 0x1u /* shortest decimals that read back as the same double. Not set: libvmaf's number text, six decimals as a rule */
/* If this process has written `path` before and the file is still there, it is kept, and this log is written to the name of a further part, scores.part2.json for
 * scores.json, with a warning to the log callback: for applications that open a new session in mid-stream. Not set: the file is replaced. */
#define EXACTVQ_LOG_KEEP_PARTS     0x2u

/* Opens the log for this session in an exactvq_log_format: fails at once if `path` cannot be written, or is being written by another session of this process.
 * `flags` are EXACTVQ_LOG_*. Needs keep_scores. The file appears under its name when
 * exactvq_finish_log() succeeds, complete or not at all: it is written beside it and renamed, so its folder must be writable, and the
 * folder may still refuse the new name then (a file of somebody else in a sticky folder). Links are followed. "-" is standard output; devices,
 * pipes, /dev/fd/N, /dev/stdout and paths under /proc are written directly. */
EXACTVQ_API exactvq_status exactvq_start_log(exactvq_session *session, const char *path, uint32_t format, uint32_t flags);
/* Writes the frames delivered so far in libvmaf's shape. Once per exactvq_start_log(), also if it fails. */
EXACTVQ_API exactvq_status exactvq_finish_log(exactvq_session *session);

/* ---- helpers --------------------------------------------------------------------------------------------------- */

/* Parsed form of the two option strings that command lines use. */
typedef struct exactvq_metric_list {
    exactvq_metric *metrics;
    size_t count;
} exactvq_metric_list;

/* metrics: "psnr+psnr_hvs" or, labelled, "psnr_hvs+psnr_hvs@f64".
 * options: "key=value|key=value" or NULL. A key may be written
 *   key         for every instance without a label whose metric knows the key,
 *   metric.key  for the instance of that metric without a label,
 *   label.key   for the instances with that label.
 * A key that no instance knows is an error that names it.
 * models: "vmaf_v0.6.1|vmaf_v0.6.1neg@neg|dir/model.json@mobile+phone+noclip" or NULL: VMAF models, files or names, each with the name of its score after '@'
 *   (none: "vmaf"), and flags. Each is an instance of the metric vmaf with that label; they stand for "vmaf" in `metrics`, which may be NULL or "" then.
 * On failure `error` (may be NULL) receives the sentence and *list is empty. */
EXACTVQ_API exactvq_status exactvq_parse_metrics(const char *metrics, const char *options, const char *models, exactvq_metric_list *list, char *error, size_t error_size);
EXACTVQ_API void exactvq_free_metrics(exactvq_metric_list *list);

/* Text that lists every metric with its scores and options (name, type, range, default, meaning), for a person. Static storage. */
EXACTVQ_API const char *exactvq_describe_metrics(void);

/* Shortest decimal text that reads back as the same double ("36.5", "inf", "-inf", "nan"); independent of the locale.
 * 32 bytes always suffice. Returns the length, or 0 if `size` is too small (then the text is ""). */
EXACTVQ_API size_t exactvq_format_double(double value, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* EXACTVQ_EXACTVQ_H */
