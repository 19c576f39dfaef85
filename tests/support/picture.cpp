// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/picture.h"

#include <cstring>
#include <stdexcept>

namespace exactvq::test {

uint32_t hash(uint32_t a, uint32_t b) {
    uint32_t v = a * 0x9e3779b9u + b;
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    return v ^ v >> 16;
}

const char* name(Content content) {
    static const char* const names[] = {"black", "black-max", "max-black", "identical", "noise", "binary", "stripes", "flat+1", "small-noise", "texture", "sparse", "swing-and-odd", "contrast", "diagonals", "impulses"};
    return names[static_cast<int>(content)];
}

const char* name(Layout layout) {
    static const char* const names[] = {"planar", "padded", "bottom-up", "unaligned", "semi-planar", "high-bits", "p010", "nv21", "every-second"};
    return names[static_cast<int>(layout)];
}

ContentPair make_content(Content content, const Geometry& geometry, uint32_t seed) {
    ContentPair pair;
    const uint32_t largest = (1u << geometry.depth) - 1, unit = 1u << (geometry.depth - 8);
    for (uint32_t p = 0; p < geometry.planes; ++p) {
        const PlaneSize size = geometry.plane[p];
        Samples &ref = pair.ref[p], &main = pair.main[p];
        ref = main = {size.width, size.height, std::vector<uint16_t>(size_t{size.width} * size.height)};
        for (uint32_t y = 0; y < size.height; ++y) {
            for (uint32_t x = 0; x < size.width; ++x) {
                const uint32_t h = hash(hash(hash(seed, p), y), x), g = hash(h, 77);
                const auto clamp = [largest](int64_t v) { return static_cast<uint32_t>(v < 0 ? 0 : v > largest ? largest : v); };
                uint32_t a = 0, b = 0;
                switch (content) {
                case Content::kBlack: break;
                case Content::kBlackMax: b = largest; break;
                case Content::kMaxBlack: a = largest; break;
                case Content::kIdentical: a = b = h & largest; break;
                case Content::kNoise: a = h & largest, b = g & largest; break;
                case Content::kBinary: a = h >> 31 ? largest : 0, b = g >> 31 ? largest : 0; break;
                case Content::kStripes: a = x & 1 ? largest : 0, b = largest - a; break;
                case Content::kFlatPlusOne: a = largest / 2, b = a + 1; break;
                case Content::kSmallNoise:
                    a = clamp(int64_t{x * 3 + y} * unit % (largest + 1) + h % 3);
                    b = clamp(int64_t{a} + g % 7 - 3);
                    break;
                case Content::kTexture: {
                    const uint32_t wave = (x * 5 + y * 3 + ((x / 9) ^ (y / 5)) * 13) % 220;
                    a = clamp(int64_t{wave} * unit + h % unit);
                    b = clamp(int64_t{a / (6 * unit)} * 6 * unit + 3 * unit);
                    break;
                }
                case Content::kSparse:
                    a = b = (h >> 3) & largest;
                    if (g % 50 == 0) b = largest - a;
                    break;
                case Content::kSwingAndOdd:
                    a = h % 10 < 6 ? largest : largest / 2;
                    b = h % 10 < 6 ? 0 : a + 1 + 2 * (g % 40);
                    break;
                case Content::kContrast: {
                    const int64_t middle = (largest + 1) / 2;
                    a = clamp(middle + (static_cast<int64_t>((x * 7 + y * 2 + ((x / 11) ^ (y / 7)) * 29) % 130) - 65) * unit + h % (2 * unit));
                    b = clamp(middle + (static_cast<int64_t>(a) - middle) * (27 + seed % 3 * 40) / 20);
                    break;
                }
                case Content::kDiagonals:
                    a = (x + y) >> (seed % 3) & 1 ? largest : 0;
                    b = a ? largest - g % (32 * unit) : g % (32 * unit);
                    break;
                case Content::kImpulses:
                    a = h % 61 ? largest / 2 : h >> 31 ? largest : 0;
                    b = g % 53 ? (g % 7 ? a : largest / 2) : g >> 31 ? largest : 0;
                    break;
                case Content::kCount: break;
                }
                ref.at[size_t{y} * size.width + x] = static_cast<uint16_t>(a);
                main.at[size_t{y} * size.width + x] = static_cast<uint16_t>(b);
            }
        }
    }
    return pair;
}

Picture::Picture(const Samples* planes, const Geometry& geometry, Layout layout) : planes_(geometry.planes) {
    const bool semi_planar = layout == Layout::kSemiPlanar || layout == Layout::kP010 || layout == Layout::kNv21;
    const uint32_t bytes = geometry.depth > 8 ? 2 : 1;
    const uint32_t shift = geometry.depth > 8 && (layout == Layout::kHighBits || layout == Layout::kP010) ? 16 - geometry.depth : 0;
    for (uint32_t p = 0; p < planes_; ++p) {
        const Samples& samples = planes[p];
        const uint32_t step = (semi_planar && p > 0) || layout == Layout::kEverySecond ? 2 * bytes : bytes;
        const size_t row = size_t{samples.width} * step - (layout == Layout::kEverySecond && samples.width ? bytes : 0);  // semi-planar: with the other component's last sample
        const size_t padding = layout == Layout::kPadded ? 13 + 2 * p : layout == Layout::kUnaligned ? (row % 2 ? 2 : 1) : layout == Layout::kEverySecond ? bytes : 0;
        const size_t stride = row + padding;
        PlaneView& view = views_[p];
        uint8_t* base;
        if (semi_planar && p == 2) {
            base = const_cast<uint8_t*>(views_[1].data) + (layout == Layout::kNv21 ? -static_cast<ptrdiff_t>(bytes) : static_cast<ptrdiff_t>(bytes));
        } else {
            const size_t offset = layout == Layout::kUnaligned ? 1 : 0;
            const size_t size = offset + (samples.height ? (samples.height - 1) * stride + row : 0);
            memory_.emplace_back(new uint8_t[size]);
            std::memset(memory_.back().get(), 0xa5, size);
            base = memory_.back().get() + offset + (layout == Layout::kNv21 && p == 1 ? bytes : 0);
        }
        view.width = samples.width;
        view.height = samples.height;
        view.depth = geometry.depth;
        view.step = step;
        view.shift = shift;
        view.stride = static_cast<ptrdiff_t>(stride);
        view.data = base;
        if (layout == Layout::kBottomUp && samples.height) {
            view.data = base + (samples.height - 1) * stride;
            view.stride = -view.stride;
        }
        for (uint32_t y = 0; y < samples.height; ++y) {
            for (uint32_t x = 0; x < samples.width; ++x) {
                uint8_t* out = const_cast<uint8_t*>(view.row(y)) + size_t{x} * step;
                // Garbage in the unused low bits must not matter.
                const uint16_t word = static_cast<uint16_t>(samples.at[size_t{y} * samples.width + x] << shift | (hash(x, y) & ((1u << shift) - 1)));
                bytes == 1 ? void(*out = static_cast<uint8_t>(word)) : void(std::memcpy(out, &word, 2));
            }
        }
    }
}

exactvq_frame Picture::frame(const exactvq_format& format) const {
    exactvq_frame frame{};
    frame.struct_size = sizeof frame;
    frame.format = format;
    for (uint32_t p = 0; p < planes_; ++p) frame.plane[p] = {views_[p].data, views_[p].stride, views_[p].step, views_[p].shift};
    return frame;
}

FramePair make_pair(const Picture& ref, const Picture& main, const Geometry& geometry) {
    FramePair pair;
    for (uint32_t p = 0; p < geometry.planes; ++p) pair.plane[p] = {ref.view(p), main.view(p)};
    return pair;
}

exactvq_format make_format(uint32_t width, uint32_t height, uint32_t depth, const char* chroma) {
    const std::string name = chroma;
    exactvq_format format{width, height, depth, 3, 0, 0};
    if (name == "400") format.planes = 1;
    else if (name == "420") format.log2_chroma_w = format.log2_chroma_h = 1;
    else if (name == "422") format.log2_chroma_w = 1;
    else if (name == "440") format.log2_chroma_h = 1;
    else if (name == "411") format.log2_chroma_w = 2;
    else if (name == "410") format.log2_chroma_w = format.log2_chroma_h = 2;
    else if (name != "444") throw std::invalid_argument(name);
    return format;
}

}  // namespace exactvq::test
