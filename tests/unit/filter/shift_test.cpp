// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

extern "C" {
#include "filter/exactvq_shift.h"
}

namespace {

using Picture = std::function<uint32_t(int frame, uint32_t x, uint32_t y)>;  // of 8 bits

uint32_t noise(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t h = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;
    h ^= h >> 15;
    h *= 2246822519u;
    return (h ^ h >> 13) & 0xff;
}

// Blobs of 16 samples that move by four a frame.
uint32_t moving(int frame, uint32_t x, uint32_t y) { return noise((x + 4000 - 4 * static_cast<uint32_t>(frame)) / 16, y / 16, 7); }
uint32_t still(int, uint32_t x, uint32_t y) { return noise(x / 16, y / 16, 7); }

struct Video {
    Picture picture;
    uint32_t width = 160, height = 96, depth = 8, step = 0, shift = 0;
    std::vector<uint8_t> bytes = {};

    exactvq_frame frame(int n) {
        const uint32_t word = depth > 8 ? 2 : 1, used = step ? step : word;
        bytes.assign(size_t{height} * width * used, 0xa5);
        for (uint32_t y = 0; y < height; ++y)
            for (uint32_t x = 0; x < width; ++x) {
                const uint32_t value = picture(n, x, y) << (depth - 8) << shift;
                uint8_t* to = &bytes[(size_t{y} * width + x) * used];
                to[0] = static_cast<uint8_t>(value);
                if (word == 2) to[1] = static_cast<uint8_t>(value >> 8);
            }
        exactvq_frame f{};
        f.struct_size = sizeof f;
        f.format = {width, height, depth, 1, 0, 0};
        f.plane[0] = {bytes.data(), static_cast<ptrdiff_t>(width * used), step, shift};
        return f;
    }
};

struct Verdict {
    int shift;         // 0: none
    int64_t since, at; // pair it was known at, -1: at the end
};

// Main frame n is the reference's frame n + by(n), coarsely quantised as an encoder would.
Verdict verdict(Video reference, const std::function<int(int)>& by, int pairs, bool rare = false, int coarse = 8) {
    Video main = reference;
    const Picture picture = reference.picture;
    main.picture = [&](int n, uint32_t x, uint32_t y) { return picture(n + by(n), x, y) / coarse * coarse; };
    ExactVQShift s{};
    s.rare = rare;
    for (int n = 0; n < pairs; ++n) {
        int need_main;
        if (!ff_exactvq_shift_needs(&s, n, &need_main)) continue;
        const exactvq_frame r = reference.frame(n), m = main.frame(n);
        if (ff_exactvq_shift_add(&s, &r, need_main ? &m : nullptr)) return {s.candidate, s.since, n};
    }
    return ff_exactvq_shift_end(&s) ? Verdict{s.candidate, s.since, -1} : Verdict{0, 0, 0};
}

TEST(Shift, EveryDistance) {
    for (const auto& [width, height, depth, step, shift] : std::vector<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>>{
             {160, 96, 8, 0, 0}, {640, 360, 8, 2, 0}, {160, 96, 10, 2, 6}, {161, 97, 16, 4, 0}, {16, 16, 8, 0, 0}, {33, 7, 12, 0, 0}}) {
        Video video{moving, width, height, depth, step, shift, {}};
        for (int by = -EXACTVQ_SHIFT_RADIUS; by <= EXACTVQ_SHIFT_RADIUS; ++by) {
            const Verdict v = verdict(video, [by](int) { return by; }, 100);
            EXPECT_EQ(v.shift, by) << width << "x" << height << ", " << depth << " bits";
            if (by != 0) {
                EXPECT_EQ(v.since, 2);
                EXPECT_EQ(v.at, 20);
            }
        }
    }
}

TEST(Shift, FromTheMiddleOn) {
    const Verdict v = verdict({moving}, [](int n) { return n < 50 ? 0 : 1; }, 200);
    EXPECT_EQ(v.shift, 1);
    EXPECT_EQ(v.since, 50);
    EXPECT_EQ(v.at, 68);
}

TEST(Shift, ShortVideos) {
    EXPECT_EQ(verdict({moving}, [](int) { return 1; }, 10).shift, 1);  // one window
    EXPECT_EQ(verdict({moving}, [](int) { return 1; }, 10).at, -1);
    EXPECT_EQ(verdict({moving}, [](int) { return 1; }, 4).shift, 0);   // none
    EXPECT_EQ(verdict({moving}, [](int n) { return n < 10; }, 30).shift, 0);  // one for, one against
    EXPECT_EQ(verdict({moving}, [](int) { return -1; }, 1000, true).at, 132);
    EXPECT_EQ(verdict({moving}, [](int n) { return n < 200 ? 0 : 1; }, 1000, true).shift, 0);  // two windows only
}

// No hint without evidence.
TEST(Shift, Quiet) {
    const auto one = [](int) { return 1; };
    EXPECT_EQ(verdict({still}, one, 200).shift, 0);
    EXPECT_EQ(verdict({[](int, uint32_t, uint32_t) { return 0u; }}, one, 200).shift, 0);
    EXPECT_EQ(verdict({moving}, [](int) { return 0; }, 200, false, 64).shift, 0);                              // a bad encode in step
    EXPECT_EQ(verdict({[](int n, uint32_t x, uint32_t y) { return noise(x, y, n); }}, [](int n) { return n * n; }, 200).shift, 0);  // noise against noise
    EXPECT_EQ(verdict({[](int n, uint32_t, uint32_t) { return n % 2 ? 255u : 0u; }}, [](int) { return 0; }, 200).shift, 0);         // flashes in step
    EXPECT_EQ(verdict({[](int n, uint32_t x, uint32_t y) { return moving(n / 3 * 3, x, y); }}, [](int) { return 0; }, 200).shift, 0);  // repeated frames
    EXPECT_EQ(verdict({moving}, [](int n) { return n * 7 % 5 - 2; }, 200).shift, 0);  // shuffled
}

}  // namespace
