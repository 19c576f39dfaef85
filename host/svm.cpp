// SPDX-License-Identifier: BSD-2-Clause
#include "host/svm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "host/error.h"
#include "host/libm.h"
#include "host/text.h"

namespace exactvq {
namespace {

constexpr size_t kMaxVectors = 20000;

[[noreturn]] void fail(const std::string& what) { throw Error(EXACTVQ_ERROR_ARGUMENT, "in the libsvm text, " + what); }

// Takes the next part of `text`, which ends before one of the separators.
std::string_view take(std::string_view& text, const char* separators) {
    const std::string_view part = text.substr(0, text.find_first_of(separators));
    text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
    return part;
}

std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    return take(line, " \t\r");
}

double number(std::string_view text, const std::string& what) {
    double value = 0;
    if (parse_all(text, value) != std::errc() || !std::isfinite(value)) fail(what + " is " + quote(text) + ", not a number");
    return value;
}

class Header {
public:
    // Takes the lines up to "SV".
    explicit Header(std::string_view& text) {
        for (;;) {
            if (text.empty()) fail("the line SV is missing");
            std::string_view line = take(text, "\n");
            const std::string_view key = take_word(line), value = take_word(line);
            if (key == "SV") return;
            bool known = false;
            for (const char* name : {"svm_type", "kernel_type", "gamma", "nr_class", "total_sv", "rho"}) known = known || key == name;
            if (!known) fail("there is a line " + quote(key) + ", which nu-SVR does not have");
            if (!values_.emplace(key, value).second || !take_word(line).empty()) fail(std::string(key) + " has more than one value");
        }
    }
    std::string_view get(const char* key) const {
        const auto found = values_.find(key);
        if (found == values_.end()) fail(std::string(key) + " is missing");
        return found->second;
    }
    void require(const char* key, std::string_view value) const {
        if (get(key) != value) fail(std::string(key) + " is " + quote(get(key)) + ", not " + std::string(value));
    }

private:
    std::map<std::string_view, std::string_view> values_;
};

}  // namespace

double Svm::predict(const double* x) const {
    double sum = 0;
    const double* v = vectors.data();
    for (const double coefficient : coefficients) {
        double distance = 0;  // squared
        for (size_t i = 0; i < dimensions; ++i) {
            const double d = x[i] - *v++;
            distance = distance + d * d;
        }
        sum = sum + coefficient * libm::exp(-gamma * distance);
    }
    return sum - rho;
}

Svm parse_svm(std::string_view text, size_t dimensions) {
    const Header header(text);
    header.require("svm_type", "nu_svr");
    header.require("kernel_type", "rbf");
    header.require("nr_class", "2");
    Svm svm;
    svm.dimensions = dimensions;
    svm.gamma = number(header.get("gamma"), "gamma");
    svm.rho = number(header.get("rho"), "rho");
    size_t total = 0;
    if (parse_all(header.get("total_sv"), total) != std::errc() || total < 1 || total > kMaxVectors)
        fail("total_sv is " + quote(header.get("total_sv")) + ", not a number from 1 to " + std::to_string(kMaxVectors));

    while (text.find_first_not_of(" \t\r\n") != text.npos) {
        std::string_view line = take(text, "\n");
        if (svm.coefficients.size() == total) fail("there are more support vectors than total_sv says (" + std::to_string(total) + ")");
        const std::string name = "support vector " + std::to_string(svm.coefficients.size() + 1);
        svm.coefficients.push_back(number(take_word(line), "the coefficient of " + name));
        svm.vectors.resize(svm.vectors.size() + dimensions);
        double* const vector = svm.vectors.data() + svm.vectors.size() - dimensions;
        size_t last = 0;
        for (std::string_view pair = take_word(line); !pair.empty(); pair = take_word(line)) {
            const std::string_view index_text = take(pair, ":");
            size_t index = 0;
            if (parse_all(index_text, index) != std::errc() || index <= last || index > dimensions)
                fail(name + " has the index " + quote(index_text) + ": indices rise, from 1 to " + std::to_string(dimensions) + ", the number of features");
            vector[index - 1] = number(pair, name + " at index " + std::to_string(index));
            last = index;
        }
    }
    if (svm.coefficients.size() < total)
        fail("there are " + std::to_string(svm.coefficients.size()) + " support vectors, fewer than total_sv says (" + std::to_string(total) + ")");
    return svm;
}

}  // namespace exactvq
