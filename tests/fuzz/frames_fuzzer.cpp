// SPDX-License-Identifier: BSD-2-Clause
//
// Any configuration and any frames through the C API, in any order of calls. Frames that the header's rules allow are in memory of exactly their size and must be taken; all
// others must be refused with a sentence. Frames are released exactly if they were taken.
#include "tests/fuzz/fuzz.h"

using namespace exactvq::fuzz;

namespace {

struct Frame {
    exactvq_frame frame{};
    bool right = true;    // by the rules of the header
    bool usable = true;   // false: of no size that could be had here
    std::unique_ptr<uint8_t[]> memory[3];

    Frame(FuzzedDataProvider& input, const exactvq_config& config, int* released) {
        frame.struct_size = sizeof frame;
        frame.format = config.format;
        frame.memory = EXACTVQ_MEMORY_HOST;
        frame.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
        frame.opaque = released;
        const exactvq_format& format = config.format;
        const uint32_t bytes = format.depth > 8 ? 2 : 1;
        for (uint32_t p = 0; p < format.planes; ++p) {
            const uint64_t width = p ? (format.width + (1u << format.log2_chroma_w) - 1) >> format.log2_chroma_w : format.width;
            const uint64_t height = p ? (format.height + (1u << format.log2_chroma_h) - 1) >> format.log2_chroma_h : format.height;
            exactvq_plane& plane = frame.plane[p];
            const uint8_t kind = input.ConsumeIntegral<uint8_t>();
            plane.step = kind & 1 ? bytes : kind & 2 ? 0 : kind & 4 ? 2 * bytes : input.ConsumeIntegral<uint32_t>();
            plane.shift = kind & 8 ? 0 : kind & 16 ? 16 - format.depth : input.ConsumeIntegral<uint32_t>();
            const uint64_t step = plane.step ? plane.step : bytes, row = (width - 1) * (step > 2 * bytes ? 2 * bytes : step) + bytes;
            plane.stride = kind & 32 ? input.ConsumeIntegral<ptrdiff_t>() : static_cast<ptrdiff_t>(row + input.ConsumeIntegralInRange<uint32_t>(0, 70));
            if (kind & 64) plane.stride = static_cast<ptrdiff_t>(0 - static_cast<uint64_t>(plane.stride));
            const uint64_t stride = plane.stride < 0 ? 0 - static_cast<uint64_t>(plane.stride) : static_cast<uint64_t>(plane.stride);
            const bool good = (step == bytes || step == 2 * bytes) && (format.depth == 8 ? plane.shift == 0 : plane.shift <= 16 - format.depth) && (height == 1 || stride >= row);
            right = right && good;
            const bool large = good && height > 1 && stride > (1u << 18) / height;  // a plane beyond all memory may be refused too
            usable = usable && !large;
            const size_t before = good && !large && plane.stride < 0 ? (height - 1) * stride : 0;
            memory[p] = make_samples(!good || large ? 1 : (height > 1 ? (height - 1) * stride : 0) + row, kind * 31u + p);
            plane.data = memory[p].get() + before;
        }
        if (input.ConsumeIntegralInRange<uint8_t>(0, 15)) return;
        switch (input.ConsumeIntegralInRange<uint8_t>(0, 4)) {  // what no frame of the session has
        case 0: frame.plane[input.ConsumeIntegralInRange<uint32_t>(0, format.planes - 1)].data = nullptr, right = false; break;
        case 1: right = (frame.memory = input.ConsumeIntegral<uint32_t>()) == EXACTVQ_MEMORY_HOST && right; break;
        case 2: frame.struct_size = input.ConsumeIntegralInRange<size_t>(0, sizeof frame - 1), right = false; break;
        case 3: frame.format.width ^= input.ConsumeIntegralInRange<uint32_t>(1, 0xffff), right = false; break;
        default: frame.format.depth += input.ConsumeIntegralInRange<uint32_t>(1, 0xffff), right = false; break;
        }
    }
};

uint32_t mostly(FuzzedDataProvider& input, uint32_t least, uint32_t most) {
    return input.ConsumeIntegralInRange<uint8_t>(0, 31) ? input.ConsumeIntegralInRange<uint32_t>(least, most) : input.ConsumeIntegral<uint32_t>();
}

// Sides and queues that are allowed but large cost time and memory, and show nothing.
bool modest(const exactvq_config& config) {
    const exactvq_format& f = config.format;
    const bool side = f.width <= 32768 && f.height <= 32768 && uint64_t{f.width} * f.height > 130 * 130;
    return !side && !(config.threads > 4 && config.threads <= 1024) && !(config.frames_in_flight > 8 && config.frames_in_flight <= 256);
}

void stream(FuzzedDataProvider& input, exactvq_session* session, const exactvq_config& config) {
    std::vector<exactvq_score> scores(exactvq_output_count(session));
    std::vector<std::unique_ptr<Frame>> frames;  // stay until the end
    int released = 0, taken = 0;
    uint64_t next = 0, delivered = 0;
    const auto close = [&] {
        exactvq_close(session);
        check(released == taken, "frames are released exactly if they were taken");
    };
    for (int calls = 0; calls < 40 && input.remaining_bytes() > 0; ++calls) {
        exactvq_status status = EXACTVQ_OK;
        switch (input.ConsumeIntegralInRange<uint8_t>(0, 9)) {
        case 0: case 1: case 2: case 3: {
            frames.push_back(std::make_unique<Frame>(input, config, &released));
            frames.push_back(std::make_unique<Frame>(input, config, &released));
            const Frame &ref = *frames[frames.size() - 2], &main = *frames.back();
            if (!ref.usable || !main.usable) break;
            const uint64_t index = input.ConsumeIntegralInRange<uint8_t>(0, 31) ? next : input.ConsumeIntegral<uint64_t>();
            status = exactvq_submit(session, &ref.frame, &main.frame, index);
            if (status == EXACTVQ_OK) {
                check(ref.right && main.right && index == next, "only a right pair is taken");
                ++next, taken += 2;
            } else if (status == EXACTVQ_ERROR_ARGUMENT) {
                check(!ref.right || !main.right, std::string("a right pair is taken: ") + exactvq_error(session));
            }
            break;
        }
        case 4: case 5: {
            uint64_t index = 0;
            status = exactvq_receive(session, input.ConsumeIntegralInRange<uint8_t>(0, 31) ? scores.data() : nullptr, &index, input.ConsumeIntegral<uint8_t>());
            if (status != EXACTVQ_OK) break;
            check(index == delivered++, "pairs are delivered in order");
            check_scores(scores);
            break;
        }
        case 6: {
            exactvq_pooled pooled{};
            pooled.struct_size = input.ConsumeBool() ? sizeof pooled : input.ConsumeIntegral<uint8_t>();
            status = exactvq_summary(session, input.ConsumeIntegralInRange<size_t>(0, scores.size()), &pooled);
            break;
        }
        case 7: {
            exactvq_aggregate aggregate{};
            aggregate.struct_size = sizeof aggregate;
            const uint8_t which = input.ConsumeIntegral<uint8_t>();
            status = which & 0x80 ? exactvq_cut(session) : exactvq_get_aggregate(session, which, &aggregate);
            break;
        }
        case 8:
            if (const uint32_t format = input.ConsumeBool() ? 0 : input.ConsumeIntegralInRange<uint32_t>(1, 5)) status = exactvq_start_log(session, "/dev/null", format - 1, format);
            else status = exactvq_finish_log(session);
            break;
        default:
            if (frames.empty() || input.ConsumeBool()) status = exactvq_flush(session);
            else status = exactvq_import(session, &frames.back()->frame);
        }
        if (status <= EXACTVQ_ERROR_ARGUMENT) check_sentence(exactvq_error(session));
    }
    close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    static const exactvq_option kEverything[] = {{"debug", "1"}}, kSums[] = {{"enable_mse", "1"}, {"enable_apsnr", "1"}}, kLuma[] = {{"enable_chroma", "0"}};
    static const exactvq_metric kMetrics[] = {{"psnr", "", kSums, 2}, {"float_psnr", "", nullptr, 0}, {"psnr_hvs", "", kLuma, 1}, {"adm", "", kEverything, 1},
                                              {"vif", "", kEverything, 1}, {"motion", "", nullptr, 0}, {"psnr_hvs", "chroma", nullptr, 0}};
    std::vector<exactvq_metric> metrics;
    const uint8_t wanted = input.ConsumeIntegral<uint8_t>();
    for (size_t i = 0; i < std::size(kMetrics); ++i)
        if (wanted >> i & 1) metrics.push_back(kMetrics[i]);
    exactvq_config config{};
    config.struct_size = wanted == 0xff ? input.ConsumeIntegral<uint8_t>() : sizeof config;
    config.metrics = metrics.data();
    config.metric_count = metrics.size();
    config.format = {mostly(input, 1, 70), mostly(input, 1, 70), mostly(input, 8, 16), input.ConsumeBool() ? 1 : mostly(input, 3, 3), mostly(input, 0, 2), mostly(input, 0, 2)};
    config.backend = mostly(input, 0, 1);
    config.device = input.ConsumeIntegral<int8_t>();
    config.threads = mostly(input, 1, 3);
    config.frames_in_flight = mostly(input, 0, 4);
    config.cpu_mask = input.ConsumeBool() ? input.ConsumeIntegral<uint32_t>() : 0;
    config.subsample = mostly(input, 0, 3);
    config.keep_scores = input.ConsumeIntegral<uint8_t>() & 1;
    config.memory = mostly(input, 0, 0);
    if (!modest(config)) return -1;  // not kept
    if (SessionPointer session = open(config)) stream(input, session.release(), config);
    return 0;
}
