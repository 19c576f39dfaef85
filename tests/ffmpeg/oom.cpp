// SPDX-License-Identifier: BSD-2-Clause
// Preloaded into ffmpeg: lets the C++ heap, or the creation of threads by C++ code, run out.
//   OOM_FROM=n    the n-th and all later calls of operator new fail (1 = the first)
//   OOM_AT=n      only the n-th fails
//   OOM_THREAD=n  the n-th and all later threads cannot be created
// Calls before main() are not counted: initialisers of other libraries have no way to report a failure.
//   OOM_COUNT=f   writes "<calls of operator new> <threads>" to file f at the end
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <pthread.h>

namespace {

long number(const char *name)
{
    const char *text = std::getenv(name);
    return text ? std::atol(text) : 0;
}

std::atomic<long> calls{0}, threads{0};
std::atomic<bool> started{false};

struct Plan {
    long from = number("OOM_FROM"), at = number("OOM_AT"), thread = number("OOM_THREAD");
};

const Plan &plan()
{
    static const Plan p;
    return p;
}

bool fails()
{
    if (!started)
        return false;
    long n = ++calls;
    return (plan().from && n >= plan().from) || n == plan().at;
}

void *allocate(std::size_t size, std::size_t alignment)
{
    if (fails())
        return nullptr;
    if (alignment <= alignof(std::max_align_t))
        return std::malloc(size ? size : 1);
    void *p = nullptr;
    return posix_memalign(&p, alignment, size ? size : 1) ? nullptr : p;
}

void *must(std::size_t size, std::size_t alignment = 0)
{
    if (void *p = allocate(size, alignment))
        return p;
    throw std::bad_alloc();
}

// Code of C++ libraries only: threads of ffmpeg itself are not ours to refuse.
bool from_cplusplus(void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && (std::strstr(info.dli_fname, "libexactvq") || std::strstr(info.dli_fname, "libstdc++"));
}

struct Report {
    ~Report()
    {
        const char *name = std::getenv("OOM_COUNT");
        if (std::FILE *f = name ? std::fopen(name, "w") : nullptr) {
            std::fprintf(f, "%ld %ld\n", calls.load(), threads.load());
            std::fclose(f);
        }
    }
} report;

} // namespace

void *operator new(std::size_t size) { return must(size); }
void *operator new[](std::size_t size) { return must(size); }
void *operator new(std::size_t size, std::align_val_t a) { return must(size, static_cast<std::size_t>(a)); }
void *operator new[](std::size_t size, std::align_val_t a) { return must(size, static_cast<std::size_t>(a)); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new(std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept { return allocate(size, static_cast<std::size_t>(a)); }
void *operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept { return allocate(size, static_cast<std::size_t>(a)); }

void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(), void (*fini)(), void (*rtld_fini)(), void *stack_end)
{
    using Start = int (*)(int (*)(int, char **, char **), int, char **, void (*)(), void (*)(), void (*)(), void *);
    started = true;
    return reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"))(main, argc, argv, init, fini, rtld_fini, stack_end);
}

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static const Create next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (from_cplusplus(__builtin_return_address(0))) {
        long n = ++threads;
        if (plan().thread && n >= plan().thread)
            return EAGAIN;
    }
    return next(thread, attr, start, arg);
}
