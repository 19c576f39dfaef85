// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "exactvq/exactvq.h"
#include "host/error.h"
#include "host/options.h"
#include "host/plan.h"
#include "tests/support/picture.h"
#include "tests/support/session.h"

extern "C" int exactvq_header_test(void);

namespace exactvq::test {
namespace {

// `count` pairs of growing difference. The pictures outlive the session.
struct Clip {
    std::vector<std::unique_ptr<Picture>> pictures;
    std::vector<std::pair<exactvq_frame, exactvq_frame>> pairs;
    int released = 0;

    Clip(const exactvq_format& format, int count, Content content = Content::kSmallNoise, Layout layout = Layout::kPlanar) {
        const Geometry geometry = make_geometry(format);
        for (int n = 0; n < count; ++n) {
            const ContentPair samples = make_content(content, geometry, static_cast<uint32_t>(n));
            for (const Samples* planes : {samples.ref, samples.main}) pictures.push_back(std::make_unique<Picture>(planes, geometry, layout));
            const auto frame = [&](const Picture& picture) {
                exactvq_frame f = picture.frame(format);
                f.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
                f.opaque = &released;
                return f;
            };
            pairs.emplace_back(frame(*pictures[pictures.size() - 2]), frame(*pictures.back()));
        }
    }
};

size_t find_output(exactvq_session* session, const std::string& name) {
    for (size_t i = 0; i < exactvq_output_count(session); ++i) {
        exactvq_output output{};
        output.struct_size = sizeof output;
        EXPECT_EQ(exactvq_get_output(session, i, &output), EXACTVQ_OK);
        if (name == output.name) return i;
    }
    ADD_FAILURE() << "no output " << name;
    return 0;
}

TEST(Session, ResultsNeedTheirSize) {
    SessionOptions options;
    options.format = make_format(16, 16, 8, "400");
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    exactvq_output output{};
    exactvq_pooled pooled{};
    EXPECT_EQ(exactvq_get_output(session, 0, &output), EXACTVQ_ERROR_ARGUMENT);
    EXPECT_EQ(exactvq_summary(session, 0, &pooled), EXACTVQ_ERROR_ARGUMENT);
    EXPECT_STREQ(exactvq_error(session), "the result's struct_size is not set");
    EXPECT_EQ(exactvq_get_output(session, 7, &output), EXACTVQ_ERROR_ARGUMENT);
    EXPECT_STREQ(exactvq_error(session), "there is no item 7, the session has 1");
    exactvq_close(session);
}

TEST(Header, IsC99) { EXPECT_TRUE(exactvq_header_test()); }

TEST(Session, DeliversEveryPairOnceInOrder) {
    const exactvq_format format = make_format(50, 40, 8, "420");
    for (uint32_t in_flight : {1u, 2u, 5u, 16u}) {
        Clip clip(format, 25);
        SessionOptions options;
        options.metrics = "psnr+float_psnr+psnr_hvs";
        options.format = format;
        options.threads = 3;
        options.frames_in_flight = in_flight;
        exactvq_session* session;
        ASSERT_EQ(open_session(options, &session), EXACTVQ_OK) << exactvq_error(session);
        std::vector<Scored> scored;
        ASSERT_EQ(run_session(session, clip.pairs, scored), EXACTVQ_OK) << exactvq_error(session);
        ASSERT_EQ(scored.size(), 25u);
        for (size_t i = 0; i < 25; ++i) {
            EXPECT_EQ(scored[i].index, i);
            for (const exactvq_score& score : scored[i].scores) EXPECT_TRUE(score.has_value);
        }
        EXPECT_EQ(clip.released, 50);
        exactvq_pooled pooled{};
        pooled.struct_size = sizeof pooled;
        ASSERT_EQ(exactvq_summary(session, 0, &pooled), EXACTVQ_OK);
        double sum = 0;
        for (const Scored& s : scored) sum += s.scores[0].value;
        EXPECT_EQ(pooled.mean, sum / 25);
        EXPECT_EQ(pooled.count, 25u);
        exactvq_close(session);
    }
}

TEST(Session, QueueIsBoundedAndCloseReleases) {
    const exactvq_format format = make_format(64, 64, 8, "400");
    Clip clip(format, 6);
    SessionOptions options;
    options.format = format;
    options.frames_in_flight = 3;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    exactvq_score score;
    EXPECT_EQ(exactvq_receive(session, &score, nullptr, 0), EXACTVQ_AGAIN);
    for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(exactvq_submit(session, &clip.pairs[i].first, &clip.pairs[i].second, i), EXACTVQ_OK);
    EXPECT_EQ(exactvq_submit(session, &clip.pairs[3].first, &clip.pairs[3].second, 3), EXACTVQ_AGAIN);
    EXPECT_EQ(exactvq_receive(session, &score, nullptr, 0), EXACTVQ_OK);
    EXPECT_EQ(clip.released, 2);
    EXPECT_EQ(exactvq_submit(session, &clip.pairs[3].first, &clip.pairs[3].second, 3), EXACTVQ_OK);
    exactvq_close(session);
    EXPECT_EQ(clip.released, 8);
}

TEST(Session, CallsOutOfOrderAreErrors) {
    const exactvq_format format = make_format(16, 16, 8, "400");
    Clip clip(format, 2);
    SessionOptions options;
    options.format = format;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_submit(session, &clip.pairs[0].first, &clip.pairs[0].second, 1), EXACTVQ_ERROR_STATE);
    EXPECT_STREQ(exactvq_error(session), "pair 1 was submitted, 0 is next");
    exactvq_score score;
    EXPECT_EQ(exactvq_receive(session, &score, nullptr, 0), EXACTVQ_ERROR_STATE);  // only close is left
    exactvq_close(session);
    EXPECT_EQ(clip.released, 0);

    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_flush(session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_receive(session, &score, nullptr, 0), EXACTVQ_END);
    EXPECT_EQ(exactvq_submit(session, &clip.pairs[0].first, &clip.pairs[0].second, 0), EXACTVQ_ERROR_STATE);
    exactvq_close(session);
}

// Every way to hand over a wrong frame is refused with a sentence that names the input.
TEST(Session, WrongFramesAreRefused) {
    const exactvq_format format = make_format(20, 18, 10, "420");
    Clip clip(format, 1);
    const struct {
        const char* says;
        void (*spoil)(exactvq_frame&);
    } cases[] = {
        {"struct_size", [](exactvq_frame& f) { f.struct_size = 0; }},
        {"the session was opened for 20x18, 10 bits", [](exactvq_frame& f) { f.format.width = 21; }},
        {"12 bits", [](exactvq_frame& f) { f.format.depth = 12; }},
        {"luma only", [](exactvq_frame& f) { f.format.planes = 1; }},
        {"chroma 1/1 wide", [](exactvq_frame& f) { f.format.log2_chroma_w = f.format.log2_chroma_h = 0; }},
        {"plane cr of the main frame has no data", [](exactvq_frame& f) { f.plane[2].data = nullptr; }},
        {"plane y of the main frame has a stride", [](exactvq_frame& f) { f.plane[0].stride = 39; }},
        {"plane cb of the main frame has a stride", [](exactvq_frame& f) { f.plane[1].stride = -19; }},
        {"plane cb of the main frame has a step", [](exactvq_frame& f) { f.plane[1].step = 3; }},
        {"plane y of the main frame is shifted", [](exactvq_frame& f) { f.plane[0].shift = 7; }},
        {"beyond all memory", [](exactvq_frame& f) { f.plane[0].stride = PTRDIFF_MIN; }},
        {"in CUDA memory, the session was opened for frames in host memory", [](exactvq_frame& f) { f.memory = EXACTVQ_MEMORY_CUDA; }},
        {"in memory of an unknown kind", [](exactvq_frame& f) { f.memory = 9; }},
    };
    for (const auto& c : cases) {
        SessionOptions options;
        options.format = format;
        exactvq_session* session;
        ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
        exactvq_frame main = clip.pairs[0].second;
        c.spoil(main);
        EXPECT_LE(exactvq_submit(session, &clip.pairs[0].first, &main, 0), EXACTVQ_ERROR_ARGUMENT) << c.says;
        EXPECT_NE(std::string(exactvq_error(session)).find(c.says), std::string::npos) << exactvq_error(session);
        EXPECT_NE(std::string(exactvq_error(session)).find("main"), std::string::npos) << exactvq_error(session);
        exactvq_close(session);
    }
    EXPECT_EQ(clip.released, 0);
}

TEST(Session, WrongConfigurationsAreRefused) {
    const struct {
        const char* says;
        void (*spoil)(exactvq_config&);
    } cases[] = {
        {"struct_size", [](exactvq_config& c) { c.struct_size = 8; }},
        {"no metric", [](exactvq_config& c) { c.metric_count = 0; }},
        {"0x16", [](exactvq_config& c) { c.format.width = 0; }},
        {"16x32769", [](exactvq_config& c) { c.format.height = 32769; }},
        {"7 bits", [](exactvq_config& c) { c.format.depth = 7; }},
        {"17 bits", [](exactvq_config& c) { c.format.depth = 17; }},
        {"2 planes", [](exactvq_config& c) { c.format.planes = 2; }},
        {"subsampled", [](exactvq_config& c) { c.format.planes = 3, c.format.log2_chroma_w = 3; }},
        {"no options", [](exactvq_config& c) {
             static const exactvq_metric broken{"psnr", nullptr, nullptr, 2};
             c.metrics = &broken;
         }},
        {"unknown memory kind", [](exactvq_config& c) { c.memory = 9; }},
        {"cannot read frames in CUDA memory", [](exactvq_config& c) {
             c.memory = EXACTVQ_MEMORY_CUDA;
             c.backend = EXACTVQ_BACKEND_CPU;
         }},
#ifndef EXACTVQ_CUDA
        {"no CUDA backend", [](exactvq_config& c) { c.backend = EXACTVQ_BACKEND_CUDA; }},
#endif
#ifndef EXACTVQ_HIP
        {"no HIP backend", [](exactvq_config& c) { c.backend = EXACTVQ_BACKEND_HIP; }},
#endif
        {"the HIP backend cannot read frames in CUDA memory", [](exactvq_config& c) {
             c.memory = EXACTVQ_MEMORY_CUDA;
             c.backend = EXACTVQ_BACKEND_HIP;
         }},
        {"unknown backend", [](exactvq_config& c) { c.backend = 7; }},
        {"threads", [](exactvq_config& c) { c.threads = 1025; }},
        {"frames_in_flight", [](exactvq_config& c) { c.frames_in_flight = 257; }},
    };
    for (const auto& c : cases) {
        exactvq_metric metric{"psnr", nullptr, nullptr, 0};
        exactvq_config config{};
        config.struct_size = sizeof config;
        config.metrics = &metric;
        config.metric_count = 1;
        config.format = make_format(16, 16, 8, "400");
        c.spoil(config);
        exactvq_session* session = nullptr;
        EXPECT_LE(exactvq_open(&config, &session), EXACTVQ_ERROR_ARGUMENT) << c.says;
        EXPECT_NE(std::string(exactvq_error(session)).find(c.says), std::string::npos) << exactvq_error(session);
        EXPECT_EQ(exactvq_output_count(session), 0u);
        exactvq_close(session);
    }
    exactvq_session* session = nullptr;
    EXPECT_EQ(exactvq_open(nullptr, &session), EXACTVQ_ERROR_ARGUMENT);
    exactvq_close(session);
    exactvq_close(nullptr);
    EXPECT_EQ(exactvq_submit(nullptr, nullptr, nullptr, 0), EXACTVQ_ERROR_ARGUMENT);
}

TEST(Session, PsnrHvsFlagsWhatItCannotMeasure) {
    const struct {
        exactvq_format format;
        const char* options;
        const char* has;     // outputs with values
        const char* misses;  // outputs without
        const char* why;
    } cases[] = {{make_format(32, 32, 14, "420"), "", "", "psnr_hvs_y psnr_hvs_cb psnr_hvs_cr psnr_hvs", "8 to 12 bits, these have 14"},
                 {make_format(14, 14, 8, "420"), "", "psnr_hvs_y", "psnr_hvs_cb psnr_hvs_cr psnr_hvs", " has 7x7"},
                 {make_format(15, 15, 8, "420"), "", "psnr_hvs_y psnr_hvs_cb psnr_hvs_cr psnr_hvs", "", ""},
                 {make_format(14, 14, 8, "420"), "enable_chroma=0", "psnr_hvs_y psnr_hvs", "", ""},
                 {make_format(7, 100, 8, "400"), "", "", "psnr_hvs_y psnr_hvs", "plane y has 7x100"},
                 {make_format(8, 8, 12, "400"), "", "psnr_hvs_y psnr_hvs", "", ""}};
    for (const auto& c : cases) {
        Clip clip(c.format, 2, Content::kNoise);
        SessionOptions options;
        options.metrics = "psnr_hvs";
        options.options = c.options;
        options.format = c.format;
        exactvq_session* session;
        ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
        std::vector<Scored> scored;
        ASSERT_EQ(run_session(session, clip.pairs, scored), EXACTVQ_OK);
        std::string has, misses;
        for (size_t i = 0; i < exactvq_output_count(session); ++i) {
            exactvq_output output{};
            output.struct_size = sizeof output;
            ASSERT_EQ(exactvq_get_output(session, i, &output), EXACTVQ_OK);
            std::string& list = output.unavailable ? misses : has;
            if (!list.empty()) list += " ";
            list += output.name;
            if (output.unavailable) {
                EXPECT_NE(std::string(output.unavailable).find(c.why), std::string::npos) << output.unavailable;
            }
            for (const Scored& s : scored) EXPECT_EQ(s.scores[i].has_value, output.unavailable == nullptr);
        }
        EXPECT_EQ(has, c.has);
        EXPECT_EQ(misses, c.misses);
        exactvq_close(session);
    }
}

TEST(Session, LumaOnlyPsnrHvsIsThePlanes) {
    const exactvq_format format = make_format(64, 48, 8, "420");
    Clip clip(format, 3);
    SessionOptions options;
    options.metrics = "psnr_hvs+psnr_hvs@luma";
    options.options = "luma.enable_chroma=0";
    options.format = format;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    std::vector<Scored> scored;
    ASSERT_EQ(run_session(session, clip.pairs, scored), EXACTVQ_OK);
    for (const Scored& s : scored) {
        EXPECT_EQ(s.scores[find_output(session, "luma.psnr_hvs")].value, s.scores[find_output(session, "psnr_hvs_y")].value);
        EXPECT_EQ(s.scores[find_output(session, "luma.psnr_hvs_y")].value, s.scores[find_output(session, "psnr_hvs_y")].value);
        EXPECT_NE(s.scores[find_output(session, "psnr_hvs")].value, s.scores[find_output(session, "psnr_hvs_y")].value);
    }
    exactvq_close(session);
}

TEST(Session, SubsampleScoresEveryNthPair) {
    const exactvq_format format = make_format(32, 32, 8, "420");
    Clip all_clip(format, 10), some_clip(format, 10);
    std::vector<Scored> all, some;
    double apsnr[2];
    uint64_t counts[2];
    for (int n = 0; n < 2; ++n) {
        SessionOptions options;
        options.metrics = "psnr";
        options.options = "enable_apsnr=1";
        options.format = format;
        options.subsample = n ? 3 : 1;
        exactvq_session* session;
        ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
        ASSERT_EQ(run_session(session, n ? some_clip.pairs : all_clip.pairs, n ? some : all), EXACTVQ_OK);
        exactvq_aggregate aggregate{};
        aggregate.struct_size = sizeof aggregate;
        ASSERT_EQ(exactvq_aggregate_count(session), 3u);
        ASSERT_EQ(exactvq_get_aggregate(session, 0, &aggregate), EXACTVQ_OK);
        EXPECT_STREQ(aggregate.name, "apsnr_y");
        EXPECT_STREQ(aggregate.metric, "psnr");
        apsnr[n] = aggregate.value;
        EXPECT_EQ(exactvq_get_aggregate(session, 3, &aggregate), EXACTVQ_ERROR_ARGUMENT);
        exactvq_pooled pooled{};
        pooled.struct_size = sizeof pooled;
        ASSERT_EQ(exactvq_summary(session, 0, &pooled), EXACTVQ_OK);
        counts[n] = pooled.count;
        exactvq_close(session);
    }
    ASSERT_EQ(some.size(), 10u);
    for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(some[i].scores[0].has_value, i % 3 == 0);
        if (i % 3 == 0) {
            EXPECT_EQ(some[i].scores[0].value, all[i].scores[0].value);
        }
    }
    EXPECT_EQ(apsnr[0], apsnr[1]);  // of every frame, as libvmaf
    EXPECT_EQ(counts[0], 10u);
    EXPECT_EQ(counts[1], 4u);
}

TEST(Session, LogFileHoldsWhatWasDelivered) {
    const std::string path = std::filesystem::temp_directory_path() / ("exactvq-session-test." + std::to_string(getpid()));
    const exactvq_format format = make_format(32, 32, 8, "400");
    Clip clip(format, 3, Content::kIdentical);
    SessionOptions options;
    options.metrics = "psnr+psnr_hvs";
    options.format = format;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_start_log(session, path.c_str(), EXACTVQ_LOG_FORMAT_JSON, 0), EXACTVQ_ERROR_STATE);
    exactvq_close(session);
    options.keep_scores = 1;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_finish_log(session), EXACTVQ_ERROR_STATE);
    EXPECT_EQ(exactvq_start_log(session, "/no/such/folder/x", EXACTVQ_LOG_FORMAT_JSON, 0), EXACTVQ_ERROR_IO);
    ASSERT_EQ(exactvq_start_log(session, path.c_str(), EXACTVQ_LOG_FORMAT_CSV, 0), EXACTVQ_OK);
    std::vector<Scored> scored;
    ASSERT_EQ(run_session(session, clip.pairs, scored), EXACTVQ_OK);
    ASSERT_EQ(exactvq_finish_log(session), EXACTVQ_OK) << exactvq_error(session);
    exactvq_close(session);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), "Frame,psnr_y,psnr_hvs_y,psnr_hvs,\n0,60.000000,inf,inf,\n1,60.000000,inf,inf,\n2,60.000000,inf,inf,\n");
    std::filesystem::remove(path);
}

TEST(Session, FailedSessionWritesNoLog) {
    const std::string path = std::filesystem::temp_directory_path() / ("exactvq-session-test." + std::to_string(getpid()));
    const exactvq_format format = make_format(16, 16, 8, "400");
    Clip clip(format, 1);
    SessionOptions options;
    options.format = format;
    options.keep_scores = 1;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    ASSERT_EQ(exactvq_start_log(session, path.c_str(), EXACTVQ_LOG_FORMAT_JSON, 0), EXACTVQ_OK);
    EXPECT_EQ(exactvq_submit(session, &clip.pairs[0].first, &clip.pairs[0].second, 9), EXACTVQ_ERROR_STATE);
    EXPECT_EQ(exactvq_finish_log(session), EXACTVQ_ERROR_STATE);
    exactvq_close(session);
    EXPECT_FALSE(std::filesystem::exists(path));

    // A log that fails is not written a second time.
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    ASSERT_EQ(exactvq_start_log(session, "/dev/full", EXACTVQ_LOG_FORMAT_JSON, 0), EXACTVQ_OK);
    EXPECT_EQ(exactvq_finish_log(session), EXACTVQ_ERROR_IO);
    EXPECT_EQ(exactvq_finish_log(session), EXACTVQ_ERROR_STATE);
    exactvq_close(session);
}

// The caller's rounding mode reaches no score.
TEST(Session, CallersRoundingModeDoesNotMatter) {
    const exactvq_format format = make_format(80, 60, 8, "420");
    std::vector<Scored> expected;
    for (int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        Clip clip(format, 3, Content::kTexture);
        SessionOptions options;
        options.metrics = "psnr+psnr_hvs";
        options.options = "min_sse=0.7";
        options.format = format;
        std::fesetround(mode);
        exactvq_session* session;
        std::vector<Scored> scored;
        const exactvq_status opened = open_session(options, &session);
        const exactvq_status ran = opened == EXACTVQ_OK ? run_session(session, clip.pairs, scored) : opened;
        exactvq_pooled pooled{};
        pooled.struct_size = sizeof pooled;
        exactvq_summary(session, 0, &pooled);
        EXPECT_EQ(std::fegetround(), mode);
        std::fesetround(FE_TONEAREST);
        exactvq_close(session);
        ASSERT_EQ(ran, EXACTVQ_OK);
        scored.push_back({99, {{pooled.mean, 1}, {pooled.harmonic_mean, 1}}});
        if (expected.empty()) expected = scored;
        for (size_t f = 0; f < scored.size(); ++f)
            for (size_t i = 0; i < scored[f].scores.size(); ++i) EXPECT_EQ(double_bits(scored[f].scores[i].value), double_bits(expected[f].scores[i].value)) << mode;
    }
}

TEST(Session, WarnsOnceOfZeroLowBits) {
    const exactvq_format format = make_format(24, 24, 16, "400");
    const Geometry geometry = make_geometry(format);
    ContentPair samples = make_content(Content::kNoise, geometry, 1);
    for (uint16_t& v : samples.main[0].at) v &= 0xfff0;
    const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
    std::vector<std::string> messages;
    SessionOptions options;
    options.format = format;
    options.log_opaque = &messages;
    options.log = [](void* opaque, exactvq_log_level level, const char* message) {
        EXPECT_EQ(level, EXACTVQ_LOG_WARNING);
        static_cast<std::vector<std::string>*>(opaque)->push_back(message);
    };
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    std::vector<Scored> scored;
    ASSERT_EQ(run_session(session, {3, {ref.frame(format), main.frame(format)}}, scored), EXACTVQ_OK);
    exactvq_close(session);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].find("main: the low 4 bits"), std::string::npos);
}

TEST(Session, LayoutsGiveTheSameScores) {
    for (uint32_t depth : {8u, 10u}) {
        const exactvq_format format = make_format(67, 45, depth, "420");
        std::vector<Scored> expected;
        for (int l = 0; l < static_cast<int>(Layout::kCount); ++l) {
            Clip clip(format, 2, Content::kTexture, static_cast<Layout>(l));
            SessionOptions options;
            options.metrics = "psnr+float_psnr+psnr_hvs";
            options.format = format;
            exactvq_session* session;
            ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
            std::vector<Scored> scored;
            ASSERT_EQ(run_session(session, clip.pairs, scored), EXACTVQ_OK) << exactvq_error(session);
            if (expected.empty()) expected = scored;
            for (size_t f = 0; f < scored.size(); ++f)
                for (size_t i = 0; i < scored[f].scores.size(); ++i)
                    EXPECT_EQ(double_bits(scored[f].scores[i].value), double_bits(expected[f].scores[i].value)) << name(static_cast<Layout>(l));
            exactvq_close(session);
        }
    }
}

// The plan of a session, without a backend.
Plan make_plan(const char* metrics, const char* text, const exactvq_format& format) {
    const MetricList list = parse_metrics(metrics, text);
    std::vector<std::vector<exactvq_option>> options(list.instances.size());
    std::vector<exactvq_metric> instances;
    for (size_t i = 0; i < list.instances.size(); ++i) {
        for (const auto& [key, value] : list.instances[i].options) options[i].push_back({key.c_str(), value.c_str()});
        instances.push_back({list.instances[i].name.c_str(), list.instances[i].label.c_str(), options[i].data(), options[i].size()});
    }
    return Plan(instances.data(), instances.size(), make_geometry(format));
}

// Metadata have names without options, libvmaf-shaped logs have libvmaf's. A label comes first in both.
TEST(Plan, NamesOfAdm) {
    Plan plan = make_plan("psnr+adm+adm@neg", "neg.adm_enhn_gain_limit=1.0", make_format(64, 48, 8, "400"));
    std::string names, libvmaf;
    for (const PlanOutput& output : plan.outputs()) {
        names += output.name + " ";
        libvmaf += output.libvmaf_name + " ";
    }
    EXPECT_EQ(names, "psnr_y adm2 aim adm3 adm_scale0 adm_scale1 adm_scale2 adm_scale3 "
                     "neg.adm2 neg.aim neg.adm3 neg.adm_scale0 neg.adm_scale1 neg.adm_scale2 neg.adm_scale3 ");
    EXPECT_EQ(libvmaf, "psnr_y integer_adm2 integer_aim integer_adm3 integer_adm_scale0 integer_adm_scale1 integer_adm_scale2 integer_adm_scale3 "
                       "neg.integer_adm2_egl_1 neg.integer_aim_egl_1 neg.integer_adm3_egl_1 neg.integer_adm_scale0_egl_1 neg.integer_adm_scale1_egl_1 "
                       "neg.integer_adm_scale2_egl_1 neg.integer_adm_scale3_egl_1 ");
}

// What only the conclusion depends on shares the measurement.
TEST(Plan, InstancesOfAdmShareAccumulators) {
    const exactvq_format format = make_format(64, 48, 8, "400");
    const auto count = [&](const char* options) { return make_plan("adm+psnr+adm@b", options, format).accumulators().size(); };
    EXPECT_EQ(count(""), 2u);
    EXPECT_EQ(count("b.debug=1|b.adm_dlm_weight=0.7|b.adm_min_val=0.5|b.adm_noise_weight=0|b.adm_p_norm=2|b.adm_csf_scale=0.5"), 2u);
    EXPECT_EQ(count("b.adm_norm_view_dist=1.5|b.adm_ref_display_height=2160"), 2u);
    for (const char* other : {"b.adm_enhn_gain_limit=1", "b.adm_csf_mode=2", "b.adm_norm_view_dist=4", "b.adm_skip_aim=1", "b.adm_skip_scale0=1"})
        EXPECT_EQ(count(other), 3u) << other;
    // Words of an instance are found behind those of others.
    Plan plan = make_plan("adm@a+psnr+adm@b", "b.adm_enhn_gain_limit=1|b.adm_noise_weight=0", format);
    std::vector<uint64_t> words(count_words(plan.accumulators()));
    ASSERT_EQ(words.size(), 2 * kAdmWords + 1);
    for (uint32_t s = 0; s < kAdmScales; ++s)
        for (uint32_t o = 0; o < kAdmOrientations; ++o) words[kAdmWords + 1 + adm_word(s, kAdmDenominator, o)] = 1000000000000;
    std::vector<double> scores(plan.outputs().size());
    plan.conclude(words.data(), scores.data());
    EXPECT_EQ(plan.outputs()[0].name, "a.adm2");
    EXPECT_EQ(scores[0], 1.0);  // nothing but noise
    EXPECT_EQ(plan.outputs()[8].name, "b.adm2");
    EXPECT_EQ(scores[8], 0.0);  // detail, all of it lost
}

TEST(Plan, AdmIsRefusedOrFlagged) {
    EXPECT_THROW(make_plan("psnr+adm", "adm_norm_view_dist=2", make_format(64, 48, 8, "420")), Error);
    EXPECT_THROW(make_plan("adm", "adm_csf_mode=3|adm_norm_view_dist=4", make_format(64, 48, 8, "420")), Error);
    // Pictures that are too small do not stop the other metrics.
    Plan plan = make_plan("psnr+adm", "", make_format(64, 16, 8, "420"));
    ASSERT_EQ(plan.outputs().size(), 10u);
    for (const PlanOutput& output : plan.outputs())
        EXPECT_EQ(output.unavailable, std::string(output.metric) == "adm" ? "adm needs pictures of at least 17x17 samples, these have 64x16" : "");
    EXPECT_EQ(plan.accumulators().size(), 3u);
}

}  // namespace
}  // namespace exactvq::test
