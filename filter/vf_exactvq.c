/*
 * Video quality scores that are exact on every machine, computed by libexactvq
 *
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * @file
 * Scores the main (distorted) video against the reference with libexactvq.
 *
 * Main frames pass through untouched, each once and in order, with their scores
 * as metadata. The library works on several pairs at a time: a main frame waits
 * in a queue here until its scores have been received.
 */

#include <exactvq/exactvq.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/avstring.h"
#include "libavutil/bprint.h"
#include "libavutil/cpu.h"
#include "libavutil/dict.h"
#include "libavutil/fifo.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "vf_exactvq_compat.h" /* before other headers of libavfilter */
#include "exactvq_hwframes.h"
#include "exactvq_pairing.h"
#include "exactvq_shift.h"

#define KEY_PREFIX "lavfi.exactvq."

enum { MAIN, REFERENCE, NB_INPUTS };

static const char *const input_names[NB_INPUTS] = { "main", "reference" };

enum Pool {
    POOL_MEAN, POOL_MIN, POOL_MAX, POOL_HARMONIC_MEAN,
    POOL_P1, POOL_P5, POOL_P10,
    POOL_STDDEV, /* does not come first */
    NB_POOLS
};

static const char *const pool_names[NB_POOLS] = {
    "mean", "min", "max", "harmonic_mean", "p1", "p5", "p10", "stddev"
};

/**
 * Main frames in a row that are not scored, after which scores do not wait for
 * the next pair any more. Bounds the frames that are held.
 */
#define MAX_GAP 8

/** Log lines of more than 1023 bytes are cut; room for the prefix. */
#define LINE_LENGTH 900

enum { PAIRING_TIME,   PAIRING_INDEX };
enum { RANGE_CHECK,    RANGE_IGNORE };
enum { EOF_ACTION_PASS, EOF_ACTION_ENDALL, EOF_ACTION_REPEAT };

/** A frame that waits for the pairing's decision. */
typedef struct Waiting {
    AVFrame *frame;
    int      disabled;              ///< by the timeline; main frames only
} Waiting;

/** What is known of an input. */
typedef struct Input {
    const AVPixFmtDescriptor *desc; ///< of the samples, also if the frames are in hardware
    enum AVPixelFormat sw_format;
    void          *cuda_context;    ///< frames are read where they are, if not NULL
    int            copied;          ///< hardware frames that are copied to be read
    int            dmabuf;          ///< hardware frames that are read where they are, or copied
    int            copy_warned;
    exactvq_format format;          ///< as it is scored, that is with the option bits
    uint32_t       shift[3];
    int            offset[3];       ///< bytes from the plane's data to the first sample
    char           text[128];       ///< "640x360 yuv420p", for messages
    Waiting        queue[EXACTVQ_QUEUE_SIZE]; ///< as the pairing's queue
    int            nb_waiting;
    int64_t        nb_read;
    int64_t        first_time;      ///< nanoseconds
    int            has_times;       ///< every frame had one
    enum AVColorRange range;        ///< of the newest frame that was scored
} Input;

/** A main frame on its way to the output. */
typedef struct Pending {
    AVFrame *main;
    AVFrame *main_copy;             ///< or mapped, if the library cannot read main itself
    AVFrame *reference;             ///< likewise; held while the library reads it
    int      disabled;              ///< by the timeline
} Pending;

typedef struct ExactVQContext {
    const AVClass *class;

    char *metrics;
    char *metric_options;
    char *models;
    int   backend;
    int   device;
    int   threads;
    int   async_depth;
    char *log_path;
    int   log_format;
    int   log_precision;
    int   pool;
    int   percentiles;
    int   subsample;
    int   range;
    int   bits;
    int   pairing_mode;
    int   shortest;
    int   eof_action;

    exactvq_metric_list metric_list;
    exactvq_session    *session;
    AVBufferRef        *cuda_device; ///< that the session works on, as long as it lives
    exactvq_output     *outputs;
    exactvq_score      *scores;
    exactvq_pooled     *pooled;
    size_t              nb_outputs;

    Input          inputs[NB_INPUTS];
    ExactVQPairing pairing;
    ExactVQShift   shift;
    AVFifo        *pending;
    uint64_t       nb_submitted;
    int            gap;             ///< main frames in a row that are not scored, up to now
    int64_t        end_pts;         ///< of the output, in its time base
    int            flushed;         ///< the last pair has been submitted
    int            ended;           ///< no main frame will be taken any more
    int            reported;        ///< the summary has been printed
    int            failed;          ///< never print a summary
    int            range_warned;

    /* Of the frames that went to the output. */
    int64_t nb_paired;
    int64_t nb_alone;
    int64_t nb_disabled;
    int64_t nb_unused;              ///< reference frames that were dropped
} ExactVQContext;

#define OFFSET(x) offsetof(ExactVQContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)
#define CONSTANT(name, help, value, unit_name)                                 \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, 0, 0, FLAGS,         \
      .unit = unit_name }

static const AVOption exactvq_options[] = {
    { "metrics", "set the metrics, separated by '+' (default psnr+psnr_hvs, or vmaf if there is a model)", OFFSET(metrics), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, FLAGS },
    { "model", "set the VMAF models, name or file[@name][+phone][+noclip] separated by '|'", OFFSET(models), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, FLAGS },
    { "options", "set options of the metrics, key=value separated by '|'", OFFSET(metric_options), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, FLAGS },
    { "backend", "set what computes", OFFSET(backend), AV_OPT_TYPE_INT, { .i64 = EXACTVQ_BACKEND_AUTO }, EXACTVQ_BACKEND_AUTO, EXACTVQ_BACKEND_HIP, FLAGS, .unit = "backend" },
        CONSTANT("auto", "the backend of the frames' memory", EXACTVQ_BACKEND_AUTO, "backend"),
        CONSTANT("cpu",  "CPU",                               EXACTVQ_BACKEND_CPU,  "backend"),
        CONSTANT("cuda", "NVIDIA GPU",                        EXACTVQ_BACKEND_CUDA, "backend"),
        CONSTANT("hip",  "AMD GPU",                           EXACTVQ_BACKEND_HIP,  "backend"),
    { "device", "set the number of the GPU", OFFSET(device), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, INT_MAX, FLAGS },
    { "threads", "set the number of threads of the CPU backend, 0 is all CPUs", OFFSET(threads), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1024, FLAGS },
    { "async_depth", "set how many pairs may be in flight", OFFSET(async_depth), AV_OPT_TYPE_INT, { .i64 = 4 }, 1, 256, FLAGS },
    { "log_path", "set the file for the scores of all frames", OFFSET(log_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, FLAGS },
    { "log_fmt", "set the format of that file", OFFSET(log_format), AV_OPT_TYPE_INT, { .i64 = EXACTVQ_LOG_FORMAT_JSON }, EXACTVQ_LOG_FORMAT_JSON, EXACTVQ_LOG_FORMAT_SUB, FLAGS, .unit = "log_fmt" },
        CONSTANT("json", "JSON",                  EXACTVQ_LOG_FORMAT_JSON, "log_fmt"),
        CONSTANT("xml",  "XML",                   EXACTVQ_LOG_FORMAT_XML,  "log_fmt"),
        CONSTANT("csv",  "comma-separated values", EXACTVQ_LOG_FORMAT_CSV, "log_fmt"),
        CONSTANT("sub",  "MicroDVD subtitles",    EXACTVQ_LOG_FORMAT_SUB,  "log_fmt"),
    { "log_precision", "set how exact the numbers in that file are", OFFSET(log_precision), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, EXACTVQ_LOG_FULL_PRECISION, FLAGS, .unit = "log_precision" },
        CONSTANT("libvmaf", "as libvmaf writes them, six decimals",           0,                          "log_precision"),
        CONSTANT("max",     "shortest decimals that read back the same double", EXACTVQ_LOG_FULL_PRECISION, "log_precision"),
    { "pool", "set the value that comes first in the summary", OFFSET(pool), AV_OPT_TYPE_INT, { .i64 = POOL_MEAN }, POOL_MEAN, POOL_P10, FLAGS, .unit = "pool" },
        CONSTANT("mean",          "arithmetic mean", POOL_MEAN,          "pool"),
        CONSTANT("min",           "lowest value",    POOL_MIN,           "pool"),
        CONSTANT("max",           "highest value",   POOL_MAX,           "pool"),
        CONSTANT("harmonic_mean", "harmonic mean",   POOL_HARMONIC_MEAN, "pool"),
        CONSTANT("p1",            "1st percentile",  POOL_P1,            "pool"),
        CONSTANT("p5",            "5th percentile",  POOL_P5,            "pool"),
        CONSTANT("p10",           "10th percentile", POOL_P10,           "pool"),
    { "percentiles", "keep all scores for the percentiles in the summary", OFFSET(percentiles), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1, FLAGS },
    { "subsample",   "score every n-th pair", OFFSET(subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, FLAGS },
    { "n_subsample", "score every n-th pair", OFFSET(subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, FLAGS },
    { "range", "set what to do if the colour ranges differ", OFFSET(range), AV_OPT_TYPE_INT, { .i64 = RANGE_CHECK }, RANGE_CHECK, RANGE_IGNORE, FLAGS, .unit = "range" },
        CONSTANT("check",  "refuse to score",          RANGE_CHECK,  "range"),
        CONSTANT("ignore", "score the samples anyway", RANGE_IGNORE, "range"),
    { "bits", "score the top bits of 16-bit samples, 0 is all", OFFSET(bits), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 16, FLAGS },
    { "pairing", "set which frames are compared", OFFSET(pairing_mode), AV_OPT_TYPE_INT, { .i64 = PAIRING_TIME }, PAIRING_TIME, PAIRING_INDEX, FLAGS, .unit = "pairing" },
        CONSTANT("time",  "those nearest in time",       PAIRING_TIME,  "pairing"),
        CONSTANT("index", "the n-th of main and the n-th of reference", PAIRING_INDEX, "pairing"),
    { "shortest", "end the output when the reference ends", OFFSET(shortest), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, FLAGS },
    { "eof_action", "set what to do when the reference ends", OFFSET(eof_action), AV_OPT_TYPE_INT, { .i64 = EOF_ACTION_PASS }, EOF_ACTION_PASS, EOF_ACTION_REPEAT, FLAGS, .unit = "eof_action" },
        CONSTANT("pass",   "pass the rest of main without scores", EOF_ACTION_PASS,   "eof_action"),
        CONSTANT("endall", "end the output",                       EOF_ACTION_ENDALL, "eof_action"),
        CONSTANT("repeat", "refused: would score a frozen picture", EOF_ACTION_REPEAT, "eof_action"),
    { NULL }
};

AVFILTER_DEFINE_CLASS(exactvq);

/* ---- formats -------------------------------------------------------------- */

/**
 * Main in and main out are the same, the reference is on its own. Sharing one
 * list, as is the default, would make libavfilter convert the reference to the
 * format, colour matrix and range of main before it gets here.
 */
static int set_list(AVFilterFormats *main, AVFilterFormats **main_in,
                    AVFilterFormats **main_out,
                    AVFilterFormats *reference, AVFilterFormats **reference_in)
{
    int ret  = ff_formats_ref(main, main_in);
    int ret2 = ff_formats_ref(reference, reference_in);

    if (ret >= 0)
        ret = ff_formats_ref(main, main_out);
    return ret < 0 ? ret : ret2;
}

static int query_formats(AVFilterContext *ctx)
{
    AVFilterFormatsConfig *main_in      = &ctx->inputs[MAIN]->outcfg;
    AVFilterFormatsConfig *reference_in = &ctx->inputs[REFERENCE]->outcfg;
    AVFilterFormatsConfig *main_out     = &ctx->outputs[0]->incfg;
    int ret;

#define SET_LIST(field, all)                                                   \
    if ((ret = set_list(all, &main_in->field, &main_out->field,                \
                        all, &reference_in->field)) < 0)                       \
        return ret;

    /* All formats: what cannot be scored is refused with a reason, instead of
     * being converted. */
    SET_LIST(formats, ff_all_formats(AVMEDIA_TYPE_VIDEO))
    FOR_EACH_COLOR_PROPERTY(SET_LIST)
    return 0;
}

/** Returns why the samples cannot be read, or NULL. */
static const char *unsupported_samples(const AVPixFmtDescriptor *desc)
{
    const AVComponentDescriptor *comp = desc->comp;
    const int bytes = comp[0].depth > 8 ? 2 : 1;

    if (desc->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                       AV_PIX_FMT_FLAG_BAYER))
        return "only gray and YUV formats are supported";
    if (desc->flags & AV_PIX_FMT_FLAG_RGB)
        return "RGB is not supported";
    if (desc->flags & AV_PIX_FMT_FLAG_ALPHA)
        return "an alpha plane is not supported";
    if (desc->flags & AV_PIX_FMT_FLAG_FLOAT)
        return "floating point samples are not supported";
    if (desc->nb_components != 1 && desc->nb_components != 3)
        return "only gray and YUV formats are supported";
    if (comp[0].depth < 8 || comp[0].depth > 16)
        return "only samples of 8 to 16 bits are supported";
    if (bytes > 1 && !(desc->flags & AV_PIX_FMT_FLAG_BE) != !AV_HAVE_BIGENDIAN)
        return "its byte order is not the machine's";
    if (comp[0].step != bytes)
        return "packed formats are not supported";
    for (int i = 1; i < desc->nb_components; i++) {
        int planar = comp[1].plane != comp[2].plane;
        if (comp[i].depth != comp[0].depth)
            return "components of different depth are not supported";
        if (!comp[i].plane || comp[i].step != bytes * (planar ? 1 : 2))
            return "packed formats are not supported";
    }
    return NULL;
}

/** Names a format that can be scored, to have instead of one that cannot. */
static const char *suggested_format(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    enum AVPixelFormat swapped = av_pix_fmt_swap_endianness(format);

    if (swapped != AV_PIX_FMT_NONE && !unsupported_samples(av_pix_fmt_desc_get(swapped)))
        return av_get_pix_fmt_name(swapped);
    return desc->flags & AV_PIX_FMT_FLAG_RGB ? "yuv444p" : "yuv420p";
}

static int is_hardware(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    return desc && (desc->flags & AV_PIX_FMT_FLAG_HWACCEL);
}

/** Writes "640x360 yuv420p" or "640x360 nv12 in cuda frames". */
static void describe_frames(char *text, size_t size, int width, int height,
                            enum AVPixelFormat format, enum AVPixelFormat sw_format)
{
    const char *name = av_get_pix_fmt_name(sw_format);

    snprintf(text, size, "%dx%d %s", width, height, name ? name : "samples");
    if (format != sw_format)
        av_strlcatf(text, size, " in %s frames", av_get_pix_fmt_name(format));
}

/** Finds out what the frames of an input are, and how they will be read. */
static int inspect_input(AVFilterContext *ctx, int pad)
{
    ExactVQContext *s = ctx->priv;
    AVFilterLink *link = ctx->inputs[pad];
    AVBufferRef *frames = ff_filter_link(link)->hw_frames_ctx;
    int cuda = s->backend == EXACTVQ_BACKEND_AUTO || s->backend == EXACTVQ_BACKEND_CUDA;
    Input *in = &s->inputs[pad];
    ExactVQDevice device;

    in->sw_format    = link->format;
    in->cuda_context = NULL;
    in->copied       = 0;
    in->dmabuf       = 0;
    if (is_hardware(link->format)) {
        in->sw_format = ff_exactvq_sw_format(frames);
        if (cuda && ff_exactvq_cuda_device(frames, &device))
            in->cuda_context = device.context;
        in->dmabuf = s->backend == EXACTVQ_BACKEND_HIP &&
                     ff_exactvq_may_be_dmabuf(link->format);
        in->copied = !in->cuda_context && !in->dmabuf;
    }
    in->desc = av_pix_fmt_desc_get(in->sw_format);
    describe_frames(in->text, sizeof(in->text), link->w, link->h, link->format,
                    in->sw_format);

    if (in->copied && !ff_exactvq_can_copy_to_system(frames)) {
        av_log(ctx, AV_LOG_ERROR,
               "%s is %s, which can neither be scored where they are nor be copied to "
               "system memory: insert hwdownload,format=%s before the %s input\n",
               input_names[pad], in->text, in->desc ? in->desc->name : "nv12",
               input_names[pad]);
        return AVERROR(ENOSYS);
    }
    return 0;
}

static int refuse_unsupported(AVFilterContext *ctx, int pad)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = &s->inputs[pad];
    AVFilterLink *link = ctx->inputs[pad];
    const char *name = input_names[pad];
    const char *reason;

    if ((reason = unsupported_samples(in->desc))) {
        int hardware = in->sw_format != link->format;
        av_log(ctx, AV_LOG_ERROR,
               "%s is %s, which cannot be scored: %s. Insert a format "
               "filter before both inputs, such as %s%s%sformat=%s\n",
               name, in->text, reason, hardware ? "hwdownload,format=" : "",
               hardware ? in->desc->name : "", hardware ? "," : "",
               suggested_format(in->sw_format));
        return AVERROR(EINVAL);
    }
    /* With the lists of query_formats() this happens to main only, if what
     * follows the output wants another format. */
    if (av_strstart(link->src->name, "auto_scale", NULL)) {
        av_log(ctx, AV_LOG_ERROR,
               "%s would be converted to %s before it is scored, by a scale filter "
               "inserted automatically for what follows: insert a format filter "
               "before the %s input, or after this filter\n",
               name, av_get_pix_fmt_name(link->format), name);
        return AVERROR(EINVAL);
    }
    return 0;
}

/** Fills in what follows from the link's format and the option bits. */
static int describe_input(AVFilterContext *ctx, int pad)
{
    ExactVQContext *s = ctx->priv;
    AVFilterLink *link = ctx->inputs[pad];
    Input *in = &s->inputs[pad];
    const AVPixFmtDescriptor *desc = in->desc;
    int narrowed = s->bits && s->bits < 16 && desc->comp[0].depth == 16;

    in->range  = LINK_COLOR_RANGE(link);
    in->format = (exactvq_format) {
        .width         = link->w,
        .height        = link->h,
        .depth         = narrowed ? s->bits : desc->comp[0].depth,
        .planes        = desc->nb_components,
        .log2_chroma_w = desc->nb_components > 1 ? desc->log2_chroma_w : 0,
        .log2_chroma_h = desc->nb_components > 1 ? desc->log2_chroma_h : 0,
    };
    for (int i = 0; i < desc->nb_components; i++) {
        in->offset[i] = desc->comp[i].offset;
        in->shift[i]  = narrowed ? 16 - s->bits : desc->comp[i].shift;
        /* The library reads 8 bits as bytes: take the upper one of each word. */
        if (narrowed && s->bits == 8) {
            in->offset[i] += !AV_HAVE_BIGENDIAN;
            in->shift[i]   = 0;
        }
    }
    if (narrowed)
        av_strlcatf(in->text, sizeof(in->text), ", top %d bits", s->bits);

    if (narrowed && s->bits == 8 && desc->nb_components > 1 && desc->comp[1].step > 2) {
        av_log(ctx, AV_LOG_ERROR,
               "bits=8 cannot be used with semi-planar formats, %s is %s\n",
               input_names[pad], in->text);
        return AVERROR(EINVAL);
    }
    return 0;
}

static int refuse_bits(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = s->inputs;

    if (!s->bits || in[MAIN].desc->comp[0].depth == 16 ||
        in[REFERENCE].desc->comp[0].depth == 16)
        return 0;
    av_log(ctx, AV_LOG_ERROR,
           "bits=%d is for formats with 16-bit samples, but main is %s and "
           "reference is %s: leave it out\n",
           s->bits, in[MAIN].text, in[REFERENCE].text);
    return AVERROR(EINVAL);
}

static int refuse_different(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = s->inputs;
    const exactvq_format *a = &in[MAIN].format, *b = &in[REFERENCE].format;
    const char *what;

    if (a->width != b->width || a->height != b->height)
        what = "the sizes differ: insert a scale or crop filter before one of them";
    else if (a->planes != b->planes)
        what = "only one has chroma: insert a format filter before one of them";
    else if (a->log2_chroma_w != b->log2_chroma_w ||
             a->log2_chroma_h != b->log2_chroma_h)
        what = "the chroma subsampling differs: insert a format filter before one of them";
    else if (a->depth != b->depth)
        what = "the bit depths differ: insert a format filter before one of them";
    else
        return 0;

    av_log(ctx, AV_LOG_ERROR, "main is %s, reference is %s: %s%s\n",
           in[MAIN].text, in[REFERENCE].text, what,
           a->depth != b->depth && (in[MAIN].desc->comp[0].depth == 16 ||
                                    in[REFERENCE].desc->comp[0].depth == 16) ?
           ", or use the option bits for fewer bits in 16-bit samples" : "");
    return AVERROR(EINVAL);
}

/** How to bring an input to the other one's memory. */
static void append_remedy(AVBPrint *text, const Input *in, const char *name)
{
    if (in->cuda_context)
        av_bprintf(text, "hwdownload,format=%s before the %s input", in->desc->name, name);
    else
        av_bprintf(text, "hwupload before the %s input", name);
}

/** The library reads all frames in one memory. */
static int refuse_memories(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = s->inputs;
    AVBPrint text;

    if (in[MAIN].cuda_context == in[REFERENCE].cuda_context)
        return 0;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    if (in[MAIN].cuda_context && in[REFERENCE].cuda_context) {
        av_bprintf(&text, "they are on two devices or in two contexts of one: give both "
                          "the same one (options -hwaccel_device, or -init_hw_device and "
                          "-filter_hw_device with hwupload), or use backend=cpu");
    } else {
        av_bprintf(&text, "they are in different memory: insert ");
        append_remedy(&text, &in[MAIN], input_names[MAIN]);
        av_bprintf(&text, " or ");
        append_remedy(&text, &in[REFERENCE], input_names[REFERENCE]);
        av_bprintf(&text, ", or use backend=cpu");
    }
    av_log(ctx, AV_LOG_ERROR, "main is %s, reference is %s: %s\n",
           in[MAIN].text, in[REFERENCE].text, text.str);
    av_bprint_finalize(&text, NULL);
    return AVERROR(EINVAL);
}

/* ---- colour range --------------------------------------------------------- */

static int is_yuvj(const Input *in)
{
    return av_strstart(in->desc->name, "yuvj", NULL);
}

static enum AVColorRange known_range(const Input *in)
{
    return is_yuvj(in) ? AVCOL_RANGE_JPEG : in->range;
}

static int check_range(AVFilterContext *ctx, int warn)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = s->inputs;
    enum AVColorRange main      = known_range(&in[MAIN]);
    enum AVColorRange reference = known_range(&in[REFERENCE]);
    /* A YUV format that has a full range twin is limited by itself. */
    int twins = is_yuvj(&in[MAIN]) != is_yuvj(&in[REFERENCE]);

    if (s->range == RANGE_IGNORE || main == reference)
        return 0;
    if (twins || (main && reference)) {
        av_log(ctx, AV_LOG_ERROR,
               "main is %s with range %s, reference is %s with range %s: convert one "
               "of them with a scale filter (out_range), correct a wrong tag with "
               "setparams (range), or score the samples as they are with range=ignore\n",
               in[MAIN].text, av_color_range_name(main),
               in[REFERENCE].text, av_color_range_name(reference));
        return AVERROR(EINVAL);
    }
    if (warn && !s->range_warned++)
        av_log(ctx, AV_LOG_WARNING,
               "main has range %s, reference has range %s: taken to be the same\n",
               av_color_range_name(main), av_color_range_name(reference));
    return 0;
}

/* ---- session -------------------------------------------------------------- */

static int library_error(AVFilterContext *ctx, exactvq_status status)
{
    ExactVQContext *s = ctx->priv;

    av_log(ctx, AV_LOG_ERROR, "%s\n", exactvq_error(s->session));
    switch (status) {
    case EXACTVQ_ERROR_ARGUMENT:    return AVERROR(EINVAL);
    case EXACTVQ_ERROR_UNSUPPORTED: return AVERROR(ENOSYS);
    case EXACTVQ_ERROR_NO_MEMORY:   return AVERROR(ENOMEM);
    case EXACTVQ_ERROR_IO:          return AVERROR(EIO);
    case EXACTVQ_ERROR_DEVICE:      return AVERROR_EXTERNAL;
    default:                        return AVERROR_BUG;
    }
}

static void library_log(void *opaque, exactvq_log_level level, const char *message)
{
    static const int levels[] = {
        [EXACTVQ_LOG_ERROR]   = AV_LOG_ERROR,
        [EXACTVQ_LOG_WARNING] = AV_LOG_WARNING,
        [EXACTVQ_LOG_INFO]    = AV_LOG_INFO,
        [EXACTVQ_LOG_DEBUG]   = AV_LOG_DEBUG,
    };
    int known = level >= 0 && level < FF_ARRAY_ELEMS(levels);

    av_log(opaque, known ? levels[level] : AV_LOG_DEBUG, "%s\n", message);
}

/** The instruction sets that -cpuflags allows. */
static uint32_t cpu_mask(void)
{
    static const struct {
        int      needed;
        uint32_t allowed;
    } levels[] = {
        { AV_CPU_FLAG_SSSE3,                                         EXACTVQ_CPU_SSSE3  },
        { AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42,                      EXACTVQ_CPU_SSE4   },
        { AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI2,    EXACTVQ_CPU_AVX2   },
        { AV_CPU_FLAG_AVX512,                                        EXACTVQ_CPU_AVX512 },
    };
    int flags = av_get_cpu_flags();
    uint32_t mask = EXACTVQ_CPU_LIMIT;

    if (!ARCH_X86)
        return flags ? 0 : mask;
    for (int i = 0; i < FF_ARRAY_ELEMS(levels); i++)
        if ((flags & levels[i].needed) == levels[i].needed)
            mask |= levels[i].allowed;
    return mask;
}

static int get_outputs(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;

    s->nb_outputs = exactvq_output_count(s->session);
    s->outputs    = av_calloc(s->nb_outputs, sizeof(*s->outputs));
    s->scores     = av_calloc(s->nb_outputs, sizeof(*s->scores));
    s->pooled     = av_calloc(s->nb_outputs, sizeof(*s->pooled));
    if (!s->outputs || !s->scores || !s->pooled)
        return AVERROR(ENOMEM);

    for (size_t i = 0; i < s->nb_outputs; i++) {
        exactvq_output *output = &s->outputs[i];
        exactvq_status status;
        output->struct_size = sizeof(*output);
        if ((status = exactvq_get_output(s->session, i, output)) < 0)
            return library_error(ctx, status);
        if (output->unavailable) {
            av_log(ctx, AV_LOG_ERROR, "%s\n", output->unavailable);
            return AVERROR(EINVAL);
        }
    }
    return 0;
}

static int open_session(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    FilterLink *main = ff_filter_link(ctx->inputs[MAIN]);
    void *cuda_context = s->inputs[MAIN].cuda_context;
    ExactVQDevice device;
    exactvq_config config = {
        .struct_size      = sizeof(config),
        .metrics          = s->metric_list.metrics,
        .metric_count     = s->metric_list.count,
        .format           = s->inputs[MAIN].format,
        .backend          = s->backend,
        .device           = s->device,
        .device_context   = cuda_context,
        .memory           = cuda_context ? EXACTVQ_MEMORY_CUDA :
                            s->inputs[MAIN].dmabuf || s->inputs[REFERENCE].dmabuf ?
                            EXACTVQ_MEMORY_DMABUF : EXACTVQ_MEMORY_HOST,
        .threads          = s->threads,
        .frames_in_flight = s->async_depth,
        .cpu_mask         = cpu_mask(),
        .subsample        = s->subsample,
        .log              = library_log,
        .log_opaque       = ctx,
        .keep_scores      = s->log_path || s->percentiles,
    };
    exactvq_status status;
    int ret;

    if (cuda_context && ff_exactvq_cuda_device(main->hw_frames_ctx, &device) &&
        !(s->cuda_device = av_buffer_ref(device.ref)))
        return AVERROR(ENOMEM);
    if ((status = exactvq_open(&config, &s->session)) < 0)
        return library_error(ctx, status);
    if ((ret = get_outputs(ctx)) < 0)
        return ret;
    if (s->log_path &&
        (status = exactvq_start_log(s->session, s->log_path, s->log_format,
                                    s->log_precision | EXACTVQ_LOG_KEEP_PARTS)) < 0)
        return library_error(ctx, status);

    for (int i = 0; i < NB_INPUTS; i++)
        if (s->inputs[i].copied)
            av_log(ctx, AV_LOG_INFO,
                   "%s is %s, which are copied to system memory to be scored\n",
                   input_names[i], s->inputs[i].text);
    av_log(ctx, AV_LOG_INFO,
           "scoring main (distorted, %s) against reference (%s) with %.300s%s%s%.200s on %s\n",
           s->inputs[MAIN].text, s->inputs[REFERENCE].text, s->metrics,
           strlen(s->metrics) > 300 ? "..." : "", /* long lines are cut */
           s->models ? ", model " : "", s->models ? s->models : "",
           exactvq_backend_name(s->session));
    return 0;
}

/* ---- results -------------------------------------------------------------- */

static int set_metadata(AVFrame *frame, const char *name, const char *value)
{
    char key[96];

    snprintf(key, sizeof(key), KEY_PREFIX "%s", name);
    /* Without a value, one that an earlier filter has left is removed. */
    return av_dict_set(&frame->metadata, key, value, 0);
}

static int set_scores(ExactVQContext *s, AVFrame *frame, int paired)
{
    int ret = set_metadata(frame, "paired", paired ? NULL : "0");

    for (size_t i = 0; ret >= 0 && i < s->nb_outputs; i++) {
        char text[32];
        int has_value = paired && s->scores[i].has_value;
        if (has_value)
            exactvq_format_double(s->scores[i].value, text, sizeof(text));
        ret = set_metadata(frame, s->outputs[i].name, has_value ? text : NULL);
    }
    return ret;
}

static int is_percentile(enum Pool pool)
{
    return pool >= POOL_P1 && pool <= POOL_P10;
}

/** @return whether there is such a value */
static int pooled_value(const exactvq_pooled *pooled, enum Pool pool, double *value)
{
    const double values[NB_POOLS] = {
        [POOL_MEAN]          = pooled->mean,
        [POOL_MIN]           = pooled->min,
        [POOL_MAX]           = pooled->max,
        [POOL_HARMONIC_MEAN] = pooled->harmonic_mean,
        [POOL_P1]            = pooled->p1,
        [POOL_P5]            = pooled->p5,
        [POOL_P10]           = pooled->p10,
        [POOL_STDDEV]        = pooled->stddev,
    };
    *value = values[pool];
    return pooled->count && (!is_percentile(pool) || pooled->has_percentiles);
}

/** The name without the label, which stands at the head of the line: log lines
 * of more than 1023 bytes are cut. */
static const char *short_name(const exactvq_output *output)
{
    return *output->label ? output->name + strlen(output->label) + 1 : output->name;
}

static int same_instance(const exactvq_output *a, const exactvq_output *b)
{
    return !strcmp(a->metric, b->metric) && !strcmp(a->label, b->label);
}

/** Tells whether this is a member of a model's ensemble, vmaf_0001: they are many. */
static int is_member(const ExactVQContext *s, const exactvq_output *output)
{
    size_t length = strlen(output->name);

    if (strcmp(output->metric, "vmaf") || length < 6 ||
        strspn(output->name + length - 4, "0123456789") != 4 || output->name[length - 5] != '_')
        return 0;
    for (const exactvq_output *model = s->outputs; model < output; model++)
        if (!strcmp(model->metric, "vmaf") && strlen(model->name) == length - 5 &&
            !strncmp(model->name, output->name, length - 5))
            return 1;
    return 0;
}

/** Appends all scores of a metric, outputs first to last - 1, pooled one way. */
static void append_pool(const ExactVQContext *s, AVBPrint *text, size_t first,
                        size_t last, enum Pool pool)
{
    double value;

    for (size_t i = first; i < last; i++) {
        if (is_member(s, &s->outputs[i]) || !pooled_value(&s->pooled[i], pool, &value))
            continue;
        if (!text->len)
            av_bprintf(text, "%s:", pool_names[pool]);
        av_bprintf(text, " %s %f", short_name(&s->outputs[i]), value);
    }
}

/** Prints a line for a metric, several if it is too long for one. */
static void print_metric(AVFilterContext *ctx, size_t first, size_t last)
{
    ExactVQContext *s = ctx->priv;
    const exactvq_output *output = &s->outputs[first];
    AVBPrint line, values;

    av_bprint_init(&line, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_init(&values, 0, AV_BPRINT_SIZE_UNLIMITED);
    for (int i = -1; i < NB_POOLS; i++) {
        enum Pool pool = i < 0 ? s->pool : i;
        if (i == s->pool)
            continue;
        av_bprint_clear(&values);
        append_pool(s, &values, first, last, pool);
        if (!values.len)
            continue;
        /* Each line in one call, so that no other message comes between. */
        if (line.len && line.len + values.len > LINE_LENGTH) {
            av_log(ctx, AV_LOG_INFO, "%s\n", line.str);
            av_bprint_clear(&line);
        }
        if (line.len)
            av_bprintf(&line, " | %s", values.str);
        else
            av_bprintf(&line, "%s%s%s %s", output->metric, *output->label ? "@" : "",
                       output->label, values.str);
    }
    if (line.len && av_bprint_is_complete(&line))
        av_log(ctx, AV_LOG_INFO, "%s\n", line.str);
    av_bprint_finalize(&line, NULL);
    av_bprint_finalize(&values, NULL);
}

/** Prints the values of the whole sequence, a line for each metric. */
static void print_aggregates(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    size_t count = exactvq_aggregate_count(s->session);
    exactvq_aggregate last = { .metric = "", .label = "" };
    AVBPrint line;

    av_bprint_init(&line, 0, AV_BPRINT_SIZE_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        exactvq_aggregate a = { .struct_size = sizeof(a) };
        if (exactvq_get_aggregate(s->session, i, &a) < 0)
            continue;
        if (strcmp(a.metric, last.metric) || strcmp(a.label, last.label)) {
            if (line.len)
                av_log(ctx, AV_LOG_INFO, "%s\n", line.str);
            av_bprint_clear(&line);
            av_bprintf(&line, "%s%s%s aggregate:", a.metric, *a.label ? "@" : "", a.label);
        }
        av_bprintf(&line, " %s %f", *a.label ? a.name + strlen(a.label) + 1 : a.name, a.value);
        last = a;
    }
    if (line.len && av_bprint_is_complete(&line))
        av_log(ctx, AV_LOG_INFO, "%s\n", line.str);
    av_bprint_finalize(&line, NULL);
}

/** The line that tools read from libvmaf's filter: of the first model, once. */
static void print_vmaf(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    double value;
    size_t i = 0;

    while (i < s->nb_outputs && strcmp(s->outputs[i].metric, "vmaf"))
        i++;
    if (i < s->nb_outputs && pooled_value(&s->pooled[i], s->pool, &value))
        av_log(ctx, AV_LOG_INFO, "VMAF score: %f\n", value);
}

static void warn_shift(AVFilterContext *ctx)
{
    const ExactVQShift *shift = &((ExactVQContext *)ctx->priv)->shift;
    int later = shift->candidate > 0;

    av_log(ctx, AV_LOG_WARNING,
           "from pair %"PRId64" on main fits the reference better with a shift of %+d frames: "
           "if the videos do not start together, correct it, for example with "
           "[%d:v]trim=start_frame=%d,setpts=PTS-STARTPTS\n",
           shift->since, shift->candidate, later, later ? shift->candidate : -shift->candidate);
}

/** Pools everything before anything is written: it may lack memory. */
static int pool_scores(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    exactvq_status status;

    for (size_t i = 0; i < s->nb_outputs; i++) {
        s->pooled[i].struct_size = sizeof(s->pooled[i]);
        if ((status = exactvq_summary(s->session, i, &s->pooled[i])) < 0)
            return library_error(ctx, status);
    }
    return 0;
}

static void print_summary(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    char disabled[48] = "";
    size_t last;

    for (size_t first = 0; first < s->nb_outputs; first = last) {
        for (last = first + 1; last < s->nb_outputs; last++)
            if (!same_instance(&s->outputs[first], &s->outputs[last]))
                break;
        print_metric(ctx, first, last);
    }
    print_aggregates(ctx);
    print_vmaf(ctx);
    if (ff_exactvq_shift_end(&s->shift))
        warn_shift(ctx);
    if (s->nb_disabled)
        snprintf(disabled, sizeof(disabled), ", disabled: %"PRId64, s->nb_disabled);
    av_log(ctx, AV_LOG_INFO,
           "paired: %"PRId64", main without partner: %"PRId64", reference unused: %"PRId64"%s\n",
           s->nb_paired, s->nb_alone, s->nb_unused, disabled);
}

/**
 * Writes the log and prints the summary, once. Both cover the frames that went
 * to the output: pairs that are still in flight when the output is closed early
 * are left out, so that the numbers do not depend on how fast they came.
 */
static int report(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    exactvq_status status;
    int ret;

    if (s->reported || s->failed || !s->session)
        return 0;
    s->reported = 1;
    if ((ret = pool_scores(ctx)) < 0)
        return ret;
    if (s->log_path && (status = exactvq_finish_log(s->session)) < 0)
        return library_error(ctx, status);
    print_summary(ctx);
    return 0;
}

static void append_times(const Input *in, const ExactVQQueue *queue, AVBPrint *text,
                         const char *name)
{
    av_bprintf(text, "%s has %"PRId64" frames", name, in->nb_read);
    if (in->nb_read && in->has_times)
        av_bprintf(text, " from %.6f to %.6f s", in->first_time / 1e9, queue->last / 1e9);
}

static int refuse_no_pair(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = s->inputs;
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    append_times(&in[MAIN], &s->pairing.main, &text, "main");
    av_bprintf(&text, ", ");
    append_times(&in[REFERENCE], &s->pairing.reference, &text, "reference");
    if (in[MAIN].nb_read && in[REFERENCE].nb_read && !s->pairing.by_index)
        av_bprintf(&text, ": shift one of them with setpts, or use pairing=index");
    av_log(ctx, AV_LOG_ERROR, "no frames to compare: %s\n", text.str);
    av_bprint_finalize(&text, NULL);
    return AVERROR(EINVAL);
}

/** Frames went to the output, and none of them had a partner. */
static int nothing_compared(const ExactVQContext *s)
{
    return s->nb_alone && !s->nb_paired && !s->nb_disabled;
}

/* ---- output --------------------------------------------------------------- */

static size_t nb_pending(const ExactVQContext *s)
{
    return av_fifo_can_read(s->pending);
}

static void free_pending(Pending *pending)
{
    av_frame_free(&pending->main);
    av_frame_free(&pending->main_copy);
    av_frame_free(&pending->reference);
}

/**
 * Sends the oldest pending frame to the output.
 * @return AVERROR(EAGAIN) if its scores are not there yet
 */
static int send_oldest(AVFilterContext *ctx, int wait)
{
    ExactVQContext *s = ctx->priv;
    Pending pending;
    int scored, ret = 0;

    av_fifo_peek(s->pending, &pending, 1, 0);
    scored = !!pending.reference;
    if (scored) {
        exactvq_status status = exactvq_receive(s->session, s->scores, NULL,
                                                wait ? 0 : EXACTVQ_NO_WAIT);
        if (status == EXACTVQ_AGAIN)
            return AVERROR(EAGAIN);
        if (status < 0)
            return library_error(ctx, status);
    }
    av_fifo_drain2(s->pending, 1);
    av_frame_free(&pending.main_copy);
    av_frame_free(&pending.reference);

    if (!pending.disabled && (ret = set_scores(s, pending.main, scored)) < 0) {
        av_frame_free(&pending.main);
        return ret;
    }
    s->nb_paired   += scored;
    s->nb_disabled += pending.disabled;
    s->nb_alone    += !scored && !pending.disabled;
    return ff_filter_frame(ctx->outputs[0], pending.main);
}

/** Takes over the frames. */
static int append_pending(ExactVQContext *s, Pending *pending)
{
    int ret = av_fifo_write(s->pending, pending, 1);

    if (ret < 0)
        free_pending(pending);
    return ret;
}

/** The same of a frame that is not scored. */
static int append_unscored(AVFilterContext *ctx, Pending *pending)
{
    ExactVQContext *s = ctx->priv;
    exactvq_status status;

    s->shift.position = 0; /* as in drop_reference() */
    if (++s->gap == MAX_GAP && (status = exactvq_cut(s->session)) < 0) {
        free_pending(pending);
        return library_error(ctx, status);
    }
    return append_pending(s, pending);
}

/* ---- pairs ---------------------------------------------------------------- */

/** Describes a frame in system or CUDA memory. */
static void fill_frame(const Input *in, const AVFrame *frame, exactvq_frame *out)
{
    ExactVQDevice device;

    if (in->cuda_context && ff_exactvq_cuda_device(frame->hw_frames_ctx, &device)) {
        out->memory = EXACTVQ_MEMORY_CUDA;
        out->stream = device.stream;
    }
    for (int i = 0; i < in->desc->nb_components; i++) {
        const AVComponentDescriptor *comp = &in->desc->comp[i];
        out->plane[i].data   = frame->data[comp->plane] + in->offset[i];
        out->plane[i].stride = frame->linesize[comp->plane];
    }
}

static void warn_copied(AVFilterContext *ctx, int pad, const char *reason)
{
    ExactVQContext *s = ctx->priv;
    Input *in = &s->inputs[pad];

    if (!in->copy_warned++)
        av_log(ctx, AV_LOG_WARNING,
               "%s is %s, which cannot be read in place: %s. Such frames are copied "
               "through system memory, which is slower\n",
               input_names[pad], in->text, reason);
}

/** Lets the library read a frame where it is. @return AVERROR(ENOSYS) if it cannot */
static int import_frame(AVFilterContext *ctx, int pad, AVFrame **mapped,
                        const AVFrame *source, exactvq_frame *out)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = &s->inputs[pad];
    const char *reason = NULL;
    exactvq_status status;
    int ret;

    if ((ret = ff_exactvq_map_dmabuf(mapped, source, in->sw_format, out, &reason)) < 0) {
        if (reason)
            warn_copied(ctx, pad, reason);
        return ret;
    }
    for (int i = 0; i < in->desc->nb_components; i++)
        out->plane[i].data = (const uint8_t *)((uintptr_t)out->plane[i].data + in->offset[i]);
    if ((status = exactvq_import(s->session, out)) == EXACTVQ_OK)
        return 0;

    av_frame_free(mapped);
    out->memory = EXACTVQ_MEMORY_HOST;
    if (status != EXACTVQ_ERROR_UNSUPPORTED)
        return library_error(ctx, status);
    warn_copied(ctx, pad, exactvq_error(s->session));
    return AVERROR(ENOSYS);
}

/**
 * Describes a frame to the library, bringing it to where that can read it.
 *
 * @param moved NULL if the library reads the frame itself, else what it reads
 */
static int prepare_frame(AVFilterContext *ctx, int pad, const AVFrame *frame,
                         AVFrame **moved, exactvq_frame *out)
{
    ExactVQContext *s = ctx->priv;
    const Input *in = &s->inputs[pad];
    int ret;

    *moved = NULL;
    *out   = (exactvq_frame) {
        .struct_size = sizeof(*out),
        .memory      = EXACTVQ_MEMORY_HOST,
        .format      = in->format,
    };
    for (int i = 0; i < in->desc->nb_components; i++) {
        out->plane[i].step  = in->desc->comp[i].step;
        out->plane[i].shift = in->shift[i];
    }
    if (in->dmabuf &&
        (ret = import_frame(ctx, pad, moved, frame, out)) != AVERROR(ENOSYS))
        return ret;
    if ((in->copied || in->dmabuf) &&
        (ret = ff_exactvq_copy_to_system(moved, frame)) < 0) {
        av_log(ctx, AV_LOG_ERROR,
               "a hardware frame of %s cannot be copied to system memory\n",
               input_names[pad]);
        return ret;
    }
    fill_frame(in, *moved ? *moved : frame, out);
    return 0;
}

static void note_range(Input *in, AVFilterLink *link, const AVFrame *frame)
{
    in->range = frame->color_range ? frame->color_range : LINK_COLOR_RANGE(link);
}

/** Submits the newest pending pair, after sending older ones if need be. */
static int submit(AVFilterContext *ctx, const exactvq_frame *frames)
{
    ExactVQContext *s = ctx->priv;
    exactvq_status status;
    int ret;

    while ((status = exactvq_submit(s->session, &frames[REFERENCE], &frames[MAIN],
                                    s->nb_submitted)) == EXACTVQ_AGAIN) {
        if (nb_pending(s) < 2)
            return AVERROR_BUG;
        if ((ret = send_oldest(ctx, 1)) < 0)
            return ret == AVERROR(EAGAIN) ? AVERROR_BUG : ret;
    }
    if (status < 0)
        return library_error(ctx, status);
    s->nb_submitted++;
    s->gap = 0;
    return 0;
}

/** Compares main with the neighbours of its partner, now and then. */
static void look_for_shift(AVFilterContext *ctx, const Pending *pair,
                           const exactvq_frame *frames)
{
    ExactVQContext *s = ctx->priv;
    const AVFrame *held[NB_INPUTS]    = { pair->main, pair->reference };
    AVFrame *copies[NB_INPUTS]        = { NULL };
    exactvq_frame readable[NB_INPUTS] = { frames[MAIN], frames[REFERENCE] };
    int needed[NB_INPUTS]             = { 0, 1 };
    int ok = ff_exactvq_shift_needs(&s->shift, s->nb_submitted, &needed[MAIN]);

    for (int i = 0; ok && i < NB_INPUTS; i++) {
        if (!needed[i] || frames[i].memory == EXACTVQ_MEMORY_HOST)
            continue;
        /* Copying takes time, and not every dma-buf can be read by the CPU. */
        s->shift.rare = 1;
        ok = frames[i].memory == EXACTVQ_MEMORY_CUDA &&
             ff_exactvq_copy_to_system(&copies[i], held[i]) >= 0;
        if (ok) {
            readable[i].memory = EXACTVQ_MEMORY_HOST;
            fill_frame(&s->inputs[i], copies[i], &readable[i]);
        }
    }
    if (ok && ff_exactvq_shift_add(&s->shift, &readable[REFERENCE], &readable[MAIN]))
        warn_shift(ctx);
    for (int i = 0; i < NB_INPUTS; i++)
        av_frame_free(&copies[i]);
}

static int score_pair(AVFilterContext *ctx, const Pending *pair,
                      const exactvq_frame *frames)
{
    ExactVQContext *s = ctx->priv;
    int ret;

    note_range(&s->inputs[MAIN],      ctx->inputs[MAIN],      pair->main);
    note_range(&s->inputs[REFERENCE], ctx->inputs[REFERENCE], pair->reference);
    if ((ret = check_range(ctx, 1)) < 0)
        return ret;
    look_for_shift(ctx, pair, frames);
    return submit(ctx, frames);
}

static int prepare_pair(AVFilterContext *ctx, Pending *pair, exactvq_frame *frames)
{
    AVFrame *moved;
    int ret;

    if ((ret = prepare_frame(ctx, MAIN, pair->main, &pair->main_copy,
                             &frames[MAIN])) < 0 ||
        (ret = prepare_frame(ctx, REFERENCE, pair->reference, &moved,
                             &frames[REFERENCE])) < 0)
        return ret;
    if (moved) {
        av_frame_free(&pair->reference);
        pair->reference = moved;
    }
    return 0;
}

static Waiting remove_frame(Input *in, int index)
{
    Waiting waiting = in->queue[index];

    in->nb_waiting--;
    for (int i = index; i < in->nb_waiting; i++)
        in->queue[i] = in->queue[i + 1];
    return waiting;
}

static int pair_heads(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    Waiting main       = remove_frame(&s->inputs[MAIN], 0);
    AVFrame *reference = remove_frame(&s->inputs[REFERENCE], 0).frame;
    Pending pair       = { .main = main.frame, .disabled = main.disabled };
    exactvq_frame frames[NB_INPUTS];
    int ret;

    if (main.disabled) {
        av_frame_free(&reference);
        return append_unscored(ctx, &pair);
    }
    pair.reference = reference;
    if ((ret = prepare_pair(ctx, &pair, frames)) < 0) {
        free_pending(&pair);
        return ret;
    }
    /* First, so that no frame is freed here while the library reads it. */
    if ((ret = append_pending(s, &pair)) < 0)
        return ret;
    return score_pair(ctx, &pair, frames);
}

static int pass_alone(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    Waiting main = remove_frame(&s->inputs[MAIN], 0);
    Pending pending = { .main = main.frame, .disabled = main.disabled };

    return append_unscored(ctx, &pending);
}

static void drop_reference(AVFilterContext *ctx, int index)
{
    ExactVQContext *s = ctx->priv;
    AVFrame *frame = remove_frame(&s->inputs[REFERENCE], index).frame;

    av_frame_free(&frame);
    s->nb_unused++;
    s->shift.position = 0; /* it looks at frames in a row */
}

/* ---- input ---------------------------------------------------------------- */

static int end_with_reference(const ExactVQContext *s)
{
    return s->shortest || s->eof_action == EOF_ACTION_ENDALL;
}

/** The frame interval to use if main has a single frame. */
static int64_t nominal_interval(AVFilterLink *link, const AVFrame *frame)
{
    static const AVRational ns = { 1, 1000000000 };
    AVRational rate  = ff_filter_link(link)->frame_rate;
    int64_t duration = frame_duration(frame);

    if (rate.num > 0 && rate.den > 0)
        return av_rescale_q(1, av_inv_q(rate), ns);
    return duration > 0 ? av_rescale_q(duration, link->time_base, ns) : 0;
}

/** Gets the time of a frame and checks what pairing by time relies on. */
static int frame_time(AVFilterContext *ctx, int pad, const AVFrame *frame,
                      const ExactVQQueue *queue, int64_t *time)
{
    static const AVRational ns = { 1, 1000000000 };
    ExactVQContext *s = ctx->priv;
    Input *in = &s->inputs[pad];
    int known = frame->pts != AV_NOPTS_VALUE;

    *time = known ? av_rescale_q(frame->pts, ctx->inputs[pad]->time_base, ns) : 0;
    known = known && *time >= -EXACTVQ_TIME_MAX && *time <= EXACTVQ_TIME_MAX;
    if (!in->nb_read) {
        in->first_time = *time;
        in->has_times  = 1;
    }
    in->has_times &= known;
    if (s->pairing.by_index)
        return 0;

    if (!known) {
        av_log(ctx, AV_LOG_ERROR,
               "frame %"PRId64" of %s has no usable time stamp: set one with setpts, "
               "or use pairing=index\n", in->nb_read, input_names[pad]);
        return AVERROR(EINVAL);
    }
    if (queue->started && *time < queue->last) {
        av_log(ctx, AV_LOG_ERROR,
               "the time of %s goes back from %.6f s to %.6f s at frame %"PRId64": "
               "correct it with setpts, or use pairing=index\n",
               input_names[pad], queue->last / 1e9, *time / 1e9, in->nb_read);
        return AVERROR(EINVAL);
    }
    return 0;
}

/** Applications may send frames that are not what was agreed on. */
static int check_frame(AVFilterContext *ctx, int pad, const AVFrame *frame)
{
    ExactVQContext *s = ctx->priv;
    const AVFilterLink *link = ctx->inputs[pad];
    const Input *in = &s->inputs[pad];
    enum AVPixelFormat sw_format = frame->format;
    ExactVQDevice device = { NULL };
    char before[64], after[64];

    if (is_hardware(frame->format)) {
        sw_format = ff_exactvq_sw_format(frame->hw_frames_ctx);
        /* Left to whoever reads the frame: scoring all of it would be wrong. */
        if (frame->crop_left || frame->crop_top || frame->crop_right || frame->crop_bottom) {
            av_log(ctx, AV_LOG_ERROR, "%s is cropped but its hardware frames are whole: "
                   "insert hwdownload,format=%s before a crop filter\n",
                   input_names[pad], av_get_pix_fmt_name(sw_format));
            return AVERROR(EINVAL);
        }
    }
    if (in->cuda_context)
        ff_exactvq_cuda_device(frame->hw_frames_ctx, &device);
    if (frame->width == link->w && frame->height == link->h &&
        frame->format == link->format && sw_format == in->sw_format &&
        device.context == in->cuda_context)
        return 0;

    describe_frames(before, sizeof(before), link->w, link->h, link->format, in->sw_format);
    describe_frames(after, sizeof(after), frame->width, frame->height, frame->format,
                    sw_format);
    av_log(ctx, AV_LOG_ERROR, "%s changes from %s to %s%s within the video\n",
           input_names[pad], before, after,
           device.context && in->cuda_context && device.context != in->cuda_context ?
           " of another device" : "");
    return AVERROR(EINVAL);
}

static int push_frame(AVFilterContext *ctx, int pad, AVFrame *frame)
{
    ExactVQContext *s = ctx->priv;
    ExactVQQueue *queue = pad == MAIN ? &s->pairing.main : &s->pairing.reference;
    Input *in = &s->inputs[pad];
    int64_t time;
    int ret;

    if ((ret = check_frame(ctx, pad, frame)) < 0 ||
        (ret = frame_time(ctx, pad, frame, queue, &time)) < 0) {
        av_frame_free(&frame);
        return ret;
    }
    if (pad == MAIN && !in->nb_read)
        s->pairing.interval = nominal_interval(ctx->inputs[pad], frame);
    /* is_disabled is that of the frame that was consumed last from pad 0. */
    in->queue[in->nb_waiting++] = (Waiting) { frame, pad == MAIN && ctx->is_disabled };
    in->nb_read++;
    ff_exactvq_pairing_push(queue, time);
    return 0;
}

/** No more pairs will come: lets the library complete those in flight. */
static int flush(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    exactvq_status status;

    if (s->flushed)
        return 0;
    s->flushed = 1;
    status = exactvq_flush(s->session);
    return status < 0 ? library_error(ctx, status) : 0;
}

/**
 * Gets a frame or the end of an input.
 * @return 1 if there was one, 0 if it has to come first
 */
static int read_input(AVFilterContext *ctx, int pad)
{
    ExactVQContext *s = ctx->priv;
    AVFilterLink *link = ctx->inputs[pad];
    AVFrame *frame;
    int64_t pts;
    int status, ret;

    if ((ret = ff_inlink_consume_frame(link, &frame)) < 0)
        return ret;
    if (ret > 0) {
        ret = push_frame(ctx, pad, frame);
        return ret < 0 ? ret : 1;
    }
    if (ff_inlink_acknowledge_status(link, &status, &pts)) {
        if (status != AVERROR_EOF)
            return status;
        if (pad == MAIN) {
            s->pairing.main.eof = 1;
            s->end_pts = pts;
        } else {
            s->pairing.reference.eof = 1;
        }
        return 1;
    }
    if (ff_outlink_frame_wanted(ctx->outputs[0]))
        ff_inlink_request_frame(link);
    return 0;
}

/** Ends the output before main ends. */
static int end_before_main(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    AVFrame *frame = remove_frame(&s->inputs[MAIN], 0).frame;

    s->end_pts = frame->pts;
    s->ended   = 1;
    av_frame_free(&frame);
    ff_inlink_set_status(ctx->inputs[MAIN], AVERROR_EOF);
    return flush(ctx);
}

/**
 * Takes one step of the pairing.
 * @return 1 if it was taken, 0 if it needs a frame that has to come first
 */
static int advance(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    ExactVQPairing *p = &s->pairing;
    int ret = 0;

    /* Before the rest of the reference is read: the output need not wait for it. */
    if (p->main.eof && !p->main.nb_frames && (ret = flush(ctx)) < 0)
        return ret;

    switch (ff_exactvq_pairing_step(p)) {
    case EXACTVQ_NEED_MAIN:
        return read_input(ctx, MAIN);
    case EXACTVQ_NEED_REFERENCE:
        return read_input(ctx, REFERENCE);
    case EXACTVQ_PAIR:
        ret = pair_heads(ctx);
        break;
    case EXACTVQ_MAIN_AFTER_END:
        ret = end_with_reference(s) ? end_before_main(ctx) : pass_alone(ctx);
        break;
    case EXACTVQ_MAIN_ALONE:
        ret = pass_alone(ctx);
        break;
    case EXACTVQ_REFERENCE_UNUSED:
        drop_reference(ctx, p->unused);
        break;
    case EXACTVQ_ALL_PAIRED:
        s->ended = 1;
        break;
    }
    return ret < 0 ? ret : 1;
}

static int finish(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    int ret;

    if (!s->nb_paired && !s->nb_disabled)
        return refuse_no_pair(ctx);
    if ((ret = report(ctx)) < 0)
        return ret;
    ff_inlink_set_status(ctx->inputs[REFERENCE], AVERROR_EOF);
    ff_outlink_set_status(ctx->outputs[0], AVERROR_EOF, s->end_pts);
    return 0;
}

/** What follows does not want any more frames. */
static int close_early(AVFilterContext *ctx, int status)
{
    ExactVQContext *s = ctx->priv;
    int ret = 0;

    if (status == AVERROR_EOF)
        ret = nothing_compared(s) ? refuse_no_pair(ctx) : report(ctx);

    for (int i = 0; i < NB_INPUTS; i++)
        ff_inlink_set_status(ctx->inputs[i], status);
    return ret;
}

static int run(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    AVFilterLink *outlink = ctx->outputs[0];
    int ret;

    if ((ret = outlink_status(outlink)))
        return close_early(ctx, ret);

    for (;;) {
        int full = nb_pending(s) >= s->async_depth;

        /* Only what is wanted: then it does not depend on the speed of the
         * library how many frames go out before what follows has enough. But
         * all at the end: ffmpeg 5.1 takes notice of an error only if it occurs
         * as input comes in, not as a frame is asked for. */
        if (nb_pending(s) && (s->flushed || ff_outlink_frame_wanted(outlink))) {
            ret = send_oldest(ctx, full || s->flushed);
            if (ret >= 0)
                ff_filter_set_ready(ctx, 100);
            if (ret != AVERROR(EAGAIN))
                return ret;
        } else if (full) {
            return 0;
        }

        if (s->ended)
            return nb_pending(s) ? AVERROR_BUG : finish(ctx);
        if ((ret = advance(ctx)) <= 0)
            return ret;
    }
}

static int activate(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    int ret = s->failed ? AVERROR_EXTERNAL : run(ctx);

    if (ret < 0)
        s->failed = 1;
    return ret;
}

/* ---- set-up --------------------------------------------------------------- */

static int check_inputs(AVFilterContext *ctx)
{
    int ret;

    for (int pad = 0; pad < NB_INPUTS; pad++)
        if ((ret = inspect_input(ctx, pad)) < 0 ||
            (ret = refuse_unsupported(ctx, pad)) < 0 ||
            (ret = describe_input(ctx, pad)) < 0)
            return ret;
    if ((ret = refuse_bits(ctx)) < 0 || (ret = refuse_different(ctx)) < 0 ||
        (ret = refuse_memories(ctx)) < 0)
        return ret;
    return LINKS_HAVE_COLOR_RANGE ? check_range(ctx, 0) : 0;
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    ExactVQContext *s = ctx->priv;
    AVFilterLink *main = ctx->inputs[MAIN];
    int ret;

    if ((ret = check_inputs(ctx)) < 0 || (ret = open_session(ctx)) < 0) {
        s->failed = 1;
        return ret;
    }
    outlink->w                   = main->w;
    outlink->h                   = main->h;
    outlink->time_base           = main->time_base;
    outlink->sample_aspect_ratio = main->sample_aspect_ratio;
    ff_filter_link(outlink)->frame_rate = ff_filter_link(main)->frame_rate;
    return 0;
}

/** Before 6.1 the option threads that every filter has takes ours. */
static av_cold int get_threads(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;

    if (ctx->nb_threads > 1024) {
        av_log(ctx, AV_LOG_ERROR, "threads=%d is out of range: 0 to 1024\n",
               ctx->nb_threads);
        return AVERROR(ERANGE);
    }
    if (ctx->nb_threads > 0)
        s->threads = ctx->nb_threads;
    return 0;
}

static av_cold int init(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    char error[512] = "";
    exactvq_status status;
    int ret;

    if ((ret = get_threads(ctx)) < 0)
        return ret;
    if (s->eof_action == EOF_ACTION_REPEAT) {
        av_log(ctx, AV_LOG_ERROR,
               "eof_action=repeat would score a frozen picture: use pass or endall\n");
        return AVERROR(EINVAL);
    }
    if (is_percentile(s->pool) && !s->percentiles) {
        av_log(ctx, AV_LOG_ERROR, "pool=%s needs percentiles=1\n", pool_names[s->pool]);
        return AVERROR(EINVAL);
    }
    if (s->bits && s->bits < 8) {
        av_log(ctx, AV_LOG_ERROR, "bits=%d is out of range: 8 to 16, or 0\n", s->bits);
        return AVERROR(EINVAL);
    }
    if (!s->metrics && !(s->metrics = av_strdup(s->models ? "vmaf" : "psnr+psnr_hvs")))
        return AVERROR(ENOMEM);
    status = exactvq_parse_metrics(s->metrics, s->metric_options, s->models,
                                   &s->metric_list, error, sizeof(error));
    if (status < 0) {
        av_log(ctx, AV_LOG_ERROR, "%s\n", error);
        return status == EXACTVQ_ERROR_NO_MEMORY ? AVERROR(ENOMEM) : AVERROR(EINVAL);
    }
    s->pending = av_fifo_alloc2(s->async_depth, sizeof(Pending), AV_FIFO_FLAG_AUTO_GROW);
    if (!s->pending)
        return AVERROR(ENOMEM);
    s->pairing.by_index = s->pairing_mode == PAIRING_INDEX;
    /* Unused reference frames are counted to the end, unless the user wants an
     * end as early as possible. */
    s->pairing.drain = !end_with_reference(s);
    s->end_pts = AV_NOPTS_VALUE;
    return 0;
}

static av_cold void report_without_end(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    size_t dropped = s->pending ? nb_pending(s) : 0;

    dropped += s->inputs[MAIN].nb_waiting;
    if (dropped)
        av_log(ctx, AV_LOG_WARNING,
               "the graph ended before its inputs did: %zu main frames that were under way "
               "are neither passed on nor scored (if an input changes in mid-stream, see "
               "-reinit_filter)\n", dropped);
    if (nothing_compared(s))
        refuse_no_pair(ctx);
    else if (s->nb_paired || s->nb_disabled)
        report(ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    ExactVQContext *s = ctx->priv;
    Pending pending;

    /* The last chance, if the graph is freed without an end: ffmpeg does so when
     * an output has all its frames (-frames), fails, or builds the graph anew
     * because an input changed. Too late to return an error. */
    if (s->session && !s->failed && !s->reported)
        report_without_end(ctx);
    /* The library reads frames until here. */
    exactvq_close(s->session);
    exactvq_free_metrics(&s->metric_list);

    while (s->pending && av_fifo_read(s->pending, &pending, 1) >= 0)
        free_pending(&pending);
    av_fifo_freep2(&s->pending);
    for (int i = 0; i < NB_INPUTS; i++)
        while (s->inputs[i].nb_waiting) {
            AVFrame *frame = remove_frame(&s->inputs[i], 0).frame;
            av_frame_free(&frame);
        }
    /* The session worked in its context until it was closed. */
    av_buffer_unref(&s->cuda_device);
    av_freep(&s->outputs);
    av_freep(&s->scores);
    av_freep(&s->pooled);
}

static const AVFilterPad inputs[] = {
    { .name = "main",      .type = AVMEDIA_TYPE_VIDEO },
    { .name = "reference", .type = AVMEDIA_TYPE_VIDEO },
};

static const AVFilterPad outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_exactvq = {
    PUBLIC(name)        = "exactvq",
    PUBLIC(description) = NULL_IF_CONFIG_SMALL("Score a video against its reference, exactly."),
    PUBLIC(priv_class)  = &exactvq_class,
    PUBLIC(flags)       = AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL |
                          AVFILTER_FLAG_METADATA_ONLY,
    .priv_size          = sizeof(ExactVQContext),
    .init               = init,
    .uninit             = uninit,
    .activate           = activate,
    FILTER_INPUTS(inputs),
    FILTER_OUTPUTS(outputs),
    FILTER_QUERY_FUNC(query_formats),
};
