// SPDX-License-Identifier: BSD-2-Clause
#include "host/score_log.h"

#include <gtest/gtest.h>

#include <cmath>

namespace exactvq {
namespace {

std::string render(const ScoreLog& log, exactvq_log_format format) {
    std::string text;
    render_log(log, format, [&text](std::string_view more) { text += more; });
    return text;
}

struct Fixture {
    ScoreStore store{2};
    std::vector<Pooling> pooling{2};
    ScoreLog log;

    Fixture() {
        const double frames[3][2] = {{0.902488, 1e-7}, {0.903240, NAN}, {100.0000001, 3}};
        for (uint64_t f = 0; f < 3; ++f) {
            store.add(2 * f, frames[f]);
            for (int i = 0; i < 2; ++i)
                if (!std::isnan(frames[f][i])) pooling[i].add(frames[f][i]);
        }
        log = {320, 192, 40.754, {"a", "b"}, &store, &pooling, {}};
    }
};

TEST(ScoreLog, Json) {
    Fixture f;
    EXPECT_EQ(render(f.log, EXACTVQ_LOG_FORMAT_JSON), "{\n  \"version\": \"" + std::string(exactvq_version()) + R"(",
  "fps": 40.75,
  "frames": [
    {
      "frameNum": 0,
      "metrics": {
        "a": 0.902488,
        "b": 0.0000001000000000
      }
    },
    {
      "frameNum": 2,
      "metrics": {
        "a": 0.903240
      }
    },
    {
      "frameNum": 4,
      "metrics": {
        "a": 100.0000000999999941,
        "b": 3.000000
      }
    }
  ],
  "pooled_metrics": {
    "a": {
      "min": 0.902488,
      "max": 100.0000000999999941,
      "mean": 33.935243,
      "harmonic_mean": 1.827659
    },
    "b": {
      "min": 0.0000001000000000,
      "max": 3.000000,
      "mean": 1.500000,
      "harmonic_mean": 0.600000
    }
  },
  "aggregate_metrics": {
  }
}
)");
    f.log.aggregates = {{"apsnr_y", 73}, {"apsnr_cb", -INFINITY}};
    f.log.frames_per_cpu_second = INFINITY;
    const std::string text = render(f.log, EXACTVQ_LOG_FORMAT_JSON);
    EXPECT_NE(text.find("\"fps\": null"), std::string::npos);
    EXPECT_NE(text.find("  \"aggregate_metrics\": {\n    \"apsnr_y\": 73.000000,\n    \"apsnr_cb\": null\n  }\n}\n"), std::string::npos);
}

TEST(ScoreLog, Xml) {
    Fixture f;
    f.log.aggregates = {{"apsnr_y", 73}};
    EXPECT_EQ(render(f.log, EXACTVQ_LOG_FORMAT_XML), "<VMAF version=\"" + std::string(exactvq_version()) + R"(">
  <params qualityWidth="320" qualityHeight="192" />
  <fyi fps="40.75" />
  <frames>
    <frame frameNum="0" a="0.902488" b="0.0000001000000000" />
    <frame frameNum="2" a="0.903240" />
    <frame frameNum="4" a="100.0000000999999941" b="3.000000" />
  </frames>
  <pooled_metrics>
    <metric name="a" min="0.902488" max="100.0000000999999941" mean="33.935243" harmonic_mean="1.827659" />
    <metric name="b" min="0.0000001000000000" max="3.000000" mean="1.500000" harmonic_mean="0.600000" />
  </pooled_metrics>
  <aggregate_metrics apsnr_y="73.000000" />
</VMAF>
)");
}

TEST(ScoreLog, CsvAndSub) {
    Fixture f;
    EXPECT_EQ(render(f.log, EXACTVQ_LOG_FORMAT_CSV), "Frame,a,b,\n0,0.902488,0.0000001000000000,\n2,0.903240,,\n4,100.0000000999999941,3.000000,\n");
    EXPECT_EQ(render(f.log, EXACTVQ_LOG_FORMAT_SUB),
              "{0}{1}frame: 0|a: 0.902488|b: 0.0000001000000000|\n{2}{3}frame: 2|a: 0.903240|\n{4}{5}frame: 4|a: 100.0000000999999941|b: 3.000000|\n");
}

TEST(ScoreLog, NullsAndLongLogs) {
    ScoreStore store(3);
    const double scores[3] = {INFINITY, 1, INFINITY};
    for (uint64_t f = 0; f < 5000; ++f) store.add(f, scores);
    const std::vector<Pooling> pooling(3);
    const ScoreLog log{1, 1, 1, {"x", "y", "z"}, &store, &pooling, {}};
    std::string text;
    size_t pieces = 0, longest = 0;
    render_log(log, EXACTVQ_LOG_FORMAT_JSON, [&](std::string_view more) {
        text += more;
        ++pieces;
        longest = std::max(longest, more.size());
    });
    // libvmaf's line breaks around null.
    EXPECT_NE(text.find("\"metrics\": {\n        \"x\": null,        \"y\": 1.000000,\n        \"z\": null\n      }"), std::string::npos);
    EXPECT_GT(pieces, 5u);
    EXPECT_LT(longest, 70000u);
}

// The texts of libvmaf's number format for odd values.
TEST(ScoreLog, Numbers) {
    const struct {
        double value;
        const char *json, *csv;
    } cases[] = {{1e-7, "0.0000001000000000", "0.0000001000000000"},
                 {3.0000004, "3.0000003999999998", "3.0000003999999998"},
                 {1e-6, "0.000001", "0.000001"},
                 {-0.0, "-0.000000", "-0.000000"},
                 {3e9 + 1e-6, "3000000000.000001", "3000000000.000001"},
                 {INFINITY, "null", "inf"},
                 {-INFINITY, "null", "-inf"}};
    for (const auto& c : cases) {
        ScoreStore store(1);
        store.add(0, &c.value);
        const std::vector<Pooling> pooling(1);
        const ScoreLog log{1, 1, 1, {"x"}, &store, &pooling, {}};
        EXPECT_NE(render(log, EXACTVQ_LOG_FORMAT_JSON).find("\"x\": " + std::string(c.json) + "\n"), std::string::npos) << c.json;
        EXPECT_EQ(render(log, EXACTVQ_LOG_FORMAT_CSV), "Frame,x,\n0," + std::string(c.csv) + ",\n");
    }
}

// Every double survives the text.
TEST(ScoreLog, FullPrecision) {
    const double values[] = {1.0 / 3, 1e-7, 100.0000001, 5e-324, -0.0, 36, 1.7976931348623157e308, 0.1 + 0.2};
    ScoreStore store(1);
    std::vector<Pooling> pooling(1);
    for (uint64_t f = 0; f < std::size(values); ++f) {
        store.add(f, &values[f]);
        pooling[0].add(values[f]);
    }
    const double infinite = INFINITY;
    store.add(99, &infinite);
    const ScoreLog log{1, 1, 1, {"x"}, &store, &pooling, {{"apsnr_y", 1.0 / 3}}, true};
    const std::string csv = render(log, EXACTVQ_LOG_FORMAT_CSV);
    EXPECT_EQ(csv,
              "Frame,x,\n0,0.3333333333333333,\n1,1e-07,\n2,100.0000001,\n3,5e-324,\n4,-0,\n5,36,\n6,1.7976931348623157e+308,\n7,0.30000000000000004,\n99,inf,\n");
    const std::string json = render(log, EXACTVQ_LOG_FORMAT_JSON);
    EXPECT_NE(json.find("\"x\": 0.3333333333333333\n"), std::string::npos);
    EXPECT_NE(json.find("\"x\": null\n"), std::string::npos);
    EXPECT_NE(json.find("\"max\": 1.7976931348623157e+308,\n"), std::string::npos);
    EXPECT_NE(json.find("\"apsnr_y\": 0.3333333333333333\n"), std::string::npos);
    EXPECT_NE(render(log, EXACTVQ_LOG_FORMAT_XML).find("<frame frameNum=\"1\" x=\"1e-07\" />"), std::string::npos);
    EXPECT_NE(render(log, EXACTVQ_LOG_FORMAT_SUB).find("frame: 1|x: 1e-07|\n"), std::string::npos);
}

}  // namespace
}  // namespace exactvq
