// SPDX-License-Identifier: BSD-2-Clause
//
// What GpuBackend (backend.h) asks of a runtime: CudaRuntime, HipRuntime, and SimtRuntime in tests. It is a concept, not a base class; this file holds no code.
//
//     using Address = uint64_t;                        // device memory
//     using Stream = ...; using Event = ...;           // cheap handles
//
//     explicit Runtime(const BackendConfig&);          // opens library, device, context and code
//     std::string description() const;                 // "cuda (NVIDIA H200, sm_90)"
//     class Scope { explicit Scope(const Runtime&); ~Scope(); };   // the context is current on this thread while it lives; all calls below need one
//
//     Address allocate(size_t); void free(Address) noexcept;       // contents undefined
//     void* allocate_host(size_t); void free_host(void*) noexcept; // pinned
//     Stream create_stream(); void destroy_stream(Stream) noexcept;
//     Event create_event(); void destroy_event(Event) noexcept;
//
//     void upload(Stream, Address to, size_t to_pitch, const void* from, ptrdiff_t from_pitch, size_t width_bytes, size_t rows);  // `from` stays until the stream passed it
//     void download(Stream, void* to, Address from, size_t bytes);                                                                // `to` pinned
//     void launch(Stream, KernelId, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size);                      // arguments are copied
//     void record(Event, Stream); void wait(Stream, Event);        // the stream waits
//     bool finished(Event); void synchronize(Event);               // the host asks, or waits
//     void wait_for(Stream, Event, void* producer);                // what the producer's stream (the user's handle) holds now is finished before the stream goes on
//
//     // Optional: shared buffers (kernels/gpu/imports.h). The descriptor stays the caller's. EXACTVQ_ERROR_UNSUPPORTED: this buffer cannot be read.
//     struct SharedMemory { Address address; ... };
//     SharedMemory import_shared(int fd, uint64_t size); void release_shared(SharedMemory&) noexcept;
//
// free and destroy ignore null. All others throw Error (host/error.h) with one sentence that names the call and the driver's error. Streams are ordered in themselves only.
