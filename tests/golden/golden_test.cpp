// SPDX-License-Identifier: BSD-2-Clause
//
// The library against values from outside: libvmaf's, the specification's vectors, and those of an independent implementation. Formats: README.md.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host/adm_csf.h"
#include "host/plan.h"
#include "host/pooling.h"
#include "tests/parity/backends.h"
#include "tests/support/picture.h"

namespace exactvq::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The build knows where these lie; for binaries that were carried to another machine the environment says it.
std::string golden_folder() {
    const char* folder = std::getenv("EXACTVQ_GOLDEN_FOLDER");
    return folder ? folder : EXACTVQ_GOLDEN_FOLDER;
}
std::string golden_generator() {
    const char* generator = std::getenv("EXACTVQ_GOLDEN_GENERATOR");
    return generator ? generator : EXACTVQ_GOLDEN_GENERATOR;
}

// Output of a shell command; fails the test if the command does.
std::string shell(const std::string& command) {
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run " + command);
    char buffer[1 << 16];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
    if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
    return output;
}

std::vector<std::vector<std::string>> read_table(const fs::path& path, char separator) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        rows.emplace_back();
        std::stringstream cells(line);
        for (std::string cell; std::getline(cells, cell, separator);) rows.back().push_back(cell);
    }
    return rows;
}

struct Case {
    std::string name, chroma, ref, main, md5_ref, md5_main, jobset;
    uint32_t width, height, depth, frames;
};

std::vector<Case> read_cases(const fs::path& path) {
    std::vector<Case> cases;
    for (const auto& c : read_table(path, '\t')) {
        const auto number = [&c](size_t i) { return static_cast<uint32_t>(std::stoul(c.at(i))); };
        cases.push_back({c.at(0), c.at(3), c.at(6), c.at(7), c.at(8), c.at(9), c.at(10), number(1), number(2), number(4), number(5)});
    }
    return cases;
}

class Folder {
public:
    Folder() {
        char name[] = "/tmp/exactvq-golden-XXXXXX";
        if (!mkdtemp(name)) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~Folder() { fs::remove_all(path_); }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

// The raw files of a case, generated or decoded, checked by md5.
std::pair<std::ifstream, std::ifstream> make_input(const Case& c, const fs::path& table, const fs::path& folder) {
    const std::string base = folder / c.name;
    if (c.ref.rfind("file:", 0) == 0) {
        const char* ffmpeg = std::getenv("EXACTVQ_FFMPEG");
        if (!ffmpeg) throw std::runtime_error("set EXACTVQ_FFMPEG to an ffmpeg that decodes the clips");
        for (const auto& [clip, suffix] : {std::pair{c.ref, ".ref.yuv"}, std::pair{c.main, ".dist.yuv"}})
            shell(std::string(ffmpeg) + " -v error -i " + (table.parent_path() / clip.substr(5)).string() + " -map 0:v:0 -fps_mode passthrough -f rawvideo -y " + base + suffix);
    } else {
        shell(golden_generator() + " " + table.string() + " " + c.name + " " + folder.string());
    }
    for (const auto& [md5, suffix] : {std::pair{c.md5_ref, ".ref.yuv"}, std::pair{c.md5_main, ".dist.yuv"}})
        if (shell("md5sum " + base + suffix).substr(0, 32) != md5) throw std::runtime_error(c.name + suffix + ": another input than the values were made from");
    return {std::ifstream(base + ".ref.yuv", std::ios::binary), std::ifstream(base + ".dist.yuv", std::ios::binary)};
}

// Planes as stored: chroma rounded up. `measured` says how much of each is used.
void read_planes(std::ifstream& in, const Geometry& stored, const Geometry& measured, Samples* planes) {
    for (uint32_t p = 0; p < stored.planes; ++p) {
        const PlaneSize size = stored.plane[p], used = measured.plane[p];
        const size_t bytes = stored.depth > 8 ? 2 : 1;
        std::vector<uint8_t> raw(size_t{size.width} * size.height * bytes);
        if (!in.read(reinterpret_cast<char*>(raw.data()), static_cast<std::streamsize>(raw.size()))) throw std::runtime_error("input too short");
        planes[p] = {used.width, used.height, std::vector<uint16_t>(size_t{used.width} * used.height)};
        for (uint32_t y = 0; y < used.height; ++y)
            for (uint32_t x = 0; x < used.width; ++x) {
                const uint8_t* s = &raw[(size_t{y} * size.width + x) * bytes];
                planes[p].at[size_t{y} * used.width + x] = static_cast<uint16_t>(bytes == 2 ? s[0] | s[1] << 8 : s[0]);
            }
    }
}

// libvmaf's chroma planes are rounded down; a plane of no samples stays one.
Geometry floor_chroma(Geometry geometry, const std::string& chroma) {
    for (uint32_t p = 1; p < geometry.planes; ++p) {
        if (chroma != "444") geometry.plane[p].width = geometry.plane[0].width / 2;
        if (chroma == "420") geometry.plane[p].height = geometry.plane[0].height / 2;
    }
    return geometry;
}

using Options = std::vector<std::pair<std::string, std::string>>;

// "model NAME as LABEL flags transform; model ...": pairs of label and model with its flags as exactvq_parse_metrics() takes them after the label.
Options parse_models(const std::string& job) {
    Options models;
    std::stringstream items(job);
    for (std::string item; std::getline(items, item, ';');) {
        std::stringstream words(item);
        std::string word, name, label;
        words >> word >> name >> word >> label >> word;
        std::string flags;
        for (std::string flag; words >> flag;) flags += flag == "transform" ? "+phone" : "+" + flag;
        models.emplace_back(label, name + (label == "vmaf" ? "" : "@" + label) + flags);
    }
    return models;
}

// Whether this build computes the models: those of v1.0.16 and of floating-point features it refuses.
bool has_models(const Options& models) {
    for (const auto& [label, model] : models)
        if (model.rfind("vmaf_v1.", 0) == 0 || model.rfind("vmaf_float", 0) == 0) return false;
    return true;
}

// The plan of one metric with its options, or of VMAF models (parse_models()).
Plan make_plan(const std::string& metric, const Options& options, const Geometry& geometry) {
    if (metric == "vmaf") {
        std::string models;
        for (const auto& [label, model] : options) models += (models.empty() ? "" : "|") + model;
        exactvq_metric_list list;
        char error[1024];
        if (exactvq_parse_metrics("", "", models.c_str(), &list, error, sizeof error) != EXACTVQ_OK) throw std::runtime_error(error);
        Plan plan(list.metrics, list.count, geometry);
        exactvq_free_metrics(&list);
        return plan;
    }
    std::vector<exactvq_option> list;
    for (const auto& [key, value] : options) list.push_back({key.c_str(), value.c_str()});
    const exactvq_metric m{metric.c_str(), nullptr, list.data(), list.size()};
    return Plan(&m, 1, geometry);
}

// A metric measured over a case: by "frame/feature", "pool/feature" and "aggregate/feature". Features have the API's names or libvmaf's.
class Measurement {
public:
    enum class Names { kApi, kLibvmaf };

    Measurement(const std::string& metric, const Options& options, const Geometry& geometry, const BackendUnderTest& backend, Names names)
        : plan_(std::make_unique<Plan>(make_plan(metric, options, geometry))) {
        for (const PlanOutput& output : plan_->outputs()) names_.push_back(names == Names::kApi ? output.name : output.libvmaf_name);
        BackendConfig config;
        config.geometry = geometry;
        config.accumulators = plan_->accumulators();
        backend_ = backend.make(config);
        pooling_.resize(plan_->outputs().size());
    }

    // Some golden jobs saw only the first frames of a case.
    void limit(uint32_t frames) { limit_ = frames; }

    void add(const FramePair& pair) {
        if (frames_ + waiting_.size() == limit_) return;
        words_.assign(count_words(plan_->accumulators()), 0);
        backend_->start(0, pair, words_.data());
        backend_->wait(0);
        plan_->add_frame(words_.data());
        waiting_.push_back(words_);
        if (waiting_.size() > plan_->successors()) conclude();
    }

    // No more frames.
    void finish() {
        while (!waiting_.empty()) conclude();
    }

    std::map<std::string, double> values() const {
        std::map<std::string, double> all = values_;
        for (size_t i = 0; i < pooling_.size(); ++i) {
            const std::string& name = names_[i];
            all["min/" + name] = pooling_[i].min();
            all["max/" + name] = pooling_[i].max();
            all["mean/" + name] = pooling_[i].mean();
            all["harmonic_mean/" + name] = pooling_[i].harmonic_mean();
        }
        const std::vector<double> aggregates = plan_->aggregate_values();
        for (size_t i = 0; i < aggregates.size(); ++i) all["aggregate/" + plan_->aggregates()[i].name] = aggregates[i];
        return all;
    }

    uint32_t frames() const { return frames_; }
    const Plan& plan() const { return *plan_; }
    const std::vector<std::string>& names() const { return names_; }  // of the outputs
    const std::vector<uint64_t>& words() const { return words_; }  // accumulators of the last frame

private:
    void conclude() {
        std::vector<const uint64_t*> window;
        for (const auto& words : waiting_) window.push_back(words.data());
        std::vector<double> scores(plan_->outputs().size());
        plan_->conclude(window.data(), static_cast<uint32_t>(window.size()), true, scores.data());
        for (size_t i = 0; i < scores.size(); ++i) {
            values_[std::to_string(frames_) + "/" + names_[i]] = scores[i];
            pooling_[i].add(scores[i]);
        }
        ++frames_;
        waiting_.pop_front();
    }

    std::unique_ptr<Plan> plan_;
    std::unique_ptr<Backend> backend_;
    std::deque<std::vector<uint64_t>> waiting_;  // words of the frames that are not concluded yet
    std::vector<std::string> names_;
    std::vector<uint64_t> words_;
    std::map<std::string, double> values_;
    std::vector<Pooling> pooling_;
    uint32_t frames_ = 0, limit_ = UINT32_MAX;
};

double parse_hex(const std::string& text) {
    if (text == "inf") return INFINITY;
    if (text == "-inf") return -INFINITY;
    if (text == "nan" || text == "-nan") return NAN;
    return std::strtod(text.c_str(), nullptr);
}

// True if equal. A NaN (no value) equals any NaN.
bool same(double a, double b) { return double_bits(a) == double_bits(b) || (std::isnan(a) && std::isnan(b)); }

size_t compared;

void expect_value(const std::map<std::string, double>& values, const std::string& key, const std::string& hex, const std::string& where) {
    const auto found = values.find(key);
    if (found == values.end()) {
        ADD_FAILURE() << where << ": no " << key;
        return;
    }
    char got[64];
    std::snprintf(got, sizeof got, "%a", found->second);
    EXPECT_TRUE(same(found->second, parse_hex(hex))) << where << ", " << key << ": " << got << ", golden " << hex;
    ++compared;
}

std::vector<json> read_json_lines(const fs::path& path) {
    std::stringstream in(path.extension() == ".gz" ? shell("zcat " + path.string()) : (std::stringstream() << std::ifstream(path).rdbuf()).str());
    std::vector<json> rows;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) rows.push_back(json::parse(line));
    if (rows.empty()) throw std::runtime_error("no values in " + path.string());
    return rows;
}

Options parse_options(const std::string& text, char separator) {
    Options options;
    std::stringstream items(text);
    for (std::string item; std::getline(items, item, separator);)
        if (!item.empty()) options.emplace_back(item.substr(0, item.find('=')), item.substr(item.find('=') + 1));
    return options;
}

void run_frames(const Case& c, const fs::path& table, const Geometry& geometry, std::vector<Measurement*> measurements, uint32_t frames) {
    const Folder folder;
    auto [ref_file, main_file] = make_input(c, table, folder.path());
    const Geometry stored = make_geometry(make_format(c.width, c.height, c.depth, c.chroma.c_str()));
    std::deque<Picture> refs;  // this one and two before it
    for (uint32_t f = 0; f < frames; ++f) {
        Samples ref[3], main[3];
        read_planes(ref_file, stored, geometry, ref);
        read_planes(main_file, stored, geometry, main);
        refs.emplace_front(ref, geometry, Layout::kPlanar);
        if (refs.size() > 3) refs.pop_back();
        const Picture main_picture(main, geometry, Layout::kPlanar);
        FramePair pair = make_pair(refs[0], main_picture, geometry);
        for (size_t i = 1; i < refs.size(); ++i) pair.earlier[i - 1].luma = refs[i].view(0);
        for (Measurement* m : measurements) m->add(pair);
    }
    for (Measurement* m : measurements) m->finish();
}

// Why a golden value of ADM is not compared; empty: it is. `name`: the score's name in the API. See README.md.
std::string adm_exclusion(const Case& c, const Options& options, const std::string& name) {
    static const std::set<std::string> totals{"adm2", "aim", "adm3", "adm", "adm_num", "adm_den"};
    const bool scale3 = totals.count(name) || (name.size() > 6 && name.substr(name.size() - 6) == "scale3");
    if (std::min(c.width, c.height) <= 32 && scale3) return "adm: a side of 17 to 32, scale 3 and what contains it";
    const bool no_noise = std::find(options.begin(), options.end(), std::pair<std::string, std::string>("adm_noise_weight", "0")) != options.end();
    if (c.name == "flat_576x324" && no_noise && name == "aim") return "adm: aim of a denominator of 0";
    return "";
}

// The same of any metric.
std::string exclusion_of(const std::string& metric, const Case& c, const Options& options, const json& row, const std::string& name) {
    if (row.value("unstable", false)) return metric + ": unstable in libvmaf";
    if (metric == "vif" && std::min(c.width, c.height) < kVifMinSide) return "vif: a side below 16";
    if (metric == "vmaf" && std::min(c.width, c.height) <= 32) return "vmaf: a side of 17 to 32, adm2";
    return metric == "adm" ? adm_exclusion(c, options, name) : "";
}

// Every case of a folder against libvmaf's values.
void check_folder(const fs::path& folder, size_t large) {
    std::map<std::string, std::pair<std::string, Options>> jobs;
    for (const auto& row : read_table(folder / "jobs.tsv", '\t')) {
        if (row.at(2).rfind("model ", 0) == 0 && std::getenv("EXACTVQ_MODEL_PATH") && has_models(parse_models(row[2]))) jobs[row[0]] = {"vmaf", parse_models(row[2])};
        if (row.at(2).rfind("feature ", 0) != 0) continue;
        const std::string request = row[2].substr(8), metric = request.substr(0, request.find(' '));
        if (find_metric(metric)) jobs[row[0]] = {metric, parse_options(request.size() > metric.size() ? request.substr(metric.size() + 1) : "", ' ')};
    }
    ASSERT_GE(jobs.size(), 27u);
    const auto all_backends = backends_under_test({2});
    compared = 0;
    size_t cases = 0;
    std::map<std::string, size_t> compared_of, not_compared;  // values by metric, rows by reason
    for (const Case& c : read_cases(folder / "cases.tsv")) {
        SCOPED_TRACE(c.name);
        fs::path values = folder / "golden" / (c.name + ".jsonl");
        if (!fs::exists(values)) values += ".gz";
        const Geometry geometry = floor_chroma(make_geometry(make_format(c.width, c.height, c.depth, c.chroma.c_str())), c.chroma);
        const auto backends = size_t{c.width} * c.height > large ? std::vector{all_backends.back()} : all_backends;
        std::map<std::string, std::vector<std::unique_ptr<Measurement>>> measurements;  // by job, one for each backend
        std::map<std::string, std::set<std::string>> features;  // of the frames, by job
        std::vector<json> rows;
        for (json& row : read_json_lines(values)) {
            const std::string job = row.at("job");
            if (!jobs.count(job)) continue;
            const auto& [metric, options] = jobs[job];
            if (row.contains("error")) {  // refused by the reference: adm below 17x17, psnr_hvs above 12 bits (we give no value) and gray (we measure)
                const Plan plan = make_plan(metric, options, geometry);
                const bool adm_size = (metric == "adm" || metric == "vmaf") && std::min(c.width, c.height) < 17;
                EXPECT_TRUE(adm_size || metric == "psnr_hvs") << job << ": refused by libvmaf for a reason that the library does not have";
                for (const PlanOutput& output : plan.outputs())
                    EXPECT_TRUE(metric != output.metric || (metric == "psnr_hvs" && c.chroma == "400") || !output.unavailable.empty()) << job << ", " << output.name;
                ++not_compared[metric + ": libvmaf refuses or fails (a row stands for all values of the job)"];
                continue;
            }
            if (!measurements.count(job))
                for (const BackendUnderTest& backend : backends)
                    measurements[job].push_back(std::make_unique<Measurement>(metric, options, geometry, backend, Measurement::Names::kLibvmaf));
            if (row.contains("frames"))
                for (const auto& m : measurements[job]) m->limit(row["frames"]);
            if (row.contains("frame")) features[job].insert(row.at("feature").get<std::string>());
            rows.push_back(std::move(row));
        }
        std::vector<Measurement*> list;
        for (const auto& [job, items] : measurements)
            for (const auto& m : items) list.push_back(m.get());
        run_frames(c, folder / "cases.tsv", geometry, list, c.frames);
        std::map<std::string, std::vector<std::map<std::string, double>>> results;
        for (const auto& [job, items] : measurements)
            for (const auto& m : items) results[job].push_back(m->values());
        std::map<std::string, std::map<std::string, std::string>> api_names;  // by job and libvmaf's name
        for (const auto& [job, items] : measurements) {
            const Measurement& m = *items[0];
            for (size_t i = 0; i < m.names().size(); ++i) api_names[job][m.names()[i]] = m.plan().outputs()[i].name;
            if (jobs[job].first == "adm" || jobs[job].first == "vif" || jobs[job].first == "motion") {
                EXPECT_EQ(features[job], std::set<std::string>(m.names().begin(), m.names().end())) << job;
            }
        }
        for (const json& row : rows) {
            const std::string kind = row.contains("frame") ? std::to_string(row["frame"].get<int>()) : row.contains("pool") ? row["pool"].get<std::string>() : "aggregate";
            const std::string job = row.at("job"), feature = row.at("feature"), key = kind + "/" + feature;
            const auto& [metric, options] = jobs[job];
            const std::string exclusion = exclusion_of(metric, c, options, row, api_names[job][feature]);
            if (!exclusion.empty()) ++not_compared[exclusion];
            for (size_t b = 0; b < results[job].size(); ++b) {
                const std::string where = job + " on " + backends[b].name;
                if (exclusion.empty()) {
                    expect_value(results[job][b], key, row.at("hex"), where);
                    ++compared_of[metric];
                } else {
                    EXPECT_TRUE(results[job][b].count(key)) << where << ": no " << key;
                }
            }
        }
        ++cases;
        if (testing::Test::HasFailure()) return;
    }
    std::printf("%zu cases, %zu values compared on up to %zu backends\n", cases, compared, all_backends.size());
    for (const auto& [metric, count] : compared_of) std::printf("  %s: %zu values compared\n", metric.c_str(), count);
    for (const auto& [reason, count] : not_compared) std::printf("  %s: %zu rows not compared\n", reason.c_str(), count);
    EXPECT_GT(compared, 1000u);
    for (const char* metric : {"psnr", "float_psnr", "psnr_hvs", "adm", "vif", "motion"}) EXPECT_GT(compared_of[metric], 100u) << metric;
}

TEST(Golden, SelectionInTheTree) { check_folder(golden_folder(), 1000000); }

// EXACTVQ_GOLDEN_FULL: the folder of the whole set.
TEST(Golden, FullSet) {
    const char* folder = std::getenv("EXACTVQ_GOLDEN_FULL");
    if (!folder) GTEST_SKIP() << "EXACTVQ_GOLDEN_FULL is not set: the whole golden set is not here";
    check_folder(folder, 100000);
}

TEST(Golden, IndependentImplementation) {
    const fs::path folder = golden_folder();
    const auto backends = backends_under_test({2});
    compared = 0;
    std::map<std::string, Case> cases;
    for (const Case& c : read_cases(folder / "oracle_cases.tsv")) cases[c.name] = c;
    const std::vector<json> rows = read_json_lines(folder / "oracle.jsonl");
    for (size_t first = 0; first < rows.size();) {
        const auto key = [&](size_t i) { return std::array<std::string, 3>{rows[i]["case"], rows[i]["metric"], rows[i]["options"]}; };
        size_t end = first;
        while (end < rows.size() && key(end) == key(first)) ++end;
        const auto [name, metric, options] = key(first);
        SCOPED_TRACE(name + " " + metric + " " + options);
        const Case& c = cases.at(name);
        const Geometry geometry = make_geometry(make_format(c.width, c.height, c.depth, c.chroma.c_str()));
        std::vector<std::unique_ptr<Measurement>> measurements;
        std::vector<Measurement*> list;
        for (const BackendUnderTest& backend : backends) {
            measurements.push_back(std::make_unique<Measurement>(metric, parse_options(options, '|'), geometry, backend, Measurement::Names::kApi));
            list.push_back(measurements.back().get());
        }
        run_frames(c, folder / "oracle_cases.tsv", geometry, list, c.frames);
        for (size_t b = 0; b < backends.size(); ++b) {
            const Measurement& m = *measurements[b];
            const auto values = m.values();
            size_t scores = 0;
            for (size_t i = first; i < end; ++i) {
                const bool aggregate = rows[i].value("aggregate", false);
                scores += !aggregate;
                const std::string kind = aggregate ? "aggregate" : std::to_string(rows[i]["frame"].get<int>());
                expect_value(values, kind + "/" + rows[i]["feature"].get<std::string>(), rows[i]["hex"], backends[b].name);
            }
            EXPECT_EQ(scores, m.names().size() * m.frames()) << "scores that the other implementation does not have";
        }
        first = end;
    }
    std::printf("%zu values compared\n", compared);
}

// Frame pair T1, T2 or T3 of ADM's specification: gray.
void make_adm_vector(const std::string& name, uint32_t width, uint32_t height, Samples& ref, Samples& main) {
    ref = main = {width, height, std::vector<uint16_t>(size_t{width} * height)};
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            uint32_t z = 374761393u * x + 668265263u * y, a = 0, b = 0;
            z = (z ^ (z >> 13)) * 1274126177u;
            z ^= z >> 16;
            if (name == "T1") {
                a = (5 * x + 3 * y + ((x * y) >> 3) + 37 * (((x >> 2) ^ (y >> 2)) & 1)) & 255;
                const int noise = 6 * (static_cast<int>((7 * x + 13 * y) % 11) - 5), block = ((x >> 3) ^ (y >> 3)) & 1 ? 25 : -25;
                b = static_cast<uint32_t>(std::clamp(static_cast<int>(a) + noise + block, 0, 255));
            } else if (name == "T2") {
                a = z & 1023;
                b = (3 * a + ((z >> 10) & 1023)) >> 2;
            } else {
                a = 20000 + 150 * x - 90 * y + (z & 4095);
                b = 20000 + 150 * x - 90 * y + ((z & 4095) >> 1) + ((z >> 12) & 511);
            }
            ref.at[size_t{y} * width + x] = static_cast<uint16_t>(a);
            main.at[size_t{y} * width + x] = static_cast<uint16_t>(b);
        }
    }
}

// Frame t of the specification of vif and motion: gray.
void make_vif_vector(uint32_t t, uint32_t width, uint32_t height, uint32_t depth, Samples& ref, Samples& main) {
    ref = main = {width, height, std::vector<uint16_t>(size_t{width} * height)};
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x)
            ref.at[size_t{y} * width + x] = static_cast<uint16_t>((3 * x * x + 5 * y * y + 7 * x * y + 29 * t * (x + 2 * y)) >> 3 & ((1u << depth) - 1));
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x)
            main.at[size_t{y} * width + x] = static_cast<uint16_t>((3 * ref.at[size_t{y} * width + x] + ref.at[size_t{y} * width + std::min(x + 1, width - 1)]) >> 2);
}

// What motion's score of a frame alone is (2.3), with the default options.
double motion_sad_score(uint64_t sum, uint32_t width, uint32_t height) { return static_cast<double>(sum) / 256.0 / static_cast<double>(width * height); }

// Motion's sums of one plane and another `distance` frames earlier, by each backend and the reference loops.
std::map<std::string, uint64_t> motion_sums(const Geometry& geometry, const PlaneView& current, const PlaneView& earlier, uint8_t distance, const std::vector<BackendUnderTest>& backends) {
    BackendConfig config;
    config.geometry = geometry;
    config.accumulators.resize(1);
    config.accumulators[0].kind = AccumulatorKind::kMotion;
    config.accumulators[0].motion_distance = distance;
    FramePair pair;
    pair.plane[0] = {current, current};
    pair.earlier[distance - 1].luma = earlier;
    std::map<std::string, uint64_t> sums{{"reference", reference_words(config.accumulators, pair)[0]}};
    for (const BackendUnderTest& b : backends) {
        const std::unique_ptr<Backend> backend = b.make(config);
        backend->start(0, pair, &sums[b.name]);
        backend->wait(0);
    }
    return sums;
}

// Motion's sums, by the reference loops too.
TEST(Golden, MotionSums) {
    const auto backends = backends_under_test({2});
    compared = 0;
    const std::string folder = golden_folder();
    for (const Case& c : read_cases(fs::path(folder) / "cases.tsv")) {
        SCOPED_TRACE(c.name);
        fs::path values = fs::path(folder) / "golden" / (c.name + ".jsonl");
        if (!fs::exists(values)) values += ".gz";
        Geometry geometry = make_geometry(make_format(c.width, c.height, c.depth, c.chroma.c_str()));
        const Geometry stored = geometry;
        geometry.planes = 1;
        std::map<int, std::string> golden;
        for (const json& row : read_json_lines(values))
            if (row.at("job") == "motion" && row.contains("frame") && row.at("feature") == "VMAF_integer_feature_motion_sad_score") golden[row["frame"]] = row["hex"];
        const Folder temporary;
        auto [ref_file, main_file] = make_input(c, fs::path(folder) / "cases.tsv", temporary.path());
        std::unique_ptr<Picture> last;
        for (uint32_t f = 0; f < c.frames && golden.count(static_cast<int>(f)); ++f) {
            Samples samples[3];
            read_planes(ref_file, stored, stored, samples);
            auto picture = std::make_unique<Picture>(samples, geometry, Layout::kPlanar);
            for (const auto& [name, sum] : motion_sums(geometry, picture->view(0), last ? last->view(0) : PlaneView{}, 1, backends))
                expect_value({{"motion_sad", motion_sad_score(sum, c.width, c.height)}}, "motion_sad", golden[static_cast<int>(f)], name + ", frame " + std::to_string(f));
            last = std::move(picture);
        }
    }
    std::printf("%zu values compared\n", compared);
    EXPECT_GT(compared, 100u);
}

// Motion of the specification's sequence of five frames, by backend. `line`: of vectors.txt.
std::map<std::string, std::map<std::string, double>> motion_sequences(const std::vector<std::string>& line, bool five, const std::vector<BackendUnderTest>& backends) {
    const auto number = [&line](size_t i) { return static_cast<uint32_t>(std::stoul(line.at(i))); };
    const Geometry geometry = make_geometry(make_format(number(1), number(2), number(3), "400"));
    std::map<std::string, std::map<std::string, double>> values;
    for (const BackendUnderTest& backend : backends) {
        Measurement m("motion", parse_options(five ? "motion_five_frame_window=1|motion_max_val=18|motion_moving_average=1" : "", '|'), geometry, backend, Measurement::Names::kLibvmaf);
        std::deque<Picture> refs;
        for (uint32_t t = 0; t < 5; ++t) {
            Samples ref, main;
            make_vif_vector(t, number(1), number(2), number(3), ref, main);
            refs.emplace_front(&ref, geometry, Layout::kPlanar);
            const Picture main_picture(&main, geometry, Layout::kPlanar);
            FramePair pair = make_pair(refs[0], main_picture, geometry);
            for (size_t i = 1; i < std::min<size_t>(3, refs.size()); ++i) pair.earlier[i - 1].luma = refs[i].view(0);
            m.add(pair);
        }
        m.finish();
        values[backend.name] = m.values();
    }
    return values;
}

// ADM's accumulators and scores of one frame pair of the specification with one set of options.
struct AdmVector {
    std::vector<std::pair<std::string, std::vector<uint64_t>>> words;           // by backend, the reference loops too
    std::vector<std::pair<std::string, std::map<std::string, double>>> values;  // by backend
};

// vectors.txt: tables, transform, block and frames of the specifications.
TEST(Golden, SpecificationVectors) {
    const auto backends = backends_under_test({1});
    compared = 0;
    std::map<std::string, std::vector<std::map<std::string, double>>> measured;
    struct AdmFrame {
        Geometry geometry;
        Samples ref[3], main[3];
    };
    std::map<std::string, AdmFrame> adm_frames;
    std::map<std::string, AdmVector> adm_vectors;
    std::map<std::string, std::map<std::string, std::map<std::string, double>>> motion_vectors;
    for (const auto& w : read_table(fs::path(golden_folder()) / "vectors.txt", ' ')) {
        if (w[0] == "table") {
            const PsnrHvsTable& table = kPsnrHvsTable[w[1].substr(2) == "Y" ? 0 : w[1].substr(2) == "Cb" ? 1 : 2];
            const uint32_t* values = w[1][0] == 'W' ? table.w : table.k;
            for (size_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], std::stoul(w.at(2 + i), nullptr, 16)) << w[1] << " " << i;
            compared += 64;
        } else if (w[0] == "constant") {
            EXPECT_EQ(float_bits(w[1] == "c63" ? kPsnrHvsScale64 : kPsnrHvsScale16), std::stoul(w[2], nullptr, 16));
            ++compared;
        } else if (w[0] == "dct8") {
            int32_t x[8];
            for (size_t i = 0; i < 8; ++i) x[i] = std::stoi(w.at(1 + i));
            psnr_hvs_dct8(x, 1);
            for (size_t i = 0; i < 8; ++i) EXPECT_EQ(x[i], std::stoi(w.at(9 + i)));
            compared += 8;
        } else if (w[0] == "dct8x8_row") {
            int32_t block[64];
            for (int i = 0; i < 64; ++i) block[i] = (std::stoi(w[1]) * i + std::stoi(w[2])) % std::stoi(w[3]);
            psnr_hvs_dct8x8(block);
            for (size_t i = 0; i < 8; ++i) EXPECT_EQ(block[8 * std::stoul(w[4]) + i], std::stoi(w.at(5 + i)));
            compared += 8;
        } else if (w[0] == "frame") {
            const std::string id = w[1] + "x" + w[2] + " " + w[3] + " " + w[4];
            const uint32_t width = static_cast<uint32_t>(std::stoul(w[1])), height = static_cast<uint32_t>(std::stoul(w[2])), depth = static_cast<uint32_t>(std::stoul(w[4]));
            const std::string feature = w[5], metric = feature.rfind("psnr_hvs", 0) == 0 ? "psnr_hvs" : feature == "float_psnr" ? feature : "psnr";
            auto& of_metric = measured[id + metric];
            if (of_metric.empty()) {
                const Geometry geometry = floor_chroma(make_geometry(make_format(width, height, depth, w[3].c_str())), w[3]);
                Samples ref[3], main[3];
                const int64_t largest = (1 << depth) - 1, unit = 1 << (depth - 8);
                for (uint32_t p = 0; p < geometry.planes; ++p) {
                    ref[p] = main[p] = {geometry.plane[p].width, geometry.plane[p].height, std::vector<uint16_t>(size_t{geometry.plane[p].width} * geometry.plane[p].height)};
                    for (int64_t y = 0; y < ref[p].height; ++y) {
                        for (int64_t x = 0; x < ref[p].width; ++x) {
                            const int64_t a = (3 * x * x + 5 * y * y + (p + 1) * x * y + 17 * p) % 251 * unit + (5 * x + 3 * y) % unit;
                            const int64_t b = a + ((7 * x + 11 * y + 3 * p) % 13 - 6) * unit + (x + y) % unit;
                            ref[p].at[static_cast<size_t>(y * ref[p].width + x)] = static_cast<uint16_t>(a);
                            main[p].at[static_cast<size_t>(y * ref[p].width + x)] = static_cast<uint16_t>(std::clamp<int64_t>(b, 0, largest));
                        }
                    }
                }
                const Picture ref_picture(ref, geometry, Layout::kPlanar), main_picture(main, geometry, Layout::kPlanar);
                for (const BackendUnderTest& backend : backends) {
                    const Options options = parse_options(metric == "psnr" ? "enable_mse=1 enable_apsnr=1" : "", ' ');
                    Measurement m(metric, options, geometry, backend, Measurement::Names::kLibvmaf);
                    m.add(make_pair(ref_picture, main_picture, geometry));
                    of_metric.push_back(m.values());
                }
            }
            for (size_t b = 0; b < backends.size(); ++b)
                expect_value(of_metric[b], (feature.rfind("apsnr", 0) == 0 ? "aggregate/" : "0/") + feature, w[6], id + " on " + backends[b].name);
        } else if (w[0] == "adm_weight") {
            const AdmWeights weights = make_adm_weights({std::stoi(w.at(1)), std::stod(w.at(2)), std::stoi(w.at(3)), std::stod(w.at(4)), std::stod(w.at(5))});
            const size_t s = std::stoul(w.at(6));
            for (size_t o = 0; o < 3; ++o) {
                SCOPED_TRACE("mode " + w[1] + ", " + w[2] + " x " + w[3] + ", scale " + w[6]);
                EXPECT_EQ(float_bits(weights.weight[s][o]), float_bits(std::strtof(w.at(o < 2 ? 7 : 8).c_str(), nullptr)));
                EXPECT_EQ(weights.fixed[s][o], std::stoul(w.at(o < 2 ? 9 : 10)));
            }
            compared += 6;
        } else if (w[0] == "adm_frame") {
            const uint32_t width = static_cast<uint32_t>(std::stoul(w.at(2))), height = static_cast<uint32_t>(std::stoul(w.at(3)));
            AdmFrame& frame = adm_frames[w[1]];
            frame.geometry = make_geometry(make_format(width, height, static_cast<uint32_t>(std::stoul(w.at(4))), "400"));
            make_adm_vector(w[1], width, height, frame.ref[0], frame.main[0]);
            EXPECT_EQ(std::accumulate(frame.ref[0].at.begin(), frame.ref[0].at.end(), uint64_t{0}), std::stoull(w.at(5))) << "another input";
            EXPECT_EQ(std::accumulate(frame.main[0].at.begin(), frame.main[0].at.end(), uint64_t{0}), std::stoull(w.at(6))) << "another input";
        } else if (w[0] == "motion_score") {
            const std::string suffix = "_mffw_mmxv_18_mma";
            const bool five = w[5].size() > suffix.size() && w[5].substr(w[5].size() - suffix.size()) == suffix;
            auto& sequences = motion_vectors[w[1] + "x" + w[2] + ", " + w[3] + (five ? " bits, five" : " bits")];
            if (sequences.empty()) sequences = motion_sequences(w, five, backends);
            std::string name = w[5];  // a short name in libvmaf's logs
            for (const char* score : {"motion2", "motion3"})
                if (name == "VMAF_integer_feature_" + std::string(score) + "_score") name = "integer_" + std::string(score);
            for (const auto& [backend, values] : sequences) expect_value(values, w[4] + "/" + name, w[6], backend + ", " + w[1] + "x" + w[2] + ", " + w[3] + " bits");
        } else if (w[0] == "vif_score" || w[0] == "vif_words" || w[0] == "motion_words") {
            const auto word = [&w](size_t i) { return static_cast<uint32_t>(std::stoul(w.at(i))); };
            const uint32_t width = word(1), height = word(2), depth = word(3), t = word(4);
            const Geometry geometry = make_geometry(make_format(width, height, depth, "400"));
            Samples ref, main, earlier, unused;
            make_vif_vector(t, width, height, depth, ref, main);
            const Picture ref_picture(&ref, geometry, Layout::kPlanar), main_picture(&main, geometry, Layout::kPlanar);
            SCOPED_TRACE(w[1] + "x" + w[2] + ", " + w[3] + " bits, frame " + w[4]);
            if (w[0] == "motion_words") {
                make_vif_vector(t - 1, width, height, depth, earlier, unused);
                const Picture earlier_picture(&earlier, geometry, Layout::kPlanar);
                for (const auto& [name, sum] : motion_sums(geometry, ref_picture.view(0), earlier_picture.view(0), 1, backends)) {
                    EXPECT_EQ(sum, word(5)) << name;
                    ++compared;
                }
            } else if (w[0] == "vif_words" || w[0] == "vif_score") {
                const FramePair pair = make_pair(ref_picture, main_picture, geometry);
                Options options = parse_options(w[5] == "-" || w[0] == "vif_words" ? "" : w[5], '|');
                options.emplace_back("debug", "true");
                std::map<std::string, std::vector<uint64_t>> words{{"reference", reference_words(make_plan("vif", options, geometry).accumulators(), pair)}};
                for (const BackendUnderTest& backend : backends) {
                    Measurement m("vif", options, geometry, backend, Measurement::Names::kLibvmaf);
                    m.add(pair);
                    m.finish();
                    words[backend.name] = m.words();
                    if (w[0] == "vif_score") expect_value(m.values(), "0/" + w.at(6), w.at(7), backend.name);
                }
                for (const auto& [name, values] : words)
                    for (size_t i = 0; i < kVifSums && w[0] == "vif_words"; ++i, ++compared) EXPECT_EQ(values[vif_word(word(5), static_cast<VifSum>(i))], word(6 + i)) << name;
            }
        } else if (w[0] == "adm_words" || w[0] == "adm_score") {
            const std::string id = w.at(1) + " " + w.at(2);
            AdmVector& vector = adm_vectors[id];
            if (vector.words.empty()) {
                const AdmFrame& frame = adm_frames.at(w[1]);
                Options options = parse_options(w[2] == "-" ? "" : w[2], '|');
                options.emplace_back("debug", "true");
                const Picture ref_picture(frame.ref, frame.geometry, Layout::kPlanar), main_picture(frame.main, frame.geometry, Layout::kPlanar);
                const FramePair pair = make_pair(ref_picture, main_picture, frame.geometry);
                for (const BackendUnderTest& backend : backends) {
                    Measurement m("adm", options, frame.geometry, backend, Measurement::Names::kLibvmaf);
                    m.add(pair);
                    vector.words.emplace_back(backend.name, m.words());
                    vector.values.emplace_back(backend.name, m.values());
                }
                vector.words.emplace_back("reference", reference_words(make_plan("adm", options, frame.geometry).accumulators(), pair));
            }
            if (w[0] == "adm_score") {
                for (const auto& [backend, values] : vector.values) expect_value(values, "0/" + w.at(3), w.at(4), id + " on " + backend);
                continue;
            }
            const uint32_t scale = static_cast<uint32_t>(std::stoul(w.at(3)));
            for (const auto& [backend, words] : vector.words) {
                ASSERT_EQ(words.size(), size_t{kAdmWords});
                for (uint32_t i = 0; i < 9; ++i) {  // denominators are unsigned, numerators signed; both are printed as they are in 64 bits
                    const uint64_t golden = i < 3 ? std::stoull(w.at(4 + i)) : static_cast<uint64_t>(std::stoll(w.at(4 + i)));
                    const uint64_t word = words[adm_word(scale, static_cast<AdmSum>(i / 3), i % 3)];
                    EXPECT_EQ(word, golden) << id << ", scale " << scale << ", sum " << i / 3 << ", orientation " << i % 3 << " on " << backend;
                    ++compared;
                }
            }
        }
    }
    std::printf("%zu values compared\n", compared);
    EXPECT_GT(compared, 1000u);
}

}  // namespace
}  // namespace exactvq::test
