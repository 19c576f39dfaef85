// SPDX-License-Identifier: BSD-2-Clause
#include "host/session.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "host/error.h"

namespace exactvq {
namespace {

constexpr uint32_t kDefaultFramesInFlight = 4, kMaxFramesInFlight = 256, kMaxThreads = 1024;

void require(bool condition, const std::string& sentence, exactvq_status status = EXACTVQ_ERROR_ARGUMENT) {
    if (!condition) throw Error(status, sentence);
}

std::unique_ptr<Backend> make_backend(const exactvq_config& config, const BackendConfig& backend) {
    static constexpr exactvq_backend kReaders[] = {EXACTVQ_BACKEND_CPU, EXACTVQ_BACKEND_CUDA, EXACTVQ_BACKEND_HIP};  // by exactvq_memory
    require(config.memory < std::size(kReaders), "unknown memory kind " + std::to_string(config.memory));
    const bool device = config.memory == EXACTVQ_MEMORY_CUDA, shared = config.memory == EXACTVQ_MEMORY_DMABUF;
    const uint32_t chosen = config.backend == EXACTVQ_BACKEND_AUTO ? static_cast<uint32_t>(kReaders[config.memory]) : config.backend;
    require(!shared || chosen == EXACTVQ_BACKEND_HIP, "only the HIP backend reads dma-bufs: use it, or copy the frames to host memory", EXACTVQ_ERROR_UNSUPPORTED);
    switch (chosen) {
    case EXACTVQ_BACKEND_CPU:
        require(!device, "the CPU backend cannot read frames in CUDA memory: use the CUDA backend, or download them", EXACTVQ_ERROR_UNSUPPORTED);
        return make_cpu_backend(backend);
    case EXACTVQ_BACKEND_CUDA:
#ifdef EXACTVQ_CUDA
        return make_cuda_backend(backend);
#else
        throw Error(EXACTVQ_ERROR_UNSUPPORTED, std::string("this build of libexactvq has no CUDA backend: use the CPU backend") + (device ? ", with frames in host memory" : ""));
#endif
    case EXACTVQ_BACKEND_HIP:
        require(!device, "the HIP backend cannot read frames in CUDA memory: use the CUDA backend, or download them", EXACTVQ_ERROR_UNSUPPORTED);
#ifdef EXACTVQ_HIP
        return make_hip_backend(backend);
#else
        throw Error(EXACTVQ_ERROR_UNSUPPORTED, "this build of libexactvq has no HIP backend: use the CPU backend");
#endif
    }
    throw Error(EXACTVQ_ERROR_ARGUMENT, "unknown backend " + std::to_string(config.backend));
}

std::string describe(const exactvq_format& f) {
    std::string text = std::to_string(f.width) + "x" + std::to_string(f.height) + ", " + std::to_string(f.depth) + " bits, ";
    if (f.planes == 1) return text + "luma only";
    return text + "chroma 1/" + std::to_string(1u << f.log2_chroma_w) + " wide and 1/" + std::to_string(1u << f.log2_chroma_h) + " high";
}

const char* memory_name(uint32_t memory) {
    static constexpr const char* kNames[] = {"host memory", "CUDA memory", "dma-bufs"};
    return memory < std::size(kNames) ? kNames[memory] : "memory of an unknown kind";
}

bool same(const exactvq_format& a, const exactvq_format& b) {
    return a.width == b.width && a.height == b.height && a.depth == b.depth && a.planes == b.planes &&
           (a.planes == 1 || (a.log2_chroma_w == b.log2_chroma_w && a.log2_chroma_h == b.log2_chroma_h));
}

PlaneView make_view(const exactvq_plane& plane, PlaneSize size, uint32_t depth, const std::string& name) {
    const uint32_t bytes = depth > 8 ? 2 : 1, step = plane.step ? plane.step : bytes;
    require(step == bytes || step == 2 * bytes,
            name + " has a step of " + std::to_string(step) + " bytes between samples: it must be " + std::to_string(bytes) + " or " + std::to_string(2 * bytes));
    require(depth == 8 ? plane.shift == 0 : plane.shift <= 16 - depth, name + " is shifted by " + std::to_string(plane.shift) + " bits, more than its words hold");
    const uint64_t stride = plane.stride < 0 ? 0 - static_cast<uint64_t>(plane.stride) : static_cast<uint64_t>(plane.stride);
    require(size.height == 1 || stride <= static_cast<uint64_t>(PTRDIFF_MAX) / size.height, name + " has a stride beyond all memory");
    require(size.height == 1 || stride >= (static_cast<uint64_t>(size.width) - 1) * step + bytes,
            name + " has a stride of " + std::to_string(plane.stride) + " bytes, less than a row of " + std::to_string(size.width) + " samples");
    PlaneView view;
    view.data = static_cast<const uint8_t*>(plane.data);
    view.stride = plane.stride;
    view.width = size.width;
    view.height = size.height;
    view.depth = depth;
    view.step = step;
    view.shift = plane.shift;
    return view;
}

// By seeking, as dma-bufs tell their size; anything else has a position, which is the caller's.
off_t size_of(int fd) {
    const off_t position = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);
    if (position >= 0) lseek(fd, position, SEEK_SET);
    return end;
}

// What is known of the dma-bufs that the planes of a frame lie in.
SharedFrame shared_frame(const exactvq_frame& frame, uint32_t planes, const std::string& name) {
    SharedFrame shared;
    for (uint32_t i = 0; i < planes; ++i) {
        const uint32_t index = frame.plane_dmabuf[i];
        require(index < std::size(frame.dmabuf), "plane " + std::string(kPlaneSuffix[i]) + " of the " + name + " frame lies in dma-buf " + std::to_string(index) + ": there are at most " +
                                                     std::to_string(std::size(frame.dmabuf)));
        const exactvq_dmabuf& buffer = frame.dmabuf[index];
        char modifier[19];
        snprintf(modifier, sizeof modifier, "0x%016" PRIx64, buffer.modifier);
        require(buffer.modifier == 0, "the " + name + " frame's layout (DRM format modifier " + modifier + ") is not linear: it has to be copied to host memory", EXACTVQ_ERROR_UNSUPPORTED);
        // Not what the descriptor says: nothing may be read behind the end.
        const off_t size = shared.buffer[index].size ? static_cast<off_t>(shared.buffer[index].size) : size_of(buffer.fd);
        require(size > 0, "the " + name + " frame's dma-buf does not tell its size: it has to be copied to host memory", EXACTVQ_ERROR_UNSUPPORTED);
        require(buffer.size <= static_cast<uint64_t>(size), "the " + name + " frame's dma-buf has " + std::to_string(size) + " bytes, its description " + std::to_string(buffer.size), EXACTVQ_ERROR_UNSUPPORTED);
        shared.buffer[index] = {buffer.fd, static_cast<uint64_t>(size)};
        shared.of_plane[i] = index;
    }
    return shared;
}

// Of a plane whose data is an offset.
void require_inside(const PlaneView& plane, uint64_t size, const std::string& name) {
    const uint64_t row = (uint64_t{plane.width} - 1) * plane.step + plane.word_bytes(), offset = reinterpret_cast<uintptr_t>(plane.data);
    const uint64_t stride = static_cast<uint64_t>(plane.stride), extent = (plane.stride < 0 ? 0 - stride : stride) * (plane.height - 1);  // make_view() bounds it
    const bool inside = offset <= size && (plane.stride < 0 ? extent <= offset && row <= size - offset : extent <= size - offset && row <= size - offset - extent);
    require(inside, name + " reaches beyond its dma-buf of " + std::to_string(size) + " bytes", EXACTVQ_ERROR_UNSUPPORTED);
}

void release(const exactvq_frame& frame) {
    if (frame.release) frame.release(frame.opaque);
}

}  // namespace

Session::Session(const exactvq_config& config)
    : format_(config.format),
      memory_(config.memory),
      geometry_(make_geometry(config.format)),
      plan_(config.metrics, config.metric_count, geometry_),
      subsample_(config.subsample ? config.subsample : 1),
      log_callback_(config.log),
      log_opaque_(config.log_opaque) {
    require(config.threads <= kMaxThreads, "threads is " + std::to_string(config.threads) + ": at most " + std::to_string(kMaxThreads));
    require(config.frames_in_flight <= kMaxFramesInFlight,
            "frames_in_flight is " + std::to_string(config.frames_in_flight) + ": at most " + std::to_string(kMaxFramesInFlight));
    slots_.resize((config.frames_in_flight ? config.frames_in_flight : kDefaultFramesInFlight) + plan_.successors());
    for (Slot& slot : slots_) slot.words.resize(count_words(plan_.accumulators()));
    scores_.resize(plan_.outputs().size());
    pooling_.resize(plan_.outputs().size());
    if (config.keep_scores) store_.emplace(plan_.outputs().size());
    log_order_.resize(plan_.outputs().size());
    row_.resize(plan_.outputs().size());
    std::iota(log_order_.begin(), log_order_.end(), size_t{0});
    std::stable_sort(log_order_.begin(), log_order_.end(), [this](size_t a, size_t b) { return plan_.outputs()[a].log_rank < plan_.outputs()[b].log_rank; });
    window_.reserve(plan_.successors() + 1);
    tail_known_[0] = tail_known_[1] = config.format.depth != 16 || memory_ != EXACTVQ_MEMORY_HOST;  // device memory is not looked at

    BackendConfig backend;
    backend.geometry = geometry_;
    backend.accumulators = plan_.accumulators();
    backend.device_memory = memory_ == EXACTVQ_MEMORY_CUDA;
    backend.slots = static_cast<uint32_t>(slots_.size());
    backend.threads = config.threads;
    backend.cpu_mask = config.cpu_mask;
    backend.device = config.device;
    backend.device_context = config.device_context;
    backend_ = make_backend(config, backend);
    backend_name_ = backend_->description();
}

Session::~Session() {
    backend_.reset();
    for (; queued_ > 0; --queued_, oldest_ = (oldest_ + 1) % slots_.size()) {
        release(slots_[oldest_].reference);
        release(slots_[oldest_].main);
    }
}

void Session::log(exactvq_log_level level, const std::string& message) const {
    if (log_callback_) log_callback_(log_opaque_, level, one_line(message).c_str());
}

void Session::check_frame(const exactvq_frame& frame, const std::string& name, bool is_main, FramePair& pair) const {
    require(frame.struct_size >= sizeof(exactvq_frame), "the " + name + " frame's struct_size is not set");
    require(frame.memory == memory_ || (memory_ == EXACTVQ_MEMORY_DMABUF && frame.memory == EXACTVQ_MEMORY_HOST),
            "the " + name + " frame is in " + memory_name(frame.memory) + ", the session was opened for frames in " + memory_name(memory_), EXACTVQ_ERROR_UNSUPPORTED);
    require(same(frame.format, format_), "the " + name + " frame is " + describe(frame.format) + ", the session was opened for " + describe(format_));
    const bool shared = frame.memory == EXACTVQ_MEMORY_DMABUF;
    if (shared) pair.shared[is_main] = shared_frame(frame, geometry_.planes, name);
    pair.stream[is_main] = frame.stream;
    for (uint32_t i = 0; i < geometry_.planes; ++i) {
        const std::string plane = "plane " + std::string(kPlaneSuffix[i]) + " of the " + name + " frame";
        require(shared || frame.plane[i].data, plane + " has no data");
        const PlaneView view = make_view(frame.plane[i], geometry_.plane[i], geometry_.depth, plane);
        const uintptr_t place = reinterpret_cast<uintptr_t>(view.data) | (view.height > 1 ? static_cast<uintptr_t>(view.stride) : 0);
        require(frame.memory == EXACTVQ_MEMORY_HOST || place % view.word_bytes() == 0, plane + " has rows at odd addresses, which frames in device memory may not have", shared ? EXACTVQ_ERROR_UNSUPPORTED : EXACTVQ_ERROR_ARGUMENT);
        if (shared) require_inside(view, pair.shared[is_main]->buffer[frame.plane_dmabuf[i]].size, plane);
        (is_main ? pair.plane[i].main : pair.plane[i].ref) = view;
    }
}

// 12-bit video in 16-bit words scores differently from the same video in 12-bit words; say so, once, when the samples look like it.
void Session::look_for_zero_tail(const PlaneView& plane, const char* input, bool& decided) {
    uint32_t any = 0;
    for (uint32_t y = 0; y < plane.height && !(any & 0xf); ++y)
        for (uint32_t x = 0; x < plane.width; ++x) any |= plane.sample(x, y);
    if (any == 0) return;  // a black frame says nothing
    decided = true;
    uint32_t zeros = 0;
    while (!(any >> zeros & 1)) ++zeros;
    if (zeros >= 4)
        log(EXACTVQ_LOG_WARNING, std::string(input) + ": the low " + std::to_string(zeros) + " bits of all 16-bit luma samples are zero; if this is " +
                                     std::to_string(16 - zeros) + "-bit video in 16-bit words, score its real depth (bits=" + std::to_string(16 - zeros) + ")");
}

bool Session::submit(const exactvq_frame& reference, const exactvq_frame& main, uint64_t index) {
    require(!flushed_, "a pair was submitted after the flush", EXACTVQ_ERROR_STATE);
    require(index == submitted_, "pair " + std::to_string(index) + " was submitted, " + std::to_string(submitted_) + " is next", EXACTVQ_ERROR_STATE);
    if (queued_ == slots_.size()) return false;
    FramePair pair;
    check_frame(reference, "reference", false, pair);
    check_frame(main, "main", true, pair);
    if (!tail_known_[0]) look_for_zero_tail(pair.plane[0].ref, "reference", tail_known_[0]);
    if (!tail_known_[1]) look_for_zero_tail(pair.plane[0].main, "main", tail_known_[1]);

    const size_t position = (oldest_ + queued_) % slots_.size();
    Slot& slot = slots_[position];
    using Asked = Slot::Asked;
    slot.asked = index % subsample_ == 0 || plan_.needs_every_frame() ? Asked::kAll : plan_.successors() > 0 ? Asked::kMotion : Asked::kNothing;
    slot.starts = cut_;
    if (cut_) earlier_[0] = earlier_[1] = {};
    if (plan_.successors() > 0) {
        pair.motion_only = slot.asked == Asked::kMotion;
        std::copy_n(earlier_, 2, pair.earlier);
        earlier_[1] = std::move(earlier_[0]);
        earlier_[0] = {pair.plane[0].ref, pair.stream[0], pair.shared[0]};
    }
    if (slot.asked != Asked::kNothing) backend_->start(static_cast<uint32_t>(position), pair, slot.words.data());
    slot.reference = reference;
    slot.main = main;
    slot.index = index;
    cut_ = false;
    ++queued_;
    ++submitted_;
    return true;
}

void Session::import(const exactvq_frame& frame) {
    require(frame.memory == EXACTVQ_MEMORY_DMABUF, std::string("only frames in dma-bufs can be imported, this one is in ") + memory_name(frame.memory));
    FramePair pair;
    check_frame(frame, "imported", false, pair);
    backend_->import(*pair.shared[0]);
}

exactvq_status Session::receive(exactvq_score* scores, uint64_t* index, bool wait) {
    if (queued_ == 0) return flushed_ ? EXACTVQ_END : EXACTVQ_AGAIN;
    // A frame is held until no later one reads it any more: those that its scores wait for are just those.
    size_t window = 1;
    while (window <= plan_.successors() && window < queued_ && !slots_[(oldest_ + window) % slots_.size()].starts) ++window;
    if (window <= plan_.successors() && window == queued_ && !flushed_ && !cut_) return EXACTVQ_AGAIN;
    window_.clear();
    for (size_t i = 0; i < window; ++i) {
        const size_t position = (oldest_ + i) % slots_.size();
        window_.push_back(slots_[position].words.data());
        if (slots_[position].asked == Slot::Asked::kNothing) continue;
        if (!wait && !backend_->done(static_cast<uint32_t>(position))) return EXACTVQ_AGAIN;
        backend_->wait(static_cast<uint32_t>(position));
    }
    Slot& slot = slots_[oldest_];
    const bool scored = slot.index % subsample_ == 0;
    if (slot.starts) plan_.restart();
    if (scored || plan_.successors() > 0) plan_.conclude(window_.data(), static_cast<uint32_t>(window), scored, scores_.data());
    if (scored) {
        for (size_t i = 0; i < scores_.size(); ++i)
            if (!plan_.outputs()[i].unavailable.empty()) scores_[i] = std::numeric_limits<double>::quiet_NaN();
        if (store_) {
            for (size_t i = 0; i < log_order_.size(); ++i) row_[i] = scores_[log_order_[i]];
            store_->add(slot.index, row_.data());
        }
        last_score_ = clock();
        if (slot.index == 0) first_score_ = last_score_;
    } else {
        for (double& score : scores_) score = std::numeric_limits<double>::quiet_NaN();
    }
    if (slot.asked == Slot::Asked::kAll) plan_.add_frame(slot.words.data());
    for (size_t i = 0; i < scores_.size(); ++i) {
        const bool has_value = !std::isnan(scores_[i]);
        if (has_value) pooling_[i].add(scores_[i]);
        scores[i] = {has_value ? scores_[i] : 0.0, has_value};
    }
    if (index) *index = slot.index;
    const exactvq_frame reference = slot.reference, main = slot.main;
    oldest_ = (oldest_ + 1) % slots_.size();
    --queued_;
    release(reference);
    release(main);
    return EXACTVQ_OK;
}

std::vector<double> Session::sorted_values(size_t output) const {
    std::vector<double> values;
    if (!store_) return values;
    const size_t column = static_cast<size_t>(std::find(log_order_.begin(), log_order_.end(), output) - log_order_.begin());
    values.reserve(store_->frames());
    for (size_t frame = 0; frame < store_->frames(); ++frame)
        if (const double value = store_->scores(frame)[column]; !std::isnan(value)) values.push_back(value);
    std::sort(values.begin(), values.end());
    return values;
}

void Session::start_log(const char* path, uint32_t format, uint32_t flags) {
    require(path && *path, "the log has no path");
    require(format <= EXACTVQ_LOG_FORMAT_SUB, "unknown log format " + std::to_string(format));
    require(!(flags & ~uint32_t{EXACTVQ_LOG_FULL_PRECISION | EXACTVQ_LOG_KEEP_PARTS}), "unknown flags " + std::to_string(flags) + " of the log");
    require(store_.has_value(), "a log needs a session that keeps its scores (keep_scores)", EXACTVQ_ERROR_STATE);
    require(!log_file_, "a log was started already", EXACTVQ_ERROR_STATE);
    log_file_.emplace(path, flags & EXACTVQ_LOG_KEEP_PARTS);
    log_format_ = static_cast<exactvq_log_format>(format);
    log_full_precision_ = flags & EXACTVQ_LOG_FULL_PRECISION;
    if (log_file_->is_part())
        log(EXACTVQ_LOG_WARNING, "the log '" + std::string(path) + "' holds an earlier part of this run and is kept: what follows is written to '" + log_file_->path() + "'");
}

void Session::finish_log() {
    require(log_file_.has_value(), "no log was started", EXACTVQ_ERROR_STATE);
    ScoreLog log{};
    log.width = format_.width;
    log.height = format_.height;
    log.frames_per_cpu_second =
        static_cast<double>(store_->frames()) / (static_cast<double>(last_score_ - first_score_) / static_cast<double>(CLOCKS_PER_SEC));
    std::vector<Pooling> pooling;
    for (size_t i : log_order_) {
        log.names.push_back(plan_.outputs()[i].libvmaf_name);
        pooling.push_back(pooling_[i]);
    }
    log.store = &*store_;
    log.full_precision = log_full_precision_;
    log.pooling = &pooling;
    const std::vector<double> values = plan_.aggregate_values();
    for (size_t i = 0; i < values.size(); ++i) log.aggregates.push_back({plan_.aggregates()[i].name, values[i]});
    LogFile file = std::move(*log_file_);  // whatever happens, once
    log_file_.reset();
    render_log(log, log_format_, [&file](std::string_view text) { file.write(text); });
    file.finish();
}

}  // namespace exactvq
