// SPDX-License-Identifier: BSD-2-Clause
//
// libvmaf's layout is fixed to the byte (tools cut it up by lines), so the text is written here and not by a JSON library.
#include "host/score_log.h"

#include <charconv>
#include <cmath>

namespace exactvq {

void ScoreStore::add(uint64_t index, const double* scores) {
    index_.push_back(index);
    try {
        values_.insert(values_.end(), scores, scores + outputs_);
    } catch (...) {
        index_.pop_back();  // a failure leaves the store as it was
        throw;
    }
}

namespace {

// Fixed notation without regard to the locale.
std::string fixed(double value, int digits) {
    if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char text[400];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
    return std::string(text, end);
}

// Six decimals, or sixteen where the fraction is smaller than they can show.
std::string libvmaf_number(double value) {
    if (!std::isfinite(value)) return fixed(value, 6);
    double fraction = std::fabs(value);
    fraction = fraction < 2147483648.0 ? fraction - std::trunc(fraction) : 1.0;
    int shift = 0;
    if (fraction != 0)
        while (fraction < 1) {
            fraction *= 10;
            ++shift;
        }
    return fixed(value, shift <= 6 ? 6 : 16);
}

struct NamedPool {
    const char* name;
    double value;
};

std::vector<NamedPool> pools(const Pooling& pooling) {
    if (pooling.count() == 0) return {};
    return {{"min", pooling.min()}, {"max", pooling.max()}, {"mean", pooling.mean()}, {"harmonic_mean", pooling.harmonic_mean()}};
}

std::string number(const ScoreLog& log, double value) {
    if (!log.full_precision) return libvmaf_number(value);
    char text[32];
    return std::string(text, exactvq_format_double(value, text, sizeof text));
}

std::string json_number(const ScoreLog& log, double value) { return std::isfinite(value) ? number(log, value) : "null"; }

// The frames that have at least one value.
template <class Function>
void for_each_listed(const ScoreLog& log, Function&& function) {
    for (size_t f = 0; f < log.store->frames(); ++f) {
        const double* scores = log.store->scores(f);
        bool any = false;
        for (size_t i = 0; i < log.names.size(); ++i) any = any || !std::isnan(scores[i]);
        if (any) function(log.store->index(f), scores);
    }
}

// Text on its way to the file, so that the memory for it does not grow with the log.
class Text {
public:
    explicit Text(const LogSink& sink) : sink_(sink) {}
    Text& operator<<(std::string_view more) {
        buffer_ += more;
        if (buffer_.size() >= kPiece) flush();
        return *this;
    }
    void flush() {
        sink_(buffer_);
        buffer_.clear();
    }

private:
    static constexpr size_t kPiece = size_t{1} << 16;
    const LogSink& sink_;
    std::string buffer_;
};

void json(const ScoreLog& log, Text& text) {
    text << "{\n  \"version\": \"" << exactvq_version() << "\",\n  \"fps\": ";
    text << (std::isfinite(log.frames_per_cpu_second) ? fixed(log.frames_per_cpu_second, 2) : "null") << ",\n  \"frames\": [";
    const char* separator = "\n";
    for_each_listed(log, [&](uint64_t index, const double* scores) {
        text << separator << "    {\n      \"frameNum\": " << std::to_string(index) << ",\n      \"metrics\": {";
        const char* comma = "\n";
        for (size_t i = 0; i < log.names.size(); ++i) {
            if (std::isnan(scores[i])) continue;
            text << comma << "        \"" << log.names[i] << "\": " << json_number(log, scores[i]);
            comma = std::isfinite(scores[i]) ? ",\n" : ",";  // libvmaf breaks no line after null
        }
        text << "\n      }\n    }";
        separator = ",\n";
    });
    text << "\n  ],\n  \"pooled_metrics\": {";
    separator = "\n";
    for (size_t i = 0; i < log.names.size(); ++i) {
        text << separator << "    \"" << log.names[i] << "\": {";
        const char* comma = "\n";
        for (const NamedPool& pool : pools((*log.pooling)[i])) {
            text << comma << "      \"" << pool.name << "\": " << json_number(log, pool.value);
            comma = ",\n";
        }
        text << "\n    }";
        separator = ",\n";
    }
    text << "\n  },\n  \"aggregate_metrics\": {";
    separator = "\n";
    for (const MetricAggregate& aggregate : log.aggregates) {
        text << separator << "    \"" << aggregate.name << "\": " << json_number(log, aggregate.value);
        separator = ",\n";
    }
    text << "\n  }\n}\n";
}

void xml(const ScoreLog& log, Text& text) {
    const auto attribute = [&text](std::string_view name, std::string_view value) { text << name << "=\"" << value << "\" "; };
    text << "<VMAF version=\"" << exactvq_version() << "\">\n  <params ";
    attribute("qualityWidth", std::to_string(log.width));
    attribute("qualityHeight", std::to_string(log.height));
    text << "/>\n  <fyi ";
    attribute("fps", fixed(log.frames_per_cpu_second, 2));
    text << "/>\n  <frames>\n";
    for_each_listed(log, [&](uint64_t index, const double* scores) {
        text << "    <frame ";
        attribute("frameNum", std::to_string(index));
        for (size_t i = 0; i < log.names.size(); ++i)
            if (!std::isnan(scores[i])) attribute(log.names[i], number(log, scores[i]));
        text << "/>\n";
    });
    text << "  </frames>\n  <pooled_metrics>\n";
    for (size_t i = 0; i < log.names.size(); ++i) {
        text << "    <metric ";
        attribute("name", log.names[i]);
        for (const NamedPool& pool : pools((*log.pooling)[i])) attribute(pool.name, number(log, pool.value));
        text << "/>\n";
    }
    text << "  </pooled_metrics>\n  <aggregate_metrics ";
    for (const MetricAggregate& aggregate : log.aggregates) attribute(aggregate.name, number(log, aggregate.value));
    text << "/>\n</VMAF>\n";
}

void csv(const ScoreLog& log, Text& text) {
    text << "Frame,";
    for (const std::string& name : log.names) text << name << ",";
    text << "\n";
    for_each_listed(log, [&](uint64_t index, const double* scores) {
        text << std::to_string(index) << ",";
        for (size_t i = 0; i < log.names.size(); ++i)
            text << (std::isnan(scores[i]) ? std::string() : number(log, scores[i])) << ",";  // libvmaf leaves the cell out, and what follows gets into wrong columns
        text << "\n";
    });
}

void sub(const ScoreLog& log, Text& text) {
    for_each_listed(log, [&](uint64_t index, const double* scores) {
        text << "{" << std::to_string(index) << "}{" << std::to_string(index + 1) << "}frame: " << std::to_string(index) << "|";
        for (size_t i = 0; i < log.names.size(); ++i)
            if (!std::isnan(scores[i])) text << log.names[i] << ": " << number(log, scores[i]) << "|";
        text << "\n";
    });
}

}  // namespace

void render_log(const ScoreLog& log, exactvq_log_format format, const LogSink& sink) {
    Text text(sink);
    switch (format) {
    case EXACTVQ_LOG_FORMAT_JSON: json(log, text); break;
    case EXACTVQ_LOG_FORMAT_XML: xml(log, text); break;
    case EXACTVQ_LOG_FORMAT_CSV: csv(log, text); break;
    case EXACTVQ_LOG_FORMAT_SUB: sub(log, text); break;
    }
    text.flush();
}

}  // namespace exactvq
