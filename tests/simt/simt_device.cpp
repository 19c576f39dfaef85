// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/simt_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/error.h"
#include "tests/simt/sanitizers.h"

namespace exactvq::gpu {
namespace {

constexpr size_t kGuardBytes = 256;  // also the alignment of allocations
constexpr uint8_t kGuard = 0x5c;

thread_local const SimtDevice* current;

std::string bytes_at(size_t bytes, uint64_t address) {
    char text[64];
    std::snprintf(text, sizeof text, "%zu bytes at %#llx", bytes, static_cast<unsigned long long>(address));
    return text;
}

}  // namespace

SimtOptions& simt_default_options() {
    static SimtOptions options;
    return options;
}

SimtStream& simt_default_stream() {
    static SimtStream stream;
    return stream;
}

struct SimtDevice::EventState {
    SimtStream* stream = nullptr;  // null: never recorded
    uint64_t position = 0;
    uint32_t patience = 0;  // questions that are answered with no before anything runs
};

// An allocation and its guard zones.
struct SimtDevice::Memory {
    Memory(size_t size, simt::Random& random) : size(size) {
        block = static_cast<uint8_t*>(std::aligned_alloc(kGuardBytes, (size + 3 * kGuardBytes - 1) / kGuardBytes * kGuardBytes));
        if (!block) throw std::bad_alloc();
        std::memset(block, kGuard, kGuardBytes);
        std::memset(data() + size, kGuard, kGuardBytes);
        for (size_t i = 0; i < size; i += 8) {
            const uint64_t garbage = random.next();
            std::memcpy(data() + i, &garbage, std::min<size_t>(8, size - i));
        }
        simt::poison(block, kGuardBytes);
        simt::poison(data() + size, kGuardBytes);
    }
    ~Memory() {
        simt::unpoison(block, size + 2 * kGuardBytes);
        std::free(block);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    uint8_t* data() const { return block + kGuardBytes; }

    bool intact() const {
        simt::unpoison(block, size + 2 * kGuardBytes);
        const auto untouched = [](const uint8_t* guard) { return std::all_of(guard, guard + kGuardBytes, [](uint8_t b) { return b == kGuard; }); };
        return untouched(block) && untouched(data() + size);
    }

    uint8_t* block;
    const size_t size;
};

SimtDevice::Scope::Scope(const SimtDevice& device) : outer_(std::exchange(current, &device)) {}

SimtDevice::Scope::~Scope() { current = outer_; }

SimtDevice::SimtDevice(const BackendConfig& config, const SimtOptions& options, uint32_t wave)
    : options_(options), wave_(wave), random_(options.seed), faults_(options.faults ? *options.faults : no_faults_) {
    const Scope scope(*this);
    begin("open");
    if (config.device != 0) fail("device " + std::to_string(config.device) + " does not exist, there is only device 0");
}

SimtDevice::~SimtDevice() {
    check_idle("close");
    for (const auto* where : {&memory_, &host_memory_})
        for (const auto& [address, memory] : *where) {
            report("close: " + bytes_at(memory->size, address) + " were never freed");
            if (where == &memory_) faults_.allocated -= memory->size;
        }
}

std::string SimtDevice::description() const { return "simt (wave " + std::to_string(wave_) + ")"; }

void SimtDevice::fail(const std::string& what) const { throw Error(EXACTVQ_ERROR_DEVICE, description() + ": " + what); }

void SimtDevice::report(const std::string& sentence) const noexcept {
    if (options_.report) return options_.report(description() + ": " + sentence);
    std::fprintf(stderr, "%s: %s\n", description().c_str(), sentence.c_str());
    std::abort();
}

void SimtDevice::begin(const char* call) {
    if (current != this) fail(std::string(call) + ": the device is not current on this thread");
    if (!failed_.empty()) fail(std::string(call) + " after a failure: " + failed_);
    ++faults_.calls;
    if (faults_.failing_call && (faults_.fails_for_good ? faults_.calls >= faults_.failing_call : faults_.calls == faults_.failing_call)) {
        injected_ = true;
        fail(std::string(call) + " was made to fail");
    }
}

void SimtDevice::check_current(const char* call) const noexcept {
    if (current != this) report(std::string(call) + ": the device is not current on this thread");
}

// Drivers differ in what they do with work that is still queued: they wait, drop it, or let it run into freed memory.
void SimtDevice::check_idle(const char* call) const noexcept {
    if (!failed_.empty() || injected_) return;
    size_t queued = 0;
    for (const auto& stream : streams_) queued += stream->queue.size();
    if (queued > 0) report(std::string(call) + " while " + std::to_string(queued) + " operations are queued that nobody waited for");
}

uint64_t SimtDevice::allocate(Allocations& where, size_t bytes) {
    if (bytes == 0) fail("allocation of no bytes");
    try {
        auto memory = std::make_unique<Memory>(bytes, random_);
        const uint64_t address = reinterpret_cast<uint64_t>(memory->data());
        where.emplace(address, std::move(memory));
        return address;
    } catch (const std::bad_alloc&) {
        throw Error(EXACTVQ_ERROR_NO_MEMORY, description() + ": no memory for " + std::to_string(bytes) + " bytes");
    }
}

void SimtDevice::release(Allocations& where, uint64_t address, const char* call) noexcept {
    if (address == 0) return;
    const std::lock_guard lock(mutex_);
    check_current(call);
    check_idle(call);
    const auto found = where.find(address);
    if (found == where.end()) return report(std::string(call) + ": " + bytes_at(0, address) + " are not allocated");
    const size_t size = found->second->size;
    if (!found->second->intact()) report(std::string(call) + ": " + bytes_at(size, address) + " were overrun");
    if (&where == &memory_) faults_.allocated -= size;
    where.erase(found);
}

void SimtDevice::check_range(const Allocations& where, uint64_t address, size_t bytes, const char* what) const {
    auto found = where.upper_bound(address);
    if (found != where.begin()) {
        --found;
        const size_t offset = address - found->first;
        if (offset <= found->second->size && bytes <= found->second->size - offset) return;
    }
    fail(std::string(what) + ": " + bytes_at(bytes, address) + " are not inside an allocation");
}

SimtDevice::Address SimtDevice::allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    begin("allocate");
    if (bytes > faults_.memory || faults_.allocated > faults_.memory - bytes)
        throw Error(EXACTVQ_ERROR_NO_MEMORY, description() + ": no device memory for " + std::to_string(bytes) + " bytes");
    const Address address = allocate(memory_, bytes);
    faults_.allocated += bytes;
    return address;
}

void SimtDevice::free(Address address) noexcept { release(memory_, address, "free"); }

void* SimtDevice::allocate_host(size_t bytes) {
    const std::lock_guard lock(mutex_);
    begin("allocate_host");
    return reinterpret_cast<void*>(allocate(host_memory_, bytes));
}

void SimtDevice::free_host(void* p) noexcept { release(host_memory_, reinterpret_cast<uint64_t>(p), "free_host"); }

SimtDevice::Stream SimtDevice::create_stream() {
    const std::lock_guard lock(mutex_);
    begin("create_stream");
    streams_.push_back(std::make_unique<SimtStream>());
    return streams_.back().get();
}

void SimtDevice::destroy_stream(Stream stream) noexcept {
    if (!stream) return;
    const std::lock_guard lock(mutex_);
    check_current("destroy_stream");
    if (std::exchange(stream->destroyed, true)) report("destroy_stream: it was destroyed before");
}

SimtDevice::Event SimtDevice::create_event() {
    const std::lock_guard lock(mutex_);
    begin("create_event");
    events_.push_back(std::make_unique<EventState>());
    return events_.back().get();
}

void SimtDevice::destroy_event(Event event) noexcept {
    if (!event) return;
    const std::lock_guard lock(mutex_);
    check_current("destroy_event");
    const auto found = std::find_if(events_.begin(), events_.end(), [event](const auto& e) { return e.get() == event; });
    if (found == events_.end()) return report("destroy_event: it does not exist");
    events_.erase(found);
}

void SimtDevice::upload(Stream stream, Address to, size_t to_pitch, const void* from, ptrdiff_t from_pitch, size_t width_bytes, size_t rows) {
    const std::lock_guard lock(mutex_);
    begin("upload");
    if (width_bytes == 0 || rows == 0) fail("upload of no bytes");
    if (rows > 1 && (width_bytes > to_pitch || width_bytes > static_cast<size_t>(std::abs(from_pitch)))) fail("upload: rows are longer than their distance");
    const auto copy = [=, this] {
        check_range(memory_, to, (rows - 1) * to_pitch + width_bytes, "upload");
        for (size_t y = 0; y < rows; ++y)
            std::memcpy(reinterpret_cast<uint8_t*>(to) + y * to_pitch, static_cast<const uint8_t*>(from) + static_cast<ptrdiff_t>(y) * from_pitch, width_bytes);
    };
    check_range(memory_, to, (rows - 1) * to_pitch + width_bytes, "upload");
    queue(*stream, {copy});
}

void SimtDevice::download(Stream stream, void* to, Address from, size_t bytes) {
    const std::lock_guard lock(mutex_);
    begin("download");
    const auto check = [=, this] {
        check_range(memory_, from, bytes, "download");
        check_range(host_memory_, reinterpret_cast<uint64_t>(to), bytes, "download");
    };
    check();
    queue(*stream, {[=] {
              check();
              std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
          }});
}

void SimtDevice::launch(Stream stream, const char* kernel, std::function<void(uint64_t, uint32_t)> run) {
    const std::lock_guard lock(mutex_);
    begin(("launch of " + std::string(kernel)).c_str());
    if (++faults_.launches == faults_.lost_launch) {
        queue(*stream, {[] {}});
    } else {
        queue(*stream, {[seed = random_.next(), workers = options_.workers, run = std::move(run)] { run(seed, workers); }});
    }
}

void SimtDevice::record(Event event, Stream stream) {
    const std::lock_guard lock(mutex_);
    begin("record");
    if (stream->destroyed) fail("record: the stream was destroyed");
    *event = {stream, stream->queued, random_.below(4)};
}

void SimtDevice::wait(Stream stream, Event event) {
    const std::lock_guard lock(mutex_);
    begin("wait");
    if (event->stream && event->stream != stream) queue(*stream, {{}, event->stream, event->position});
}

void SimtDevice::wait_for(Stream stream, Event event, void* producer) {
    const std::lock_guard lock(mutex_);
    begin("wait_for");
    SimtStream& other = producer ? *static_cast<SimtStream*>(producer) : simt_default_stream();
    *event = {&other, other.queued, random_.below(4)};
    if (&other != stream) queue(*stream, {{}, &other, other.queued});
}

bool SimtDevice::finished(Event event) {
    const std::lock_guard lock(mutex_);
    begin("finished");
    if (reached(*event)) return true;
    if (event->patience > 0) {
        --event->patience;
        return false;
    }
    run_until(*event, 1 + random_.below(8));
    return reached(*event);
}

void SimtDevice::synchronize(Event event) {
    const std::lock_guard lock(mutex_);
    begin("synchronize");
    run_until(*event, UINT32_MAX);
}

void SimtDevice::queue(SimtStream& stream, SimtStream::Work work) {
    if (stream.destroyed) fail("the stream was destroyed");
    stream.push(std::move(work));
}

bool SimtDevice::reached(const EventState& event) const { return !event.stream || event.stream->ran >= event.position; }

// Runs the stream's next work, or what that waits for.
void SimtDevice::step(SimtStream& stream) {
    SimtStream* s = &stream;
    while (!s->queue.front().run && s->queue.front().other->ran < s->queue.front().position) s = s->queue.front().other;
    const SimtStream::Work work = std::move(s->queue.front());
    s->queue.pop_front();
    ++s->ran;
    if (work.run) work.run();
}

SimtStream& SimtDevice::any_busy_stream(SimtStream& otherwise) {
    SimtStream& stream = *streams_[random_.below(static_cast<uint32_t>(streams_.size()))];
    return stream.queue.empty() ? otherwise : stream;
}

void SimtDevice::run_until(const EventState& event, uint32_t steps) {
    const bool others_too = random_.below(2) == 1;
    try {
        for (; steps > 0 && !reached(event); --steps) step(others_too ? any_busy_stream(*event.stream) : *event.stream);
    } catch (const Error& error) {
        failed_ = error.what();
        throw;
    } catch (const std::exception& error) {
        failed_ = error.what();
        fail(failed_);
    }
}

}  // namespace exactvq::gpu
