// SPDX-License-Identifier: BSD-2-Clause
//
// Worker threads of the backends.
#ifndef EXACTVQ_HOST_THREAD_POOL_H
#define EXACTVQ_HOST_THREAD_POOL_H

#include <pthread.h>
#include <sched.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cfenv>
#include <csignal>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "host/error.h"

namespace exactvq {

// CPUs that the process may run on.
inline uint32_t available_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return static_cast<uint32_t>(CPU_COUNT(&set));
    const unsigned count = std::thread::hardware_concurrency();
    return count ? count : 1;
}

class BlockedSignals {
public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

// Asio's scheduler on threads of our own. (boost::asio::thread_pool never returns from its constructor when a later thread cannot be started.)
class ThreadPool {
public:
    explicit ThreadPool(uint32_t count) : work_(boost::asio::make_work_guard(context_)) {
        const BlockedSignals blocked;  // inherited by the workers: the application's handlers run on its own threads
        try {
            threads_.reserve(count);
            while (threads_.size() < count) {
                threads_.emplace_back([this] {
                    std::fesetenv(FE_DFL_ENV);  // not the rounding mode of whoever opened the session
                    context_.run();
                });
            }
        } catch (const std::system_error& error) {
            join();
            throw Error(EXACTVQ_ERROR_NO_MEMORY, "cannot start " + std::to_string(count) + " threads (" + error.code().message() + "): ask for fewer");
        } catch (...) {
            join();
            throw;
        }
    }
    ~ThreadPool() { join(); }

    uint32_t size() const { return static_cast<uint32_t>(threads_.size()); }

    template <class Function>
    void post(Function&& function) {
        boost::asio::post(context_, std::forward<Function>(function));
    }

private:
    // Runs what was posted, then ends the threads.
    void join() {
        work_.reset();
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_THREAD_POOL_H
