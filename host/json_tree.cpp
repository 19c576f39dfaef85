// SPDX-License-Identifier: BSD-2-Clause
#include "host/json_tree.h"

#include <locale.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "host/error.h"

namespace exactvq {
namespace {

[[noreturn]] void fail(const std::string& predicate) { throw Error(EXACTVQ_ERROR_ARGUMENT, predicate); }

// The thread's locale is C while this lives: nlohmann's lexer reads numbers with strtod, and asserts that it took all of them.
class CLocale {
public:
    CLocale() : c_(newlocale(LC_ALL_MASK, "C", nullptr)) {
        if (!c_) throw std::bad_alloc();
        callers_ = uselocale(c_);
    }
    ~CLocale() {
        uselocale(callers_);
        freelocale(c_);
    }
    CLocale(const CLocale&) = delete;
    CLocale& operator=(const CLocale&) = delete;

private:
    locale_t c_, callers_;
};

using Json = nlohmann::json;

class TreeBuilder : public nlohmann::json_sax<Json> {
public:
    using Kind = JsonValue::Kind;

    JsonValue root;
    size_t error_position = 0;

    bool null() override { return add(Kind::kNull), true; }
    bool boolean(bool value) override { return add(Kind::kBool).truth = value, true; }
    bool number_integer(Json::number_integer_t value) override { return add(Kind::kNumber).text = std::to_string(value), true; }
    bool number_unsigned(Json::number_unsigned_t value) override { return add(Kind::kNumber).text = std::to_string(value), true; }
    bool number_float(Json::number_float_t, const std::string& text) override { return add(Kind::kNumber).text = text, true; }
    bool string(std::string& value) override { return add(Kind::kString).text = std::move(value), true; }
    bool binary(Json::binary_t&) override { return false; }  // no part of JSON's text form
    bool start_object(size_t) override { return open(Kind::kObject); }
    bool start_array(size_t) override { return open(Kind::kArray); }
    bool key(std::string& name) override { return open_.back()->keys.push_back(std::move(name)), true; }
    bool end_object() override { return open_.pop_back(), true; }
    bool end_array() override { return open_.pop_back(), true; }
    bool parse_error(size_t position, const std::string&, const Json::exception&) override { return error_position = position, false; }

private:
    JsonValue& add(Kind kind) {
        if (++values_ > kMaxJsonValues) fail("holds more than " + std::to_string(kMaxJsonValues) + " values");
        JsonValue& value = open_.empty() ? root : open_.back()->items.emplace_back();
        value.kind = kind;
        return value;
    }
    bool open(Kind kind) {
        if (open_.size() == kMaxJsonDepth) fail("is nested more than " + std::to_string(kMaxJsonDepth) + " deep");
        open_.push_back(&add(kind));  // stays where it is until it is closed: until then nothing is added to what holds it
        return true;
    }

    std::vector<JsonValue*> open_;
    size_t values_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
    for (size_t i = keys.size(); i > 0; --i)
        if (keys[i - 1] == key) return &items[i - 1];
    return nullptr;
}

JsonValue parse_json(std::string_view text) {
    const CLocale locale;
    TreeBuilder builder;
    const size_t zero = text.find('\0');  // ends the text for the lexer
    if (zero != text.npos)
        builder.error_position = zero + 1;
    else if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
    const std::string_view before = text.substr(0, std::min(text.size(), std::max<size_t>(builder.error_position, 1) - 1));
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')), column = before.size() - (before.rfind('\n') + 1) + 1;
    fail("is not JSON (line " + std::to_string(line) + ", column " + std::to_string(column) + ")");
}

}  // namespace exactvq
