// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers in texts, whatever the locale, and texts in sentences.
#ifndef EXACTVQ_HOST_TEXT_H
#define EXACTVQ_HOST_TEXT_H

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace exactvq {

// In quotes, shortened, so that the sentence stays readable.
std::string quote(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

// All of `text`, correctly rounded.
template <class T>
std::errc parse_all(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

// printf's "%g".
std::string six_digits(double value);

// As libvmaf reads a number: strtof, "%g", strtod. What is too small for binary32 is 0. False if it is no number or too large.
bool parse_through_binary32(std::string_view text, double& value);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_TEXT_H
