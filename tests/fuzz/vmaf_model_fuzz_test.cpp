// SPDX-License-Identifier: BSD-2-Clause
//
// Spoiled model files: bytes changed, pieces cut out, doubled and swapped, numbers and words put in. Nothing may crash, hang or read outside (run it under
// AddressSanitizer); a file is refused with a sentence of one line, or is a model that predicts. EXACTVQ_FUZZ_RUNS, EXACTVQ_FUZZ_FIRST (seed of the first
// run), EXACTVQ_FUZZ_SEED (only this one).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "host/error.h"
#include "host/vmaf_model_reader.h"

namespace {

using Random = std::mt19937;

uint32_t number(const char* variable, uint32_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

std::string file(const char* name) {
    std::ostringstream text;
    text << std::ifstream(std::string(EXACTVQ_TEST_DATA "/models/") + name).rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return text.str();
}

// Puts another character in the place of one of a number: often the file stays well formed.
void spoil_number(std::string& text, Random& random) {
    const size_t place = text.find_first_of("0123456789.-", random() % text.size());
    if (place != text.npos) text[place] = "0123456789e.-"[random() % 13];
}

void spoil(std::string& text, Random& random) {
    static const char* const pieces[] = {"{", "}", "[", "]", "[[", "\"", ",", ":", "0", "-1", "1e308", "-1e308", "1e-320", "1e999", "18446744073709551616", "true", "null", "\"0\": ", "\\n", "\\u0000",
                                         "\xff", "nan", "inf", " ", "1:", "5:1 ", "SV", "gamma", "\"knots\": [[0, 1], [2, 3]], ", "\"norm_type\": \"none\", ", "\"model_dict\": ", "9999999999", "0.1e1e1"};
    const size_t place = random() % (text.size() + 1), length = std::min<size_t>(text.size() - place, 1 + random() % (random() % 4 ? 8 : 400));
    switch (random() % 6) {
    case 0: text.replace(place, std::min<size_t>(1, text.size() - place), 1, static_cast<char>(random())); break;
    case 1: text.erase(place, length); break;
    case 2: text.insert(place, pieces[random() % std::size(pieces)]); break;
    case 3: text.replace(place, length, pieces[random() % std::size(pieces)]); break;
    case 4: text.insert(random() % (text.size() + 1), text.substr(place, length)); break;
    default: std::swap(text[place % text.size()], text[random() % text.size()]); break;
    }
}

void run(uint32_t seed, const std::string& original, int& models) {
    SCOPED_TRACE("EXACTVQ_FUZZ_SEED=" + std::to_string(seed));
    Random random(seed);
    std::string text = original;
    const bool numbers = random() % 2;
    for (uint32_t n = 1 + random() % 3; n > 0 && !text.empty(); --n) numbers ? spoil_number(text, random) : spoil(text, random);
    const exactvq::VmafFlags flags{random() % 2 > 0, random() % 2 > 0, random() % 4 == 0};
    try {
        const exactvq::VmafModel model = exactvq::parse_vmaf_model(text, "spoiled.json", flags);
        ++models;
        ASSERT_GE(model.features().size(), 1u);
        ASSERT_LE(model.features().size(), exactvq::kMaxVmafFeatures);
        std::vector<double> features(model.features().size()), scores(model.suffixes().size());
        const double infinity = std::numeric_limits<double>::infinity();
        for (double value : {0.5, 0.0, 1e300, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
            for (double& feature : features) feature = random() % 3 ? value : 0.75;
            model.predict(features.data(), scores.data());
        }
    } catch (const exactvq::Error& error) {
        const std::string sentence = error.what();
        EXPECT_EQ(sentence.find("the model file 'spoiled.json' "), 0u) << sentence;
        EXPECT_TRUE(std::none_of(sentence.begin(), sentence.end(), [](char c) { return c >= 0 && c < ' '; })) << sentence;
        EXPECT_LT(sentence.size(), 600u) << sentence;
    }
}

TEST(Fuzz, VmafModel) {
    const std::string originals[] = {file("small.json"), file("small_none.json"), file("small_collection.json")};
    int models = 0;
    if (const char* text = std::getenv("EXACTVQ_FUZZ_SEED")) {
        const auto seed = static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
        return run(seed, originals[seed % 3], models);
    }
    const uint32_t runs = 5 * number("EXACTVQ_FUZZ_RUNS", 4000), first = number("EXACTVQ_FUZZ_FIRST", 1);
    for (uint32_t n = 0; n < runs && !testing::Test::HasFailure(); ++n) run(first + n, originals[(first + n) % 3], models);
    std::printf("%u runs from seed %u, %d of them models\n", runs, first, models);
    EXPECT_GT(models, 0);
}

}  // namespace
