// SPDX-License-Identifier: BSD-2-Clause
//
// Test pictures: contents weighted to the extremes, in every memory layout the library reads, in memory that ends where the picture ends (so that
// AddressSanitizer sees every read outside).
#ifndef EXACTVQ_TESTS_SUPPORT_PICTURE_H
#define EXACTVQ_TESTS_SUPPORT_PICTURE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exactvq/exactvq.h"
#include "host/backend.h"
#include "host/geometry.h"

namespace exactvq::test {

uint32_t hash(uint32_t a, uint32_t b);

enum class Content {
    kBlack,         // all 0 against all 0
    kBlackMax,      // all 0 against the largest sample
    kMaxBlack,
    kIdentical,     // the same noise
    kNoise,         // unrelated full-range noise
    kBinary,        // unrelated noise of 0 and the largest sample
    kStripes,       // 1-sample stripes against their inverse
    kFlatPlusOne,   // mid grey, one step apart
    kSmallNoise,    // noise of a few steps on a ramp: ties and masking
    kTexture,       // smooth picture against its quantised version
    kSparse,        // one sample in 50 differs, by full swing
    kSwingAndOdd,   // 60 % of the samples at full swing, the rest a few odd steps apart: long sums round
    kContrast,      // textured picture against the same with more contrast: enhancement
    kDiagonals,     // full-swing diagonal lines, 1 to 4 samples wide, against noise on them
    kImpulses,      // mid grey with single samples of full swing on either side
    kCount
};
const char* name(Content content);

enum class Layout {
    kPlanar,
    kPadded,      // rows with garbage behind them
    kBottomUp,    // negative stride
    kUnaligned,   // rows begin at odd addresses
    kSemiPlanar,  // Cb and Cr interleaved (NV12)
    kHighBits,    // value at the top of the word (P010 without the interleaving)
    kP010,        // both
    kNv21,        // semi-planar, Cr first
    kEverySecond, // every plane with a foreign sample between two of its own
    kCount
};
const char* name(Layout layout);

// Values of one plane, rows without padding.
struct Samples {
    uint32_t width = 0, height = 0;
    std::vector<uint16_t> at;
};

struct ContentPair {
    Samples ref[3], main[3];
};

ContentPair make_content(Content content, const Geometry& geometry, uint32_t seed);

// A picture in memory.
class Picture {
public:
    Picture(const Samples* planes, const Geometry& geometry, Layout layout);

    PlaneView view(uint32_t plane) const { return views_[plane]; }
    exactvq_frame frame(const exactvq_format& format) const;

private:
    std::vector<std::unique_ptr<uint8_t[]>> memory_;  // each block ends with the last sample
    PlaneView views_[3];
    uint32_t planes_;
};

FramePair make_pair(const Picture& ref, const Picture& main, const Geometry& geometry);

exactvq_format make_format(uint32_t width, uint32_t height, uint32_t depth, const char* chroma);  // "400", "420", "422", "444", "440", "411", "410"

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_SUPPORT_PICTURE_H
