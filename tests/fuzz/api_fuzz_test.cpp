// SPDX-License-Identifier: BSD-2-Clause
//
// Random calls of the C API with random options and frame descriptions, right and wrong ones. Nothing may crash, hang or read outside (run it under
// AddressSanitizer), every failure has a sentence, frames are released exactly if they were taken. EXACTVQ_FUZZ_RUNS, EXACTVQ_FUZZ_FIRST (seed of
// the first run), EXACTVQ_FUZZ_SEED (only this one).
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "exactvq/exactvq.h"

namespace {

using Random = std::mt19937;

uint32_t number(const char* variable, uint32_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

template <class T, size_t n>
T pick(Random& random, const T (&list)[n]) {
    return list[random() % n];
}

std::string random_text(Random& random) {
    static const char* const pieces[] = {"psnr",       "float_psnr", "psnr_hvs", "+",    "@",   "a",   "luma",          "|",   "=",    ".",
                                         "enable_mse", "min_sse",    "uncapped", "1",    "0",   "f64", "psnr_hvs_mask", "1e9", "-1",   "nan",
                                         "",           "\xff\xfe",   " ",        "\n",   "%s%n", "enable_chroma", "enable_apsnr", "psnr_hvs@f", "0x10", "1e-400",
                                         "adm", "adm@neg", "adm_csf_mode", "adm_enhn_gain_limit", "adm_norm_view_dist", "1.2", "2.7", "debug", "neg",
                                         "vif", "motion", "vmaf", "model", "+phone", "motion_moving_average", "vif_skip_scale0", EXACTVQ_TEST_DATA "/models/small.json"};
    std::string text;
    for (uint32_t n = random() % 8; n > 0; --n) text += pick(random, pieces);
    return text;
}

exactvq_metric_list random_metrics(Random& random) {
    static const char* const good[][2] = {{"psnr", ""}, {"psnr+float_psnr+psnr_hvs", "enable_mse=1|enable_apsnr=1"}, {"psnr_hvs+psnr_hvs@x", "x.psnr_hvs_mask=f64|x.enable_chroma=0"},
                                          {"float_psnr", "uncapped=1"}, {"psnr", "min_sse=0.5|reduced_hbd_peak=1"}, {"adm", ""}, {"adm+adm@neg", "neg.adm_enhn_gain_limit=1|adm.debug=1"},
                                          {"adm+psnr", "adm_csf_mode=1|adm_skip_aim=1"}, {"adm", "adm_enhn_gain_limit=1.2|adm_skip_scale0=1|adm_p_norm=2|adm_csf_mode=2"},
                                          {"vif+motion", ""}, {"motion+motion@five", "five.motion_five_frame_window=1|five.motion_moving_average=1"}, {"vif", "vif_enhn_gain_limit=1|debug=1"},
                                          {"vmaf", "model=" EXACTVQ_TEST_DATA "/models/small.json"}, {"vmaf@hd+adm", "hd.model=" EXACTVQ_TEST_DATA "/models/small_collection.json"}};
    exactvq_metric_list list;
    char error[64];
    if (random() % 3) {
        const auto& choice = good[random() % std::size(good)];
        EXPECT_EQ(exactvq_parse_metrics(choice[0], choice[1], nullptr, &list, error, sizeof error), EXACTVQ_OK);
    } else {
        const exactvq_status status = exactvq_parse_metrics(random_text(random).c_str(), random_text(random).c_str(), random() % 2 ? random_text(random).c_str() : nullptr, &list, error, sizeof error);
        EXPECT_EQ(status == EXACTVQ_OK, list.count > 0);
        EXPECT_EQ(status == EXACTVQ_OK, error[0] == 0);
    }
    return list;
}

// A frame in memory that ends with its last sample, with sometimes one member spoiled.
struct Frame {
    std::unique_ptr<uint8_t[]> memory[3];
    exactvq_frame frame{};

    Frame(Random& random, const exactvq_format& format, int* released) {
        frame.struct_size = sizeof frame;
        frame.format = format;
        const uint32_t bytes = format.depth > 8 ? 2 : 1, step = random() % 4 ? bytes : 2 * bytes;
        for (uint32_t p = 0; p < 3 && p < format.planes; ++p) {
            const uint32_t w = p ? (format.width + (1u << format.log2_chroma_w) - 1) >> format.log2_chroma_w : format.width;
            const uint32_t h = p ? (format.height + (1u << format.log2_chroma_h) - 1) >> format.log2_chroma_h : format.height;
            const size_t stride = size_t{w} * step + random() % 20, size = (h - 1) * stride + (size_t{w} - 1) * step + bytes;
            memory[p].reset(new uint8_t[size]);
            for (size_t i = 0; i < size; ++i) memory[p][i] = static_cast<uint8_t>(random());
            frame.plane[p] = {memory[p].get(), static_cast<ptrdiff_t>(stride), step, bytes > 1 ? 16 - format.depth : 0};
        }
        frame.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
        frame.opaque = released;
        if (random() % 6) return;
        exactvq_plane& plane = frame.plane[random() % 3];
        switch (random() % 8) {
        case 0: plane.data = nullptr; break;
        // Less than a row is refused. (A plane of one column may well have a stride of one byte: that frame would lie about its memory.)
        case 1: plane.stride = format.width > 8 ? static_cast<ptrdiff_t>(random() % 3) - 1 : 0; break;
        case 2: plane.step = 3 + 2 * (random() % 1000); break;
        case 3: plane.shift = 1 + random() % 100; break;
        case 4: frame.format.width += random() % 3 - 1; break;
        case 5: frame.format.planes = random() % 5; break;
        case 6: frame.memory = random(); break;
        default: frame.struct_size = random() % sizeof frame; break;
        }
    }
};

void run(uint32_t seed) {
    SCOPED_TRACE("EXACTVQ_FUZZ_SEED=" + std::to_string(seed));
    Random random(seed);
    static const uint32_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 120};
    exactvq_metric_list list = random_metrics(random);
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = list.metrics;
    config.metric_count = list.count;
    config.format = {pick(random, sizes), pick(random, sizes), 8 + static_cast<uint32_t>(random() % 9), random() % 4 ? 3u : 1u, static_cast<uint32_t>(random() % 3), static_cast<uint32_t>(random() % 3)};
    config.threads = 1 + random() % 3;
    config.frames_in_flight = random() % 5;
    config.subsample = random() % 4;
    config.keep_scores = random() % 2;
    config.cpu_mask = random() % 2 ? EXACTVQ_CPU_LIMIT | (random() & 0xf) : random() & 0xf;
    if (random() % 8 == 0) {
        uint32_t* const members[] = {&config.format.width, &config.format.height, &config.format.depth, &config.format.planes, &config.threads, &config.frames_in_flight};
        *pick(random, members) = random() % 2 ? 0 : random();
        config.format.width %= 5000, config.format.height %= 5000;
        config.threads %= 1030;
        if (config.threads > 64 && config.threads <= 1024) config.threads = 64;
    }
    exactvq_session* session = nullptr;
    exactvq_status status = exactvq_open(&config, &session);
    exactvq_free_metrics(&list);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(status == EXACTVQ_OK, exactvq_error(session)[0] == 0);
    int released = 0, taken = 0;
    std::vector<std::unique_ptr<Frame>> frames;
    if (status == EXACTVQ_OK) {
        std::vector<exactvq_score> scores(exactvq_output_count(session));
        uint64_t next = 0;
        for (int call = 0; call < 30; ++call) {
            switch (random() % 8) {
            case 0: case 1: case 2: {
                frames.push_back(std::make_unique<Frame>(random, config.format, &released));
                frames.push_back(std::make_unique<Frame>(random, config.format, &released));
                status = exactvq_submit(session, &frames[frames.size() - 2]->frame, &frames.back()->frame, random() % 20 ? next : random());
                if (status == EXACTVQ_OK) ++next, taken += 2;
                break;
            }
            case 3: case 4: status = exactvq_receive(session, random() % 20 ? scores.data() : nullptr, nullptr, random() % 2); break;
            case 5: {
                exactvq_pooled pooled{};
                pooled.struct_size = random() % 10 ? sizeof pooled : 0;
                status = exactvq_summary(session, random() % (scores.size() + 1), &pooled);
                break;
            }
            case 6: {
                exactvq_aggregate aggregate{sizeof aggregate, nullptr, nullptr, nullptr, 0};
                status = exactvq_get_aggregate(session, random() % 4, &aggregate);
                break;
            }
            default: status = random() % 4 ? exactvq_start_log(session, "/dev/null", random() % 5, random() % 5) : exactvq_finish_log(session); break;
            }
            if (status <= EXACTVQ_ERROR_ARGUMENT) {
                EXPECT_NE(exactvq_error(session)[0], 0) << "status " << status;
            }
            if (random() % 25 == 0) exactvq_flush(session);
        }
    }
    exactvq_close(session);
    EXPECT_EQ(released, taken);
}

TEST(Fuzz, CApi) {
    if (const char* seed = std::getenv("EXACTVQ_FUZZ_SEED")) return run(static_cast<uint32_t>(std::strtoul(seed, nullptr, 10)));
    const uint32_t runs = number("EXACTVQ_FUZZ_RUNS", 4000), first = number("EXACTVQ_FUZZ_FIRST", 1);
    for (uint32_t n = 0; n < runs && !testing::Test::HasFailure(); ++n) run(first + n);
    std::printf("%u runs from seed %u\n", runs, first);
}

}  // namespace
