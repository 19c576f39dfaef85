// SPDX-License-Identifier: BSD-2-Clause
//
// The C API: turns exceptions into return values and keeps the last sentence.
#include <cfenv>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "exactvq/exactvq.h"
#include "host/error.h"
#include "host/options.h"
#include "host/session.h"

using namespace exactvq;

struct exactvq_session {
    std::optional<Session> session;  // empty if opening failed
    bool failed = false;             // submit or receive failed: only close is left
    // Fixed memory, so that the sentence of "no memory" needs none.
    mutable char error[1024] = "";

    exactvq_status fail(exactvq_status status, const char* sentence) const {
        std::snprintf(error, sizeof error, "%s", sentence);
        return status;
    }
};

namespace {

class DefaultFloatEnvironment {
public:
    DefaultFloatEnvironment() {
        std::fegetenv(&callers_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatEnvironment() { std::fesetenv(&callers_); }

private:
    std::fenv_t callers_;
};

constexpr const char* kNoMemory = "out of memory";

// Runs `function` (which returns a status) and files what it throws. The caller's rounding mode must not reach a score.
template <class Function>
exactvq_status guarded(const exactvq_session* s, Function&& function) {
    if (!s) return EXACTVQ_ERROR_ARGUMENT;
    s->error[0] = 0;
    const DefaultFloatEnvironment environment;
    try {
        return function();
    } catch (const Error& error) {
        return s->fail(error.status(), error.what());
    } catch (const std::bad_alloc&) {
        return s->fail(EXACTVQ_ERROR_NO_MEMORY, kNoMemory);
    } catch (const std::exception& error) {
        return s->fail(EXACTVQ_ERROR_STATE, error.what());
    }
}

Session& opened(const exactvq_session* s) {
    if (!s->session) throw Error(EXACTVQ_ERROR_STATE, "the session did not open");
    return const_cast<Session&>(*s->session);
}

Session& usable(const exactvq_session* s) {
    if (s->failed) throw Error(EXACTVQ_ERROR_STATE, "the session failed before: close it");
    return opened(s);
}

template <class Function>
exactvq_status streaming(exactvq_session* s, Function&& function) {
    const exactvq_status status = guarded(s, [&] { return function(usable(s)); });
    if (s && status <= EXACTVQ_ERROR_ARGUMENT) s->failed = true;
    return status;
}

// A structure that the caller wants filled must say how large it is.
template <class Result>
void require_size(const Result* result) {
    if (!result || result->struct_size < sizeof *result) throw Error(EXACTVQ_ERROR_ARGUMENT, "the result's struct_size is not set");
}

exactvq_status bad_index(const exactvq_session* s, size_t index, size_t count) {
    char text[96];
    std::snprintf(text, sizeof text, "there is no item %zu, the session has %zu", index, count);
    return s->fail(EXACTVQ_ERROR_ARGUMENT, text);
}

// The header's numbers are those of the project in meson.build.
#define EXACTVQ_TEXT_OF(number) #number
#define EXACTVQ_TEXT(number) EXACTVQ_TEXT_OF(number)
static_assert(std::string_view(EXACTVQ_VERSION_STRING) ==
              EXACTVQ_TEXT(EXACTVQ_VERSION_MAJOR) "." EXACTVQ_TEXT(EXACTVQ_VERSION_MINOR) "." EXACTVQ_TEXT(EXACTVQ_VERSION_PATCH));

}  // namespace

extern "C" {

const char* exactvq_version(void) { return EXACTVQ_VERSION_STRING; }

exactvq_status exactvq_open(const exactvq_config* config, exactvq_session** session) {
    if (!session) return EXACTVQ_ERROR_ARGUMENT;
    exactvq_session* s = *session = new (std::nothrow) exactvq_session;
    if (!s) return EXACTVQ_ERROR_NO_MEMORY;
    return guarded(s, [&] {
        if (!config || config->struct_size < sizeof *config) throw Error(EXACTVQ_ERROR_ARGUMENT, "the config's struct_size is not set");
        s->session.emplace(*config);
        return EXACTVQ_OK;
    });
}

const char* exactvq_error(const exactvq_session* s) { return s ? s->error : kNoMemory; }

const char* exactvq_backend_name(const exactvq_session* s) { return s && s->session ? s->session->backend_name().c_str() : ""; }

size_t exactvq_output_count(const exactvq_session* s) { return s && s->session ? s->session->plan().outputs().size() : 0; }

exactvq_status exactvq_get_output(const exactvq_session* s, size_t index, exactvq_output* output) {
    return guarded(s, [&] {
        const auto& outputs = opened(s).plan().outputs();
        if (index >= outputs.size()) return bad_index(s, index, outputs.size());
        require_size(output);
        const PlanOutput& o = outputs[index];
        *output = {output->struct_size, o.name.c_str(), o.libvmaf_name.c_str(), o.metric, o.label.c_str(), o.unit, o.unavailable.empty() ? nullptr : o.unavailable.c_str()};
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_submit(exactvq_session* s, const exactvq_frame* reference, const exactvq_frame* main, uint64_t index) {
    return streaming(s, [&](Session& session) {
        if (!reference || !main) throw Error(EXACTVQ_ERROR_ARGUMENT, "a frame of the pair is missing");
        return session.submit(*reference, *main, index) ? EXACTVQ_OK : EXACTVQ_AGAIN;
    });
}

exactvq_status exactvq_import(exactvq_session* s, const exactvq_frame* frame) {
    return guarded(s, [&] {
        if (!frame) throw Error(EXACTVQ_ERROR_ARGUMENT, "there is no frame to import");
        usable(s).import(*frame);
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_receive(exactvq_session* s, exactvq_score* scores, uint64_t* index, uint32_t flags) {
    return streaming(s, [&](Session& session) {
        if (!scores) throw Error(EXACTVQ_ERROR_ARGUMENT, "there is no room for the scores");
        return session.receive(scores, index, !(flags & EXACTVQ_NO_WAIT));
    });
}

exactvq_status exactvq_flush(exactvq_session* s) {
    return streaming(s, [](Session& session) {
        session.flush();
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_cut(exactvq_session* s) {
    return streaming(s, [](Session& session) {
        session.cut();
        return EXACTVQ_OK;
    });
}

void exactvq_close(exactvq_session* s) { delete s; }

exactvq_status exactvq_summary(const exactvq_session* s, size_t output, exactvq_pooled* pooled) {
    return guarded(s, [&] {
        const Session& session = opened(s);
        if (output >= session.plan().outputs().size()) return bad_index(s, output, session.plan().outputs().size());
        require_size(pooled);
        const Pooling& p = session.pooling(output);
        exactvq_pooled result{};
        result.struct_size = pooled->struct_size;
        result.count = p.count();
        if (p.count() > 0) {
            result.mean = p.mean();
            result.min = p.min();
            result.max = p.max();
            result.harmonic_mean = p.harmonic_mean();
            result.stddev = p.stddev();
            if (const std::vector<double> sorted = session.sorted_values(output); !sorted.empty()) {
                result.has_percentiles = 1;
                result.p1 = percentile(sorted, 1);
                result.p5 = percentile(sorted, 5);
                result.p10 = percentile(sorted, 10);
            }
        }
        *pooled = result;
        return EXACTVQ_OK;
    });
}

size_t exactvq_aggregate_count(const exactvq_session* s) { return s && s->session ? s->session->plan().aggregates().size() : 0; }

exactvq_status exactvq_get_aggregate(const exactvq_session* s, size_t index, exactvq_aggregate* aggregate) {
    return guarded(s, [&] {
        const Plan& plan = opened(s).plan();
        if (index >= plan.aggregates().size()) return bad_index(s, index, plan.aggregates().size());
        require_size(aggregate);
        const PlanAggregate& a = plan.aggregates()[index];
        *aggregate = {aggregate->struct_size, a.name.c_str(), a.metric, a.label.c_str(), plan.aggregate_values()[index]};
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_start_log(exactvq_session* s, const char* path, uint32_t format, uint32_t flags) {
    return guarded(s, [&] {
        usable(s).start_log(path, format, flags);
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_finish_log(exactvq_session* s) {
    return guarded(s, [&] {
        usable(s).finish_log();
        return EXACTVQ_OK;
    });
}

exactvq_status exactvq_parse_metrics(const char* metrics, const char* options, const char* models, exactvq_metric_list* list, char* error, size_t error_size) {
    const auto report = [&](exactvq_status status, const char* sentence) {
        if (error && error_size) std::snprintf(error, error_size, "%s", sentence);
        return status;
    };
    if (!list) return report(EXACTVQ_ERROR_ARGUMENT, "there is no list to fill");
    *list = {nullptr, 0};
    if (error && error_size) error[0] = 0;
    try {
        const MetricList parsed = parse_metrics(metrics ? metrics : "", options ? options : "", models ? models : "");
        // One block: metrics, then options, then text. Freed as one.
        size_t option_count = 0, text_size = 0;
        for (const auto& instance : parsed.instances) {
            option_count += instance.options.size();
            text_size += instance.name.size() + instance.label.size() + 2;
            for (const auto& [key, value] : instance.options) text_size += key.size() + value.size() + 2;
        }
        const size_t options_at = parsed.instances.size() * sizeof(exactvq_metric), text_at = options_at + option_count * sizeof(exactvq_option);
        char* block = static_cast<char*>(::operator new(text_at + text_size));
        auto* metric = reinterpret_cast<exactvq_metric*>(block);
        auto* option = reinterpret_cast<exactvq_option*>(block + options_at);
        char* text = block + text_at;
        const auto put = [&text](const std::string& string) {
            char* start = text;
            std::memcpy(text, string.c_str(), string.size() + 1);
            text += string.size() + 1;
            return start;
        };
        *list = {metric, parsed.instances.size()};
        for (const auto& instance : parsed.instances) {
            *metric++ = {put(instance.name), put(instance.label), option, instance.options.size()};
            for (const auto& [key, value] : instance.options) *option++ = {put(key), put(value)};
        }
        return EXACTVQ_OK;
    } catch (const Error& e) {
        return report(e.status(), e.what());
    } catch (const std::exception&) {
        return report(EXACTVQ_ERROR_NO_MEMORY, kNoMemory);
    }
}

void exactvq_free_metrics(exactvq_metric_list* list) {
    if (!list) return;
    ::operator delete(list->metrics);
    *list = {nullptr, 0};
}

const char* exactvq_describe_metrics(void) {
    try {
        static const std::string text = describe_metrics();
        return text.c_str();
    } catch (const std::exception&) {
        return "";
    }
}

size_t exactvq_format_double(double value, char* text, size_t size) {
    if (!text || size == 0) return 0;
    char digits[40];
    size_t length;
    if (std::isnan(value)) {
        std::memcpy(digits, "nan", length = 3);
    } else {
        length = static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits);
    }
    if (length >= size) return text[0] = 0, 0;
    std::memcpy(text, digits, length);
    text[length] = 0;
    return length;
}

}  // extern "C"
