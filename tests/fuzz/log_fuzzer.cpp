// SPDX-License-Identifier: BSD-2-Clause
//
// Logs of any values, in all formats, under any file name: JSON and XML are read back, rows of CSV have equal numbers of cells, and a file is there complete or not at all.
#include <expat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "host/error.h"
#include "host/log_file.h"
#include "host/score_log.h"
#include "tests/fuzz/fuzz.h"

using namespace exactvq;
using namespace exactvq::fuzz;

namespace {

namespace fs = std::filesystem;

// Removed at the end.
class Folder {
public:
    Folder() {
        std::string pattern = fs::temp_directory_path() / "exactvq-fuzz-XXXXXX";
        check(mkdtemp(pattern.data()), "there is a folder for temporary files");
        path_ = pattern;
    }
    ~Folder() {
        std::error_code error;
        fs::remove_all(path_, error);
    }
    const fs::path& path() const { return path_; }
    // Empty but for a folder, a file, a link to it and one to nothing.
    void reset() const {
        for (const fs::directory_entry& entry : fs::directory_iterator(path_)) fs::remove_all(entry);
        fs::create_directory(path_ / "d");
        std::ofstream(path_ / "f") << "old";
        fs::create_symlink("f", path_ / "l");
        fs::create_symlink("nothing", path_ / "n");
    }
    std::set<std::string> names() const {
        std::set<std::string> names;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path_)) names.insert(entry.path().string());
        return names;
    }

private:
    fs::path path_;
};

double any_double(FuzzedDataProvider& input) {
    static constexpr double kCommon[] = {0, 100, 36.123456789, 1e-7, -1.5, HUGE_VAL, -HUGE_VAL, NAN, 2147483647.5, 2147483648.5, 5e-324, 1.7976931348623157e308};
    return input.ConsumeBool() ? input.PickValueInArray(kCommon) : std::bit_cast<double>(input.ConsumeIntegral<uint64_t>());
}

// Such as the library gives: letters, digits, '_', '.', '-', the first a letter.
std::string any_name(FuzzedDataProvider& input) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
    std::string name = input.ConsumeRandomLengthString(40);
    for (size_t i = 0; i < name.size(); ++i) name[i] = kLetters[static_cast<unsigned char>(name[i]) % (i ? kLetters.size() : 52)];
    return name.empty() ? "a" : name;
}

struct Log {
    ScoreStore store;
    std::vector<Pooling> pooling;
    ScoreLog log{};

    Log(FuzzedDataProvider& input, size_t outputs) : store(outputs), pooling(outputs) {
        std::set<std::string> known{"frameNum"};
        while (log.names.size() < outputs) {
            std::string name = any_name(input);
            while (!known.insert(name).second) name += 'x';
            log.names.push_back(name);
        }
        known.clear();
        for (uint8_t n = input.ConsumeIntegralInRange<uint8_t>(0, 3); n > 0; --n) {
            std::string name = any_name(input);
            while (!known.insert(name).second) name += 'x';
            const double value = any_double(input);
            log.aggregates.push_back({name, std::isnan(value) ? 0 : value});
        }
        log.width = input.ConsumeIntegral<uint32_t>();
        log.height = input.ConsumeIntegral<uint32_t>();
        log.frames_per_cpu_second = any_double(input);
        log.store = &store;
        log.pooling = &pooling;
        const uint32_t repeats = input.ConsumeBool() ? input.ConsumeIntegralInRange<uint32_t>(0, 600) : 0;  // logs that are written in pieces
        for (uint8_t n = input.ConsumeIntegralInRange<uint8_t>(0, 6); n > 0; --n) add(input.ConsumeIntegral<uint64_t>(), input, n == 1 ? repeats : 0);
    }

    void add(uint64_t index, FuzzedDataProvider& input, uint32_t repeats) {
        std::vector<double> scores(log.names.size());
        for (double& score : scores) score = any_double(input);
        for (uint32_t i = 0; i <= repeats; ++i) {
            store.add(index, scores.data());
            for (size_t k = 0; k < scores.size(); ++k)
                if (!std::isnan(scores[k])) pooling[k].add(scores[k]);
        }
    }

    std::string text(exactvq_log_format format) const {
        std::string text;
        render_log(log, format, [&text](std::string_view piece) { text += piece; });
        return text;
    }

    // Frames with a value.
    std::vector<size_t> listed() const {
        std::vector<size_t> frames;
        for (size_t f = 0; f < store.frames(); ++f) {
            bool any = false;
            for (size_t i = 0; i < log.names.size(); ++i) any = any || !std::isnan(store.scores(f)[i]);
            if (any) frames.push_back(f);
        }
        return frames;
    }
};

void check_json(const Log& log) {
    const nlohmann::json json = nlohmann::json::parse(log.text(EXACTVQ_LOG_FORMAT_JSON), nullptr, false);
    check(!json.is_discarded(), "the log is JSON");
    const std::vector<size_t> listed = log.listed();
    check(json["frames"].size() == listed.size() && json["pooled_metrics"].size() == log.log.names.size() && json["aggregate_metrics"].size() == log.log.aggregates.size(),
          "everything is in the JSON");
    for (size_t n = 0; n < listed.size(); ++n) {
        const nlohmann::json& frame = json["frames"][n];
        check(frame["frameNum"] == log.store.index(listed[n]), "the frame's number is in the JSON");
        for (size_t i = 0; i < log.log.names.size(); ++i) {
            const double value = log.store.scores(listed[n])[i];
            const auto found = frame["metrics"].find(log.log.names[i]);
            if (std::isnan(value)) {
                check(found == frame["metrics"].end(), "what has no value is not in the JSON");
                continue;
            }
            check(found != frame["metrics"].end() && (std::isinf(value) ? found->is_null() : found->is_number()), "a value is in the JSON");
            if (!std::isfinite(value)) continue;
            const double off = std::fabs(found->get<double>() - value);
            check(log.log.full_precision ? off == 0 : off <= 0.51e-6 + 1e-15 * std::fabs(value), "the value is in the JSON");
        }
    }
}

void check_xml(const Log& log) {
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
    size_t frames = 0;
    XML_SetUserData(parser.get(), &frames);
    XML_SetStartElementHandler(parser.get(), [](void* count, const char* name, const char**) { *static_cast<size_t*>(count) += std::string_view(name) == "frame"; });
    const std::string text = log.text(EXACTVQ_LOG_FORMAT_XML);
    if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) != XML_STATUS_OK)
        check(false, std::string("the log is XML: ") + XML_ErrorString(XML_GetErrorCode(parser.get())) + " in line " + std::to_string(XML_GetCurrentLineNumber(parser.get())));
    check(frames == log.listed().size(), "every frame is in the XML");
}

// Lines with equal numbers of `separator`.
void check_rows(const std::string& text, char separator, size_t rows, bool equal) {
    std::istringstream lines(text);
    std::string line;
    size_t count = 0;
    long cells = -1;
    for (; std::getline(lines, line); ++count) {
        const long these = std::count(line.begin(), line.end(), separator);
        check(!equal || cells < 0 || these == cells, "rows have equal numbers of cells");
        cells = these;
    }
    check(count == rows, "every frame has a row");
}

// A name inside of the folder, whatever the text is.
fs::path any_path(FuzzedDataProvider& input, const fs::path& folder) {
    static const char* const kNames[] = {"new", "d", "d/new", "f", "l", "n", "f/new", "no/new", "d/", ".", ""};
    std::string name = input.ConsumeBool() ? input.PickValueInArray(kNames) : input.ConsumeRandomLengthString(300);
    for (size_t at; (at = name.find("..")) != std::string::npos;) name.replace(at, 2, "_");
    return folder.string() + "/" + name.c_str();
}

void check_file(FuzzedDataProvider& input, const std::string& text) {
    static const Folder folder;
    folder.reset();
    const std::string path = any_path(input, folder.path());
    std::set<std::string> before = folder.names();
    try {
        {
            LogFile abandoned(path, true);
            abandoned.write(text);
        }
        check(folder.names() == before, "an unfinished log leaves nothing behind");
        LogFile file(path, false);
        LogFile moved(std::move(file));
        moved.write(text);
        moved.finish();
        std::ostringstream written;
        written << std::ifstream(path, std::ios::binary).rdbuf();
        check(written.str() == text, "the log is complete");
        std::set<std::string> after = folder.names();
        for (const std::string& name : before) after.erase(name);
        check(after.size() <= 1, "nothing but the log is left behind");
        before = folder.names();  // the next part's name may be too long
        LogFile part(path, true);
        part.write("the next part");
        part.finish();
        written.str("");
        written << std::ifstream(path, std::ios::binary).rdbuf();
        check(part.is_part() && written.str() == text, "an earlier part is kept");
    } catch (const Error& error) {
        check(error.status() == EXACTVQ_ERROR_IO, "a file that cannot be written is an error of files");
        check_sentence(error.what());
        check(std::string_view(error.what()).find("cannot write the log '") == 0, std::string("the sentence says what failed: ") + error.what());
        check(folder.names() == before, "a log that cannot be written leaves nothing behind");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    Log log(input, input.ConsumeIntegralInRange<size_t>(0, 5));
    for (bool full : {true, false}) {
        log.log.full_precision = full;
        check_json(log);
        check_xml(log);
        check_rows(log.text(EXACTVQ_LOG_FORMAT_CSV), ',', 1 + log.listed().size(), true);
        check_rows(log.text(EXACTVQ_LOG_FORMAT_SUB), '|', log.listed().size(), false);
    }
    check_file(input, log.text(static_cast<exactvq_log_format>(input.ConsumeIntegralInRange<int>(0, 3))));
    return 0;
}
