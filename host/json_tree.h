// SPDX-License-Identifier: BSD-2-Clause
//
// A JSON text as a tree. Bounded: what is nested too deep or has too many values is refused while it is read.
#ifndef EXACTVQ_HOST_JSON_TREE_H
#define EXACTVQ_HOST_JSON_TREE_H

#include <string>
#include <string_view>
#include <vector>

namespace exactvq {

constexpr size_t kMaxJsonDepth = 32, kMaxJsonValues = 100000;

struct JsonValue {
    enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

    Kind kind = Kind::kNull;
    bool truth = false;
    std::string text;               // of a string, or of a number in decimal, so that each reader rounds it once
    std::vector<std::string> keys;  // of an object, in the order of the text
    std::vector<JsonValue> items;   // of an array or object

    // nullptr: the object does not have the key. Of a key that comes twice the last one counts.
    const JsonValue* find(std::string_view key) const;
};

// Throws Error whose text completes "the file ...": "is not JSON (line 3, column 7)".
JsonValue parse_json(std::string_view text);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_JSON_TREE_H
