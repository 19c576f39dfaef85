// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/block.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "tests/simt/sanitizers.h"

#ifdef EXACTVQ_SIMT_TSAN_CODE
#error "to be compiled without ThreadSanitizer, with EXACTVQ_SIMT_TSAN defined"
#endif

namespace exactvq::simt {

constinit thread_local Position position{};

namespace {

constexpr uint8_t kPoison = 0xa5, kGuard = 0x5c;

thread_local Block* current_block;
char fence_object;

// Not memset(), of which ThreadSanitizer would see the writes.
void fill(uint8_t* p, uint8_t value, size_t bytes) {
#ifdef EXACTVQ_SIMT_TSAN
    for (volatile uint8_t *q = p, *end = p + bytes; q != end; ++q) *q = value;
#else
    std::fill_n(p, bytes, value);
#endif
}

std::string text(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }

std::string text(Operation operation, Site site) {
    static const char* const names[] = {"shuffle_down", "shuffle_xor", "shuffle", "ballot"};
    return std::string(names[static_cast<int>(operation)]) + " (" + text(site) + ")";
}

// Not the file: a line in common with another file's is unlikely, and comparing names costs.
bool same(Site a, Site b) { return a.line == b.line; }

}  // namespace

void Block::run(const Launch& launch, const std::function<void(void*)>& body, Index index, Fiber& host) {
    launch_ = &launch;
    body_ = &body;
    host_ = &host;
    wave_shift_ = launch.wave == 32 ? 5 : 6;
    current_block = this;
    prepare(index);
    position.thread = take_runnable();
    host.switch_to(running().fiber);
    if (!error_ && returned_ < launch.threads) {
        uint32_t thread = 0;
        const std::string what = explain_standstill(thread);
        error_ = std::make_exception_ptr(Violation(launch, index, thread, what));
    }
    abandon();
    current_block = nullptr;
    check_guards();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Block::prepare(Index index) {
    const uint32_t threads = launch_->threads;
    while (threads_.size() < threads) threads_.push_back(std::make_unique<Thread>(static_cast<uint32_t>(threads_.size())));
    for (uint32_t i = 0; i < threads; ++i) {
        threads_[i]->state = State::kNotStarted;
        threads_[i]->barriers = 0;
        threads_[i]->fiber.start(thread_main);
    }
    for (uint32_t i = 0; i < threads / launch_->wave; ++i) waves_[i].arrived = 0;
    index_ = index;
    position = {0, index, launch_->blocks};
    error_ = nullptr;
    abandoned_ = false;
    returned_ = at_barrier_ = runnable_groups_ = 0;
    draw_order();
    make_runnable({0, threads});

    uint8_t* const shared = memory_ + kGuardBytes;
    unpoison(memory_, sizeof memory_);
    fill(memory_, kGuard, kGuardBytes);
    fill(shared, kPoison, launch_->shared_bytes);
    fill(shared + launch_->shared_bytes, kGuard, kGuardBytes);
    poison(memory_, kGuardBytes);
    poison(shared + launch_->shared_bytes, memory_ + sizeof memory_ - (shared + launch_->shared_bytes));
}

void Block::draw_order() {
    const uint32_t wave = launch_->wave, waves = launch_->threads / wave;
    const uint64_t number = index_.x + (static_cast<uint64_t>(index_.z) << 16 | index_.y) * launch_->blocks.x;
    Random random(launch_->seed ^ (number + 1) * 0xd1342543de82ef95u);
    uint16_t wave_at[kMaxWaves];
    for (uint32_t i = 0; i < waves; ++i) wave_at[i] = static_cast<uint16_t>(i);
    random.shuffle(wave_at, waves);
    for (uint32_t i = 0; i < waves; ++i) {
        uint16_t* const lanes = order_ + i * wave;
        for (uint32_t k = 0; k < wave; ++k) lanes[k] = static_cast<uint16_t>(wave_at[i] * wave + k);
        random.shuffle(lanes, wave);
        place_in_order_[wave_at[i]] = i * wave;
    }
}

EXACTVQ_SIMT_NEVER_RETURNS void Block::thread_main() {
    Block& block = *current_block;
    const uint32_t number = position.thread;
    Thread& thread = *block.threads_[number];
    thread.fiber.entered();
    thread.state = State::kRunnable;
    acquire(&block.sync_object_);
    bool failed = false;
    try {
        (*block.body_)(block.memory_ + kGuardBytes);
    } catch (const Abandoned&) {
    } catch (...) {
        block.error_ = std::current_exception();
        failed = true;
    }
    release(&block.sync_object_);
    thread.state = State::kReturned;
    ++block.returned_;
    block.abandoned_ = block.abandoned_ || failed;
    const uint32_t next = block.abandoned_ ? kNoThread : block.take_runnable();
    position.thread = next;
    thread.fiber.finish(next == kNoThread ? *block.host_ : block.threads_[next]->fiber);
}

uint32_t Block::take_runnable() {
    if (runnable_groups_ == 0) return kNoThread;
    Group& group = runnable_[runnable_groups_ - 1];
    const uint32_t thread = order_[group.begin++];
    if (group.begin == group.end) --runnable_groups_;
    return thread;
}

// Lets others run until this thread is runnable again.
void Block::wait() {
    const uint32_t self = position.thread, next = take_runnable();
    if (next == self) return;
    position.thread = next;
    threads_[self]->fiber.switch_to(next == kNoThread ? *host_ : threads_[next]->fiber);
    if (abandoned_) throw Abandoned();
}

void Block::barrier(Site site) {
    Thread& thread = running();
    thread.site = site;
    ++thread.barriers;
    if (at_barrier_ == 0) {
        first_at_barrier_ = position.thread;
    } else if (!same(site, threads_[first_at_barrier_]->site)) {
        different_barrier(site);
    }
    thread.state = State::kAtBarrier;
    char* const object = &barrier_object_[thread.barriers & 1];
    release(object);
    if (++at_barrier_ == launch_->threads) {
        at_barrier_ = 0;
        make_runnable({0, launch_->threads});
    }
    wait();
    thread.state = State::kRunnable;
    acquire(object);
}

// Joins the wave's operation and checks that it is everybody's.
Block::Wave& Block::arrive(Operation operation, Site site) {
    Thread& thread = running();
    Wave& wave = waves_[position.thread >> wave_shift_];
    thread.site = site;
    thread.operation = operation;
    if (wave.arrived++ == 0) {
        wave.first_arrived = position.thread;
        wave.ballot[wave.turn & 1] = 0;
    } else if (const Thread& other = *threads_[wave.first_arrived]; other.operation != operation || !same(site, other.site)) {
        different_operation(wave, operation, site);
    }
    thread.state = State::kInWave;
    return wave;
}

// Waits for all lanes. Returns which set of values they have stored.
uint32_t Block::complete(Wave& wave) {
    Thread& thread = running();
    const uint32_t turn = wave.turn & 1, size = launch_->wave;
    if (wave.arrived == size) {
        wave.arrived = 0;
        ++wave.turn;
        const uint32_t place = place_in_order_[position.thread >> wave_shift_];
        make_runnable({place, place + size});
    }
    wait();
    thread.state = State::kRunnable;
    return turn;
}

uint64_t Block::shuffle(Operation operation, uint64_t value, uint32_t source_lane, Site site) {
    Wave& wave = arrive(operation, site);
    if (source_lane >= launch_->wave) no_such_lane(operation, source_lane, site);
    wave.value[wave.turn & 1][position.thread & (launch_->wave - 1)] = value;
    return wave.value[complete(wave)][source_lane];
}

uint64_t Block::ballot(bool b, Site site) {
    Wave& wave = arrive(Operation::kBallot, site);
    wave.ballot[wave.turn & 1] |= static_cast<uint64_t>(b) << (position.thread & (launch_->wave - 1));
    return wave.ballot[complete(wave)];
}

void Block::different_barrier(Site site) const {
    fail("waits at the barrier of " + text(site) + ", thread " + std::to_string(first_at_barrier_) + " at that of " + text(threads_[first_at_barrier_]->site));
}

void Block::different_operation(const Wave& wave, Operation operation, Site site) const {
    const Thread& other = *threads_[wave.first_arrived];
    fail("is in " + text(operation, site) + ", thread " + std::to_string(wave.first_arrived) + " of its wave in " + text(other.operation, other.site));
}

void Block::no_such_lane(Operation operation, uint32_t lane, Site site) const {
    fail(text(operation, site) + " from lane " + std::to_string(lane) + ", which does not exist");
}

void Block::fail(const std::string& what) const { throw Violation(*launch_, index_, position.thread, what); }

// Nobody can run and not everybody has returned. A thread in a wave operation says more than one at a barrier.
std::string Block::explain_standstill(uint32_t& thread) const {
    const auto where = [this](uint32_t i) {
        const Thread& t = *threads_[i];
        if (t.state == State::kAtBarrier) return "waits at the barrier of " + text(t.site);
        return t.state == State::kInWave ? "waits in " + text(t.operation, t.site) : std::string("has returned");
    };
    for (State state : {State::kInWave, State::kAtBarrier}) {
        for (uint32_t i = 0; i < launch_->threads; ++i) {
            if (threads_[i]->state != state) continue;
            const uint32_t begin = state == State::kInWave ? i / launch_->wave * launch_->wave : 0;
            const uint32_t end = state == State::kInWave ? begin + launch_->wave : launch_->threads;
            for (uint32_t k = begin; k < end; ++k) {
                if (threads_[k]->state == state) continue;
                thread = i;
                std::string what = where(i) + " for ever: thread " + std::to_string(k) + (state == State::kInWave ? " of its wave " : " ") + where(k);
                if (state == State::kAtBarrier)
                    what += " after " + std::to_string(threads_[k]->barriers) + " barriers, this is number " + std::to_string(threads_[i]->barriers);
                return what;
            }
        }
    }
    return "stands still";
}

// Unwinds what still waits.
void Block::abandon() {
    if (returned_ == launch_->threads) return;
    abandoned_ = true;
    for (uint32_t i = 0; i < launch_->threads; ++i) {
        if (threads_[i]->state == State::kNotStarted || threads_[i]->state == State::kReturned) continue;
        position.thread = i;
        host_->switch_to(threads_[i]->fiber);
    }
}

void Block::check_guards() {
    unpoison(memory_, sizeof memory_);
    const uint8_t* const behind = memory_ + kGuardBytes + launch_->shared_bytes;
    for (const uint8_t* guard : {static_cast<const uint8_t*>(memory_), behind}) {
        for (size_t i = 0; i < kGuardBytes && !error_; ++i) {
            if (guard[i] == kGuard) continue;
            const std::string where = guard == behind ? std::to_string(i) + " bytes behind" : std::to_string(kGuardBytes - i) + " bytes before";
            const std::string what = "a thread of the block wrote " + where + " its " + std::to_string(launch_->shared_bytes) + " bytes of shared memory";
            error_ = std::make_exception_ptr(Violation(*launch_, index_, kNoThread, what));
        }
    }
}

void barrier(Site site) { current_block->barrier(site); }

uint64_t shuffle(Operation operation, uint64_t value, uint32_t source_lane, Site site) { return current_block->shuffle(operation, value, source_lane, site); }

uint64_t ballot(bool b, Site site) { return current_block->ballot(b, site); }

// All fences are ordered, as are those of a GPU; what is before one of them and after another one cannot race.
void fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    release(&fence_object);
    acquire(&fence_object);
}

}  // namespace exactvq::simt
