// SPDX-License-Identifier: BSD-2-Clause
//
// graph_churn OPTIONS COUNT [cuda]
//
// Makes, runs and frees COUNT filter graphs with exactvq=OPTIONS, one after the other in one process, of sizes that rise and fall. With "cuda" frames are
// uploaded to the first NVIDIA GPU. Prints of each graph what the process holds after it, and the metadata of the graph's first frame. Case A14 of the
// acceptance tests.
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
#include <libavutil/hwcontext.h>

static void check(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "graph_churn: %s: %s\n", what, av_err2str(result));
        exit(1);
    }
}

// Of memory that is in use, in all arenas: what is resident also has what malloc keeps of the threads that ended.
static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    if (!folder)
        abort();
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 3; // ".", ".." and the folder itself
}

// Bytes of the first GPU's memory that are in use, by anybody; 0 where that cannot be known.
static size_t device_memory(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*retain)(void **, int) = driver ? (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;
    int (*push)(void *) = driver ? (int (*)(void *))dlsym(driver, "cuCtxPushCurrent_v2") : NULL;
    int (*pop)(void **) = driver ? (int (*)(void **))dlsym(driver, "cuCtxPopCurrent_v2") : NULL;
    int (*info)(size_t *, size_t *) = driver ? (int (*)(size_t *, size_t *))dlsym(driver, "cuMemGetInfo_v2") : NULL;
    static void *primary;
    size_t left = 0, total = 0;
    if (!retain || !push || !pop || !info || (!primary && retain(&primary, 0)) || push(primary))
        return 0;
    if (info(&left, &total))
        left = total;
    pop(&context);
    return total - left;
}

// Makes the filters of a graph; those that upload get the device.
static void parse(AVFilterGraph *graph, const char *text, AVBufferRef *device)
{
    AVFilterInOut *inputs = NULL, *outputs = NULL;

    if (device) {
#if LIBAVFILTER_VERSION_MAJOR >= 9
        // hwupload wants its device before it is initialised.
        AVFilterGraphSegment *segment = NULL;
        check(avfilter_graph_segment_parse(graph, text, 0, &segment), text);
        check(avfilter_graph_segment_create_filters(segment, 0), text);
        for (unsigned i = 0; i < graph->nb_filters; i++)
            if (!strcmp(graph->filters[i]->filter->name, "hwupload") && !(graph->filters[i]->hw_device_ctx = av_buffer_ref(device)))
                abort();
        check(avfilter_graph_segment_apply(segment, 0, &inputs, &outputs), text);
        avfilter_graph_segment_free(&segment);
#else
        fprintf(stderr, "graph_churn: cuda needs FFmpeg 6.0 or later\n");
        exit(2);
#endif
    } else {
        check(avfilter_graph_parse2(graph, text, &inputs, &outputs), text);
    }
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
}

// The metadata of the graph's first frame; the rest of the frames are drained.
static AVDictionary *run(AVFilterContext *sink)
{
    AVFrame *first = av_frame_alloc(), *next = av_frame_alloc();
    AVDictionary *metadata = NULL;
    int result;
    if (!first || !next)
        abort();
    check(av_buffersink_get_frame(sink, first), "the first frame");
    while ((result = av_buffersink_get_frame(sink, next)) >= 0)
        av_frame_unref(next);
    if (result != AVERROR_EOF)
        check(result, "a later frame");
    check(av_dict_copy(&metadata, first->metadata, 0), "the metadata");
    av_frame_free(&next);
    av_frame_free(&first);
    return metadata;
}

int main(int argc, char **argv)
{
    static const int widths[] = { 48, 320, 64, 640, 150, 854, 322, 1280, 330, 96 }, heights[] = { 40, 240, 64, 360, 90, 480, 242, 720, 18, 54 };
    const int sizes = sizeof(widths) / sizeof(*widths);
    AVBufferRef *device = NULL;
    int cuda = argc == 4 && !strcmp(argv[3], "cuda");

    if (argc != 3 && !cuda) {
        fprintf(stderr, "usage: graph_churn OPTIONS COUNT [cuda]\n");
        return 2;
    }
    av_log_set_level(AV_LOG_ERROR);
    if (cuda)
        check(av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0), "the GPU");
    for (int n = 0; n < atoi(argv[2]); n++) {
        const int size = n % (2 * sizes) < sizes ? n % sizes : sizes - 1 - n % sizes; // there and back
        const char *upload = cuda ? ",hwupload" : "";
        char text[8192], name[] = "buffersink@out";
        AVFilterGraph *graph = avfilter_graph_alloc();
        AVFilterContext *sink;
        const AVDictionaryEntry *entry = NULL;
        AVDictionary *metadata;

        if (!graph)
            abort();
        snprintf(text, sizeof(text),
                 "testsrc2=s=%dx%d:r=25:d=0.08,format=yuv420p,split[a][b];[a]avgblur=4%s[main];[b]null%s[reference];[main][reference]exactvq=%s,%s",
                 widths[size], heights[size], upload, upload, argv[1], name);
        parse(graph, text, device);
        check(avfilter_graph_config(graph, NULL), text);
        sink = avfilter_graph_get_filter(graph, name);
        if (!sink)
            abort();
        metadata = run(sink);
        avfilter_graph_free(&graph);
        printf("graph %d: %dx%d, %zu bytes allocated, %d files", n, widths[size], heights[size], allocated(), open_files());
        if (cuda)
            printf(", %zu bytes of the GPU", device_memory());
        printf("\n");
        while ((entry = av_dict_get(metadata, "", entry, AV_DICT_IGNORE_SUFFIX)))
            printf("%s=%s\n", entry->key, entry->value);
        av_dict_free(&metadata);
    }
    av_buffer_unref(&device);
    return 0;
}
