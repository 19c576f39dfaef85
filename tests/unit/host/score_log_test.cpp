// SPDX-License-Identifier: BSD-2-Clause
#include "host/score_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/error.h"

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

class LogFileTest : public testing::Test {
protected:
    LogFileTest() {
        char name[] = "/tmp/exactvq-log-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~LogFileTest() override { std::filesystem::remove_all(folder_); }
    size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }
    std::string path(const char* name) const { return folder_ + "/" + name; }

    std::string folder_;
};

TEST_F(LogFileTest, AppearsWhenComplete) {
    std::ofstream(path("log")) << "old";
    {
        LogFile log(path("log"));
        EXPECT_EQ(files(), 2u);
        std::stringstream old;
        old << std::ifstream(path("log")).rdbuf();
        EXPECT_EQ(old.str(), "old");
        log.write("new\n");
        log.finish();
    }
    std::stringstream now;
    now << std::ifstream(path("log")).rdbuf();
    EXPECT_EQ(now.str(), "new\n");
    EXPECT_EQ(files(), 1u);
}

TEST_F(LogFileTest, FollowsLinksAndKeepsPermissions) {
    std::ofstream(path("target")) << "old";
    chmod(path("target").c_str(), 0600);
    std::filesystem::create_symlink("target", path("link"));
    {
        LogFile log(path("link"));
        log.write("new");
        log.finish();
    }
    struct stat info;
    ASSERT_EQ(lstat(path("link").c_str(), &info), 0);
    EXPECT_TRUE(S_ISLNK(info.st_mode));
    ASSERT_EQ(stat(path("target").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_size, 3);
    EXPECT_EQ(files(), 2u);
}

TEST_F(LogFileTest, WritesDevicesAndPipesDirectly) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    const int reader = open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
    {
        LogFile log(path("fifo"));
        log.write("text");
        log.finish();
    }
    char text[8] = "";
    EXPECT_EQ(read(reader, text, sizeof text), 4);
    close(reader);
    LogFile full("/dev/full");
    EXPECT_THROW(full.write("x"), Error);
    EXPECT_EQ(files(), 1u);
}

TEST_F(LogFileTest, LeavesNothingWhenNotFinished) {
    { LogFile log(path("log")); }
    EXPECT_EQ(files(), 0u);
}

TEST_F(LogFileTest, RefusesAtOnceWhatCannotBeWritten) {
    EXPECT_THROW(LogFile(path("no/such/folder/log")), Error);
    EXPECT_THROW(LogFile{folder_}, Error);
    std::ofstream(path("file")) << "x";
    EXPECT_THROW(LogFile(path("file/log")), Error);
    try {
        LogFile log(path("no/log"));
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), EXACTVQ_ERROR_IO);
        EXPECT_EQ(std::string(error.what()), "cannot write the log '" + path("no/log") + "': No such file or directory");
    }
    EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace exactvq
