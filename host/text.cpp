// SPDX-License-Identifier: BSD-2-Clause
#include "host/text.h"

#include <cmath>

namespace exactvq {

std::string quote(std::string_view text) {
    constexpr size_t kLongest = 60;
    return std::string("'").append(text.substr(0, kLongest)).append(text.size() > kLongest ? "...'" : "'");
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t start = 0;;) {
        const size_t end = text.find(separator, start);
        parts.push_back(text.substr(start, end - start));
        if (end == std::string_view::npos) return parts;
        start = end + 1;
    }
}

std::string six_digits(double value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr);
}

bool parse_through_binary32(std::string_view text, double& value) {
    float rounded = 0;
    const std::errc error = parse_all(text, rounded);
    if (error == std::errc::result_out_of_range) {
        double exact = 0;  // out of range too: too large, or far too small
        const std::errc wide = parse_all(text, exact);
        if (wide == std::errc::result_out_of_range ? text.find("e-") == text.npos && text.find("E-") == text.npos : wide != std::errc() || std::fabs(exact) > 1) return false;
        rounded = 0;
    } else if (error != std::errc()) {
        return false;
    }
    if (!std::isfinite(rounded)) return false;
    if (parse_all(std::string_view(six_digits(static_cast<double>(rounded))), value) != std::errc()) return false;
    value += 0.0;  // no negative zero
    return true;
}

}  // namespace exactvq
