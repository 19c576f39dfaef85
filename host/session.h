// SPDX-License-Identifier: BSD-2-Clause
//
// One measurement from open to close: queues pairs to the backend, delivers their scores in order, pools them.
#ifndef EXACTVQ_HOST_SESSION_H
#define EXACTVQ_HOST_SESSION_H

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exactvq/exactvq.h"
#include "host/backend.h"
#include "host/log_file.h"
#include "host/plan.h"
#include "host/pooling.h"
#include "host/score_log.h"

namespace exactvq {

class Session {
public:
    explicit Session(const exactvq_config& config);  // throws Error
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Plan& plan() const { return plan_; }
    const std::string& backend_name() const { return backend_name_; }

    // False: full, nothing was taken.
    bool submit(const exactvq_frame& reference, const exactvq_frame& main, uint64_t index);
    void import(const exactvq_frame& frame);
    exactvq_status receive(exactvq_score* scores, uint64_t* index, bool wait);
    void flush() { flushed_ = true; }
    void cut() { cut_ = submitted_ > 0; }

    const Pooling& pooling(size_t output) const { return pooling_[output]; }
    // The values of a score in rising order; none if they are not kept.
    std::vector<double> sorted_values(size_t output) const;

    void start_log(const char* path, uint32_t format, uint32_t flags);
    void finish_log();

private:
    struct Slot {
        exactvq_frame reference, main;
        uint64_t index = 0;
        bool starts = false;  // a sequence: nothing before it is looked at
        enum class Asked { kNothing, kMotion, kAll } asked = Asked::kNothing;  // of the backend
        std::vector<uint64_t> words;
    };

    void check_frame(const exactvq_frame& frame, const std::string& name, bool is_main, FramePair& pair) const;
    void look_for_zero_tail(const PlaneView& plane, const char* input, bool& decided);
    void log(exactvq_log_level level, const std::string& message) const;

    const exactvq_format format_;
    const uint32_t memory_;  // exactvq_memory
    const Geometry geometry_;
    Plan plan_;
    const uint32_t subsample_;
    const exactvq_log_callback log_callback_;
    void* const log_opaque_;

    std::vector<Slot> slots_;  // a ring: `queued_` slots from `oldest_` on
    size_t oldest_ = 0, queued_ = 0;
    uint64_t submitted_ = 0;
    bool flushed_ = false, cut_ = false;  // cut_: the next pair starts a sequence
    bool tail_known_[2] = {true, true};  // reference, main

    std::vector<double> scores_, row_;  // of a frame; as the log has them
    std::vector<Pooling> pooling_;
    std::optional<ScoreStore> store_;
    std::vector<const uint64_t*> window_;  // words of the oldest slot and of those that its scores wait for
    std::vector<size_t> log_order_;         // outputs as libvmaf lists them
    EarlierFrame earlier_[2];  // one and two pairs ago
    clock_t first_score_ = 0, last_score_ = 0;
    std::optional<LogFile> log_file_;
    exactvq_log_format log_format_ = EXACTVQ_LOG_FORMAT_JSON;
    bool log_full_precision_ = false;

    std::string backend_name_;
    std::unique_ptr<Backend> backend_;  // destroyed first: it may still be reading frames and writing words
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_SESSION_H
