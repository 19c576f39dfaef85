// SPDX-License-Identifier: BSD-2-Clause
//
// libva without a GPU, for tests (LD_PRELOAD): surfaces lie in memory files, which stand in for dma-bufs. It has what FFmpeg's hwupload, hwdownload and mapping to
// DRM PRIME call. At vaTerminate() it says how often surfaces were exported and read. The environment variable EXACTVQ_FAKE_VA says what is different, as a
// list "key=value,key=value":
//
//     modifier=2    layout that exports name (0, linear), all or from export first=N on
//     objects=1     planes lie in buffers of their own
//     composed=1    exports have one layer for all planes
//     swapped=1     exports name Cr before Cb
//     size=0        exports do not tell the buffers' sizes; size=2: they tell twice of it
//     beyond=64     planes are said to begin so many bytes further
//     export=0      surfaces cannot be exported
//     read=0        surfaces cannot be read by vaGetImage()
#include <sys/mman.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/support/fake_settings.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LOCK const std::lock_guard lock(mutex)

namespace {

const exactvq::test::FakeSettings settings("EXACTVQ_FAKE_VA");

constexpr uint32_t tag(char a, char b, char c, char d) { return uint32_t(a) | uint32_t(b) << 8 | uint32_t(c) << 16 | uint32_t(d) << 24; }

struct Format {
    uint32_t va, drm;
    uint32_t planes, bytes;  // of a word
    uint32_t log2_w, log2_h;
};
constexpr Format kFormats[] = {
    {VA_FOURCC_NV12, tag('N', 'V', '1', '2'), 2, 1, 1, 1}, {VA_FOURCC_P010, tag('P', '0', '1', '0'), 2, 2, 1, 1}, {VA_FOURCC_I420, tag('Y', 'U', '1', '2'), 3, 1, 1, 1},
    {VA_FOURCC_444P, tag('Y', 'U', '2', '4'), 3, 1, 0, 0}, {VA_FOURCC_Y800, tag('R', '8', ' ', ' '), 1, 1, 0, 0}};

struct Plane {
    uint32_t bytes, rows;  // of the picture
    uint32_t offset, pitch;
};

// Planes with borders, as a decoder's surfaces have.
std::vector<Plane> lay_out(const Format& format, uint32_t width, uint32_t height) {
    std::vector<Plane> planes;
    uint32_t offset = 256;
    for (uint32_t i = 0; i < format.planes; ++i) {
        const uint32_t columns = i ? (width + (1u << format.log2_w) - 1) >> format.log2_w : width, rows = i ? (height + (1u << format.log2_h) - 1) >> format.log2_h : height;
        const uint32_t bytes = columns * format.bytes * (i == 1 && format.planes == 2 ? 2 : 1), pitch = (bytes + 255) / 128 * 128;
        planes.push_back({bytes, rows, offset, pitch});
        offset += pitch * ((rows + 15) / 16 * 16);
    }
    return planes;
}

struct Surface {
    const Format* format = nullptr;
    std::vector<Plane> planes;
    uint32_t size = 0;  // of each buffer
    std::vector<int> files;
    std::vector<uint8_t*> memory;  // of the buffers

    uint8_t* plane(uint32_t i) const { return memory[memory.size() > 1 ? i : 0] + planes[i].offset; }
};
struct Image {
    std::vector<Plane> planes;
    std::vector<uint8_t> data;
};

std::mutex mutex;
std::map<VASurfaceID, Surface> surfaces;
std::map<VAImageID, Image> images;  // a buffer has the number of its image
unsigned next_id = 1;
int exported = 0, read_back = 0;

VAImageFormat image_format(const Format& format) {
    VAImageFormat image{};
    image.fourcc = format.va;
    image.byte_order = VA_LSB_FIRST;
    image.bits_per_pixel = 12;
    return image;
}

const Format* find(uint32_t va) {
    for (const Format& format : kFormats)
        if (format.va == va) return &format;
    return nullptr;
}

void copy(uint8_t* to, uint32_t to_pitch, const uint8_t* from, uint32_t from_pitch, const Plane& plane) {
    for (uint32_t y = 0; y < plane.rows; ++y) memcpy(to + size_t{y} * to_pitch, from + size_t{y} * from_pitch, plane.bytes);
}

}  // namespace

EXPORT VADisplay vaGetDisplayDRM(int) { return &mutex; }
EXPORT VAStatus vaInitialize(VADisplay, int* major, int* minor) {
    *major = 1;
    *minor = 17;
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaTerminate(VADisplay) {
    fprintf(stderr, "fake_va: %d exports, %d reads\n", exported, read_back);
    if (!surfaces.empty() || !images.empty()) fprintf(stderr, "fake_va: error: %zu surfaces and %zu images are left\n", surfaces.size(), images.size());
    return VA_STATUS_SUCCESS;
}
EXPORT const char* vaErrorStr(VAStatus) { return "fake error"; }
EXPORT const char* vaQueryVendorString(VADisplay) { return "a fake"; }
EXPORT VAMessageCallback vaSetErrorCallback(VADisplay, VAMessageCallback, void*) { return nullptr; }
EXPORT VAMessageCallback vaSetInfoCallback(VADisplay, VAMessageCallback, void*) { return nullptr; }
EXPORT int vaMaxNumImageFormats(VADisplay) { return std::size(kFormats); }
EXPORT VAStatus vaQueryImageFormats(VADisplay, VAImageFormat* list, int* count) {
    for (const Format& format : kFormats) *list++ = image_format(format);
    *count = std::size(kFormats);
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaCreateSurfaces(VADisplay, unsigned, unsigned width, unsigned height, VASurfaceID* ids, unsigned count, VASurfaceAttrib* attributes, unsigned attribute_count) {
    LOCK;
    const Format* format = nullptr;
    for (unsigned i = 0; i < attribute_count; ++i)
        if (attributes[i].type == VASurfaceAttribPixelFormat) format = find(static_cast<uint32_t>(attributes[i].value.value.i));
    if (!format) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    for (unsigned i = 0; i < count; ++i) {
        Surface surface;
        surface.format = format;
        surface.planes = lay_out(*format, width, height);
        const Plane& last = surface.planes.back();
        surface.size = last.offset + last.pitch * last.rows;
        for (uint32_t n = settings.number("objects", 0) ? format->planes : 1; n > 0; --n) {
            surface.files.push_back(memfd_create("fake surface", MFD_CLOEXEC));
            if (ftruncate(surface.files.back(), surface.size) < 0) return VA_STATUS_ERROR_ALLOCATION_FAILED;
            surface.memory.push_back(static_cast<uint8_t*>(mmap(nullptr, surface.size, PROT_READ | PROT_WRITE, MAP_SHARED, surface.files.back(), 0)));
            memset(surface.memory.back(), 0xa5, surface.size);
        }
        surfaces.emplace(ids[i] = next_id++, surface);
    }
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaDestroySurfaces(VADisplay, VASurfaceID* ids, int count) {
    LOCK;
    for (int i = 0; i < count; ++i) {
        const Surface& surface = surfaces.at(ids[i]);
        for (size_t n = 0; n < surface.files.size(); ++n) {
            munmap(surface.memory[n], surface.size);
            close(surface.files[n]);
        }
        surfaces.erase(ids[i]);
    }
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaSyncSurface(VADisplay, VASurfaceID id) {
    LOCK;
    return surfaces.count(id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}
EXPORT VAStatus vaDeriveImage(VADisplay, VASurfaceID, VAImage*) { return VA_STATUS_ERROR_UNIMPLEMENTED; }
EXPORT VAStatus vaCreateImage(VADisplay, VAImageFormat* wanted, int width, int height, VAImage* result) {
    LOCK;
    const Format& format = *find(wanted->fourcc);
    Image image;
    image.planes = lay_out(format, static_cast<uint32_t>(width), static_cast<uint32_t>(height));
    const Plane& last = image.planes.back();
    image.data.resize(last.offset + last.pitch * last.rows);
    *result = {};
    result->image_id = result->buf = next_id++;
    result->format = *wanted;
    result->width = static_cast<uint16_t>(width);
    result->height = static_cast<uint16_t>(height);
    result->data_size = static_cast<uint32_t>(image.data.size());
    result->num_planes = format.planes;
    for (uint32_t i = 0; i < format.planes; ++i) {
        result->pitches[i] = image.planes[i].pitch;
        result->offsets[i] = image.planes[i].offset;
    }
    images.emplace(result->image_id, std::move(image));
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaDestroyImage(VADisplay, VAImageID id) {
    LOCK;
    images.erase(id);
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaMapBuffer(VADisplay, VABufferID id, void** data) {
    LOCK;
    *data = images.at(id).data.data();
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaMapBuffer2(VADisplay display, VABufferID id, void** data, uint32_t) { return vaMapBuffer(display, id, data); }
EXPORT VAStatus vaUnmapBuffer(VADisplay, VABufferID) { return VA_STATUS_SUCCESS; }
EXPORT VAStatus vaPutImage(VADisplay, VASurfaceID id, VAImageID image_id, int, int, unsigned, unsigned, int, int, unsigned, unsigned) {
    LOCK;
    const Image& image = images.at(image_id);
    const Surface& surface = surfaces.at(id);
    for (uint32_t i = 0; i < image.planes.size(); ++i)
        copy(surface.plane(i), surface.planes[i].pitch, image.data.data() + image.planes[i].offset, image.planes[i].pitch, image.planes[i]);
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaGetImage(VADisplay, VASurfaceID id, int, int, unsigned, unsigned, VAImageID image_id) {
    LOCK;
    if (!settings.number("read", 1)) return VA_STATUS_ERROR_OPERATION_FAILED;
    Image& image = images.at(image_id);
    const Surface& surface = surfaces.at(id);
    for (uint32_t i = 0; i < image.planes.size(); ++i)
        copy(image.data.data() + image.planes[i].offset, image.planes[i].pitch, surface.plane(i), surface.planes[i].pitch, image.planes[i]);
    ++read_back;
    return VA_STATUS_SUCCESS;
}
EXPORT VAStatus vaExportSurfaceHandle(VADisplay, VASurfaceID id, uint32_t type, uint32_t flags, void* result) {
    LOCK;
    if (!settings.number("export", 1)) return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 || !(flags & VA_EXPORT_SURFACE_READ_ONLY)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const Surface& surface = surfaces.at(id);
    const bool linear = ++exported < settings.number("first", 1);
    VADRMPRIMESurfaceDescriptor drm{};
    drm.fourcc = surface.format->va;
    drm.num_objects = static_cast<uint32_t>(surface.files.size());
    for (uint32_t n = 0; n < drm.num_objects; ++n) {
        drm.objects[n].fd = dup(surface.files[n]);
        drm.objects[n].size = surface.size * static_cast<uint32_t>(settings.number("size", 1));
        drm.objects[n].drm_format_modifier = linear ? 0 : static_cast<uint64_t>(settings.number("modifier", 0));
    }
    const bool composed = settings.number("composed", 0) || !(flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS), wide = surface.format->bytes == 2;
    drm.num_layers = composed ? 1 : surface.format->planes;
    for (uint32_t i = 0; i < surface.format->planes; ++i) {
        auto& layer = drm.layers[composed ? 0 : i];
        const uint32_t both = settings.number("swapped", 0) ? wide ? tag('R', 'G', '3', '2') : tag('R', 'G', '8', '8') : wide ? tag('G', 'R', '3', '2') : tag('G', 'R', '8', '8');
        layer.drm_format = composed ? surface.format->drm : i == 1 && surface.format->planes == 2 ? both : wide ? tag('R', '1', '6', ' ') : tag('R', '8', ' ', ' ');
        const uint32_t n = layer.num_planes++;
        layer.object_index[n] = drm.num_objects > 1 ? i : 0;
        layer.offset[n] = surface.planes[i].offset + static_cast<uint32_t>(settings.number("beyond", 0));
        layer.pitch[n] = surface.planes[i].pitch;
    }
    memcpy(result, &drm, sizeof drm);
    return VA_STATUS_SUCCESS;
}
