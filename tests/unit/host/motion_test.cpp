// SPDX-License-Identifier: BSD-2-Clause
//
// motion and vmaf in sessions: frames that wait for later ones, that are held for them, that subsampling leaves out; models beside metrics.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "exactvq/exactvq.h"
#include "host/metric.h"
#include "kernels/cpu/reference.h"
#include "tests/support/picture.h"
#include "tests/support/session.h"

namespace exactvq::test {
namespace {

constexpr uint32_t kWidth = 40, kHeight = 30, kFrames = 12;
const exactvq_format kFormat{kWidth, kHeight, 8, 1, 0, 0};

// Gray frame n of a sequence whose motion differs from frame to frame.
std::vector<uint8_t> picture(uint32_t n, bool main) {
    std::vector<uint8_t> samples(kWidth * kHeight);
    uint32_t random = n * n + 7;
    for (uint32_t i = 0; i < samples.size(); ++i) {
        random = random * 1664525 + 1013904223;
        samples[i] = static_cast<uint8_t>((i % kWidth + n * n) * 5 + (random >> 28) * (1 + n % 3) + (main ? i % 3 : 0));
    }
    return samples;
}

// Frames in buffers of their own that are spoiled as soon as the library lets go of them.
class Sequence {
public:
    explicit Sequence(uint32_t frames) {
        for (uint32_t n = 0; n < frames; ++n)
            for (bool main : {false, true}) buffers_.push_back(std::make_unique<std::vector<uint8_t>>(picture(n, main)));
    }
    exactvq_frame frame(uint32_t n, bool main) {
        std::vector<uint8_t>& samples = *buffers_[2 * n + main];
        exactvq_frame frame{};
        frame.struct_size = sizeof frame;
        frame.format = kFormat;
        frame.plane[0] = {samples.data(), kWidth, 0, 0};
        frame.opaque = &samples;
        frame.release = [](void* opaque) {
            auto& spoiled = *static_cast<std::vector<uint8_t>*>(opaque);
            std::fill(spoiled.begin(), spoiled.end(), uint8_t{0xee});
        };
        return frame;
    }

private:
    std::vector<std::unique_ptr<std::vector<uint8_t>>> buffers_;
};

std::vector<std::string> names_of(exactvq_session* session) {
    std::vector<std::string> names;
    for (size_t i = 0; i < exactvq_output_count(session); ++i) {
        exactvq_output output{};
        output.struct_size = sizeof output;
        EXPECT_EQ(exactvq_get_output(session, i, &output), EXACTVQ_OK);
        names.push_back(output.name);
    }
    return names;
}

std::vector<Scored> run(SessionOptions options, uint32_t frames, std::vector<std::string>* names = nullptr) {
    options.format = kFormat;
    exactvq_session* session;
    EXPECT_EQ(open_session(options, &session), EXACTVQ_OK) << exactvq_error(session);
    if (names) *names = names_of(session);
    Sequence sequence(frames);
    std::vector<std::pair<exactvq_frame, exactvq_frame>> pairs;
    for (uint32_t n = 0; n < frames; ++n) pairs.emplace_back(sequence.frame(n, false), sequence.frame(n, true));
    std::vector<Scored> scored;
    EXPECT_EQ(run_session(session, pairs, scored), EXACTVQ_OK) << exactvq_error(session);
    exactvq_close(session);
    return scored;
}

// What the differences of whole frames are, by the reference loops.
double sad(uint32_t n, uint32_t distance) {
    if (n < distance) return 0.0;
    const std::vector<uint8_t> now = picture(n, false), before = picture(n - distance, false);
    const auto view = [](const std::vector<uint8_t>& samples) {
        PlaneView view;
        view.data = samples.data();
        view.stride = view.width = kWidth;
        view.height = kHeight;
        return view;
    };
    return static_cast<double>(reference::motion(view(now), view(before))) / 256.0 / static_cast<double>(kWidth * kHeight);
}

TEST(Motion, LooksAtItsNeighbours) {
    for (uint32_t distance : {1u, 2u}) {
        SessionOptions options;
        options.metrics = "motion";
        options.options = distance == 2 ? "motion_five_frame_window=1" : "";
        for (uint32_t frames : {1u, 2u, 3u, 4u, kFrames}) {
            for (uint32_t in_flight : {1u, 2u, 7u}) {
                options.frames_in_flight = in_flight;
                options.threads = in_flight;
                const std::vector<Scored> scored = run(options, frames);
                ASSERT_EQ(scored.size(), frames);
                for (uint32_t n = 0; n < frames; ++n) {
                    const double low = sad(distance == 1 ? n : n - 1, distance), high = sad(n + 1, distance);
                    const double motion2 = n < distance ? 0.0 : n + 1 == frames ? sad(n, distance) : distance == 2 && n == 2 ? high : std::min(low, high);
                    EXPECT_EQ(scored[n].scores[0].value, sad(n, distance)) << "frame " << n << " of " << frames << ", distance " << distance;
                    EXPECT_EQ(scored[n].scores[1].value, motion2) << "frame " << n << " of " << frames << ", distance " << distance;
                    EXPECT_EQ(scored[n].scores[2].value, n >= distance ? motion2 : frames > distance ? sad(distance, distance) : 0.0) << n;
                }
            }
        }
    }
}

TEST(Motion, WaitsForItsSuccessors) {
    for (uint32_t successors : {1u, 2u}) {
        SessionOptions options;
        options.metrics = "psnr+motion";
        options.options = successors == 2 ? "motion_five_frame_window=1" : "";
        options.format = kFormat;
        options.frames_in_flight = 1;
        exactvq_session* session;
        ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
        Sequence sequence(8);
        exactvq_score scores[4];
        uint64_t index = 99;
        for (uint32_t n = 0; n <= successors; ++n) {
            EXPECT_EQ(exactvq_receive(session, scores, &index, 0), EXACTVQ_AGAIN) << n;
            const exactvq_frame reference = sequence.frame(n, false), main = sequence.frame(n, true);
            ASSERT_EQ(exactvq_submit(session, &reference, &main, n), EXACTVQ_OK) << n;
        }
        const exactvq_frame reference = sequence.frame(successors + 1, false), main = sequence.frame(successors + 1, true);
        EXPECT_EQ(exactvq_submit(session, &reference, &main, successors + 1), EXACTVQ_AGAIN);
        ASSERT_EQ(exactvq_receive(session, scores, &index, 0), EXACTVQ_OK);
        EXPECT_EQ(index, 0u);
        EXPECT_EQ(exactvq_receive(session, scores, &index, 0), EXACTVQ_AGAIN);
        ASSERT_EQ(exactvq_flush(session), EXACTVQ_OK);
        for (uint32_t n = 1; n <= successors; ++n) {
            ASSERT_EQ(exactvq_receive(session, scores, &index, 0), EXACTVQ_OK);
            EXPECT_EQ(index, n);
        }
        EXPECT_EQ(exactvq_receive(session, scores, &index, 0), EXACTVQ_END);
        exactvq_close(session);
    }
}

TEST(Motion, IsNotSubsampled) {
    SessionOptions options;
    options.metrics = "vif+motion+motion@five";
    options.options = "five.motion_five_frame_window=1|five.motion_moving_average=1";
    const std::vector<Scored> whole = run(options, kFrames);
    for (uint32_t subsample : {2u, 3u, 5u, 100u}) {
        options.subsample = subsample;
        const std::vector<Scored> part = run(options, kFrames);
        ASSERT_EQ(part.size(), kFrames);
        for (uint32_t n = 0; n < kFrames; ++n)
            for (size_t i = 0; i < part[n].scores.size(); ++i) {
                EXPECT_EQ(part[n].scores[i].has_value, n % subsample == 0);
                if (n % subsample != 0) continue;
                EXPECT_EQ(part[n].scores[i].value, whole[n].scores[i].value) << "frame " << n << ", score " << i << ", every " << subsample;
            }
    }
}

// Every cut gives what sessions of their own give to its parts, and nothing before it waits.
TEST(Motion, CutsSequences) {
    SessionOptions options;
    options.metrics = "motion+motion@five+psnr";
    options.options = "five.motion_five_frame_window=1|five.motion_moving_average=1";
    options.format = kFormat;
    options.frames_in_flight = 3;
    for (const std::vector<uint32_t>& cuts : std::vector<std::vector<uint32_t>>{{}, {1}, {5}, {1, 2, 3}, {4, 6, 11}, {2, 4, 6, 8, 10}}) {
        for (bool late : {false, true}) {  // receive as soon as possible, or when the queue is full
            exactvq_session* session;
            ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
            EXPECT_EQ(exactvq_cut(session), EXACTVQ_OK);  // before the first pair: nothing
            std::vector<std::vector<double>> got;
            exactvq_score scores[8];
            const auto receive = [&] {
                const exactvq_status status = exactvq_receive(session, scores, nullptr, 0);
                if (status == EXACTVQ_OK) {
                    got.emplace_back();
                    for (size_t i = 0; i < exactvq_output_count(session); ++i) got.back().push_back(scores[i].value);
                }
                return status == EXACTVQ_OK;
            };
            Sequence sequence(kFrames);
            for (uint32_t n = 0; n < kFrames; ++n) {
                if (std::find(cuts.begin(), cuts.end(), n) != cuts.end()) {
                    ASSERT_EQ(exactvq_cut(session), EXACTVQ_OK);
                    if (!late) {
                        while (receive()) {
                        }
                        ASSERT_EQ(got.size(), n) << "a pair waits beyond the cut";
                    }
                }
                const exactvq_frame reference = sequence.frame(n, false), main = sequence.frame(n, true);
                while (exactvq_submit(session, &reference, &main, n) == EXACTVQ_AGAIN) ASSERT_TRUE(receive());
                if (!late) receive();
            }
            exactvq_flush(session);
            while (receive()) {
            }
            exactvq_close(session);

            std::vector<std::vector<double>> want;
            std::vector<uint32_t> bounds = cuts;
            bounds.insert(bounds.begin(), 0);
            bounds.push_back(kFrames);
            for (size_t part = 0; part + 1 < bounds.size(); ++part) {
                Sequence whole(kFrames);
                std::vector<std::pair<exactvq_frame, exactvq_frame>> pairs;
                for (uint32_t n = bounds[part]; n < bounds[part + 1]; ++n) pairs.emplace_back(whole.frame(n, false), whole.frame(n, true));
                ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
                std::vector<Scored> scored;
                ASSERT_EQ(run_session(session, pairs, scored), EXACTVQ_OK);
                exactvq_close(session);
                for (const Scored& frame : scored) {
                    want.emplace_back();
                    for (const exactvq_score& score : frame.scores) want.back().push_back(score.value);
                }
            }
            EXPECT_EQ(got, want) << cuts.size() << " cuts, " << late;
        }
    }
}

// A session that is closed early lets go of everything once.
TEST(Motion, ReleasesFramesOnce) {
    SessionOptions options;
    options.metrics = "motion";
    options.format = kFormat;
    static int released;
    released = 0;
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK);
    Sequence sequence(4);
    for (uint32_t n = 0; n < 4; ++n) {
        exactvq_frame frames[2] = {sequence.frame(n, false), sequence.frame(n, true)};
        for (exactvq_frame& frame : frames) frame.release = [](void*) { ++released; };
        ASSERT_EQ(exactvq_submit(session, &frames[0], &frames[1], n), EXACTVQ_OK);
    }
    exactvq_score scores[3];
    ASSERT_EQ(exactvq_receive(session, scores, nullptr, 0), EXACTVQ_OK);
    EXPECT_EQ(released, 2);
    exactvq_close(session);
    EXPECT_EQ(released, 8);
}

// ---- models ----

const std::string kSmall = std::string(EXACTVQ_TEST_DATA) + "/models/small.json";

TEST(Vmaf, BringsWhatItNeeds) {
    SessionOptions options;
    options.metrics = "";
    options.models = kSmall;
    std::vector<std::string> names;
    const std::vector<Scored> scored = run(options, 5, &names);
    EXPECT_EQ(names, (std::vector<std::string>{"adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3", "motion_sad", "motion2", "motion3", "vif_scale0",
                                               "vif_scale1", "vif_scale2", "vif_scale3", "vmaf"}));
    for (const Scored& frame : scored) EXPECT_TRUE(frame.scores.back().has_value);

    // A second one of other options has everything in common; the scores of each are those of a session of its own.
    options.models = kSmall + "|" + kSmall + "@raw+noclip";
    const std::vector<Scored> both = run(options, 5, &names);
    EXPECT_EQ(names.size(), 16u);
    EXPECT_EQ(names[15], "raw");
    for (size_t n = 0; n < both.size(); ++n) EXPECT_EQ(both[n].scores[14].value, scored[n].scores[14].value);
}

TEST(Vmaf, SharesWithWhatWasAskedFor) {
    SessionOptions options;
    options.metrics = "vif+adm";
    options.options = "vif.debug=1|adm.adm_enhn_gain_limit=1.2|adm.adm_csf_mode=2";
    options.models = kSmall;
    std::vector<std::string> names;
    run(options, 2, &names);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4u + 11 + 7 + 3 + 1) << "vif with debug and adm of these options are the model's too";
    options.options = "";
    run(options, 2, &names);
    EXPECT_NE(std::find(names.begin(), names.end(), "vmaf.adm3"), names.end()) << "adm of other options is another one";
    EXPECT_EQ(std::find(names.begin(), names.end(), "vmaf.vif_scale0"), names.end());
}

TEST(Vmaf, TakesOptionsOfItsMetrics) {
    SessionOptions options;
    options.metrics = "vmaf+adm";
    options.options = "vmaf.model=" + kSmall + "|vmaf.features=adm.adm_enhn_gain_limit=1.5+vif.vif_skip_scale0=1|adm.adm_enhn_gain_limit=1.5|adm.adm_csf_mode=2";
    std::vector<std::string> names;
    run(options, 2, &names);
    EXPECT_EQ(std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.find("adm3") != std::string::npos; }), 1) << "adm is the same then";
    options.format = kFormat;
    for (const auto& [features, sentence] : {std::pair<std::string, std::string>{"adm", "vmaf.features has 'adm': it takes metric.option=value, several separated by +"},
                                             {"psnr.x=1", "psnr"}, {"adm.nope=1", "adm has no option 'nope'"}, {"adm.adm_csf_mode=9", "adm.adm_csf_mode cannot be '9'"}}) {
        options.options = "vmaf.model=" + kSmall + "|vmaf.features=" + features;
        exactvq_session* session;
        EXPECT_NE(open_session(options, &session), EXACTVQ_OK) << features;
        EXPECT_NE(std::string(exactvq_error(session)).find(sentence), std::string::npos) << exactvq_error(session);
        exactvq_close(session);
    }
}

// A third set of options of one metric does not get the label of the second.
TEST(Vmaf, LabelsEverySetOfOptions) {
    std::stringstream text;
    text << std::ifstream(kSmall).rdbuf();
    std::string model = text.str();
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"VMAF_integer_feature_vif_scale1_score", "VMAF_integer_feature_adm3_score"}, {"{}", "{\"adm_enhn_gain_limit\": 1.3}"}})
        model.replace(model.find(from), from.size(), to);
    const std::string path = std::filesystem::temp_directory_path() / ("exactvq-model-test." + std::to_string(getpid()) + ".json");
    std::ofstream(path) << model;
    SessionOptions options;
    options.metrics = "adm";
    options.models = path;
    std::vector<std::string> names;
    run(options, 2, &names);
    std::filesystem::remove(path);
    for (const char* name : {"adm3", "vmaf.adm3", "vmaf2.adm3"}) EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST(Vmaf, HasNoScoreOfSmallPictures) {
    SessionOptions options;
    options.metrics = "";
    options.models = kSmall;
    options.format = {16, 40, 8, 1, 0, 0};
    exactvq_session* session;
    ASSERT_EQ(open_session(options, &session), EXACTVQ_OK) << exactvq_error(session);
    exactvq_output output{};
    output.struct_size = sizeof output;
    ASSERT_EQ(exactvq_get_output(session, exactvq_output_count(session) - 1, &output), EXACTVQ_OK);
    EXPECT_STREQ(output.name, "vmaf");
    EXPECT_STREQ(output.unavailable, "vmaf is made from adm3: adm needs pictures of at least 17x17 samples, these have 16x40");
    exactvq_close(session);
}

}  // namespace
}  // namespace exactvq::test
