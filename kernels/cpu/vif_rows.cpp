// SPDX-License-Identifier: BSD-2-Clause
//
// VIF in SIMD. All filters are sums of products of 16-bit values, summed in pairs to 32 bits (pmaddwd): rows of two taps lie in pairs for the vertical pass,
// columns lie in pairs by themselves for the horizontal one. 16-bit values without a sign are less 32768, and as taps sum up to 65536, so is every filtered
// value less 2^31. Values of 32 bits are split into halves: with A and B the filtered upper and lower halves, the filtered value is 2^16 A + B, which is
// shifted term by term without a carry. The rest of a sample is in binary64, as specified; integers there are exact.
//
// Sums of integers add in any order, so even and odd columns never come together again.
#include <algorithm>

#include "host/vif_log.h"
#include "kernels/cpu/vif.h"
#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vif_rows.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "kernels/cpu/pairs-inl.h"
#include "kernels/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR

VifKernels MakeVifKernels() { return plain_vif_kernels(); }

#else
namespace {

using DF64 = hn::Repartition<double, DI32>;
using VF64 = hn::Vec<DF64>;

// ---- taps ------------------------------------------------------------------------------------------------------------

// Loops over taps: unrolled. With checks of addresses GCC takes minutes for that.
#if defined(__SANITIZE_ADDRESS__)
#define EXACTVQ_TAP_LOOP
#elif defined(__clang__)
#define EXACTVQ_TAP_LOOP _Pragma("clang loop unroll(full)")
#else
#define EXACTVQ_TAP_LOOP _Pragma("GCC unroll 16")
#endif

// Keeps a sum as it is. GCC would reorder the additions of an unrolled loop, compute all products first, and have no registers for them.
HWY_INLINE void settle(VI32& sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
    asm("" : "+v"(sum.raw));
#else
    static_cast<void>(sum);
#endif
}

// The middle tap of the last kernel does not fit 16 bits: it is applied in two halves, the second of them in a pass of its own.
constexpr uint32_t passes(uint32_t scale) { return scale + 1 == kVifScales ? 2 : 1; }

constexpr int32_t tap_part(uint32_t scale, uint32_t pass, int32_t t) {
    if (t < 0 || t > static_cast<int32_t>(2 * vif_half(scale))) return 0;
    const int32_t tap = static_cast<int32_t>(vif_tap(scale, static_cast<uint32_t>(t)));
    return tap > INT16_MAX ? tap / 2 : pass == 0 ? tap : 0;
}

// A kernel's taps as factors of pairs: for what begins with the first of a pair, and for what begins with the second.
template <uint32_t kScale>
struct PairTaps {
    static constexpr uint32_t kPairs = vif_half(kScale) + 1;
    struct Factors {
        int32_t first, second;
    };
    Factors of[passes(kScale)][kPairs + 1] = {};  // one pair more, of zeros

    constexpr PairTaps() {
        for (uint32_t pass = 0; pass < passes(kScale); ++pass) {
            const auto pair = [pass](int32_t t) { return tap_part(kScale, pass, t) | tap_part(kScale, pass, t + 1) * 65536; };
            for (uint32_t j = 0; j < kPairs; ++j) of[pass][j] = {pair(2 * static_cast<int32_t>(j)), pair(2 * static_cast<int32_t>(j) - 1)};
        }
    }
};
template <uint32_t kScale>
constexpr PairTaps<kScale> kPairTaps;

HWY_INLINE VI16 factors(int32_t pair) { return hn::BitCast(DI16(), hn::Set(DI32(), pair)); }

// ---- samples ---------------------------------------------------------------------------------------------------------

template <uint32_t kBytes>
SampleReader<kBytes> reader(const VifScale& s, const VifRows& rows) {
    return {rows.step, rows.shift, s.depth, rows.readable};
}

// Less 32768 if samples fill 16 bits.
HWY_INLINE VI16 centre_of(uint32_t depth) { return hn::Set(DI16(), depth == 16 ? INT16_MIN : static_cast<int16_t>(0)); }

// Two vectors of consecutive columns of 32-bit values, in the order in which interleaving 16-bit values makes them.
HWY_INLINE VI16 join(VI32 lower, VI32 upper) { return hn::ReorderDemote2To(DI16(), lower, upper); }

// Filtered means, less 32768: sums begin with this, and are shifted by `depth`.
HWY_INLINE VI32 mean_start(uint32_t depth) {
    const int64_t missing = depth == 16 ? int64_t{1} << 31 : 0;
    return hn::Set(DI32(), static_cast<int32_t>((int64_t{1} << (depth - 1)) + missing - (int64_t{1} << (15 + depth))));
}

// ---- next scale ------------------------------------------------------------------------------------------------------

// `kScale`: that of the kernel, one more than that of the rows.
template <uint32_t kScale, uint32_t kBytes>
void shrink(const VifScale& s, const VifRows& rows, int16_t* filtered, uint16_t* out) {
    const DI16 d16;
    const DI32 d32;
    constexpr uint32_t kHalf = vif_half(kScale);
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const SampleReader<kBytes> read = reader<kBytes>(s, rows);
    const VI16 centre = centre_of(s.depth);
    const VI32 start = mean_start(s.depth);
    for (uint32_t x = 0; x < s.width; x += lanes) {
        const auto load = [&](uint32_t t) HWY_ATTR { return hn::Xor(hn::BitCast(d16, read(rows.row[t], x)), centre); };
        VI32 lower = start, upper = start;
        for (uint32_t pass = 0; pass < passes(kScale); ++pass) {
            EXACTVQ_TAP_LOOP
            for (uint32_t j = 0; j <= kHalf; ++j) {
                const VI16 a = load(2 * j), b = j < kHalf ? load(2 * j + 1) : a, taps = factors(kPairTaps<kScale>.of[pass][j].first);  // the last has one row
                lower = multiply_pairs(hn::InterleaveLower(a, b), taps, lower);
                upper = multiply_pairs(hn::InterleaveUpper(d16, a, b), taps, upper);
            }
        }
        hn::Store(join(hn::ShiftRightSame(lower, static_cast<int>(s.depth)), hn::ShiftRightSame(upper, static_cast<int>(s.depth))), d16, filtered + x);
    }
    for (int32_t i = 1; i <= static_cast<int32_t>(kHalf); ++i) {
        filtered[-i] = filtered[i];
        filtered[static_cast<int32_t>(s.width) - 1 + i] = filtered[static_cast<int32_t>(s.width) - 1 - i];
    }
    const hn::Rebind<uint16_t, DI32> half_du16;
    const hn::Rebind<int16_t, DI32> half_d16;
    for (uint32_t x = 0; x < s.width / 2; x += static_cast<uint32_t>(hn::Lanes(d32))) {
        const int16_t* p = filtered + 2 * size_t{x} - kHalf;
        VI32 sum = hn::Set(d32, 32768);
        for (uint32_t pass = 0; pass < passes(kScale); ++pass)
            for (uint32_t j = 0; j <= kHalf; ++j) sum = multiply_pairs(hn::LoadU(d16, p + 2 * j), factors(kPairTaps<kScale>.of[pass][j].first), sum);
        const auto value = hn::DemoteTo(half_d16, hn::ShiftRight<16>(sum));
        hn::StoreU(hn::Xor(hn::BitCast(half_du16, value), hn::Set(half_du16, 0x8000)), half_du16, out + x);
    }
}

void Shrink(const VifScale& s, const VifRows& rows, int16_t* scratch, uint16_t* out) {
    if (s.scale == 0) return s.depth == 8 ? shrink<1, 1>(s, rows, scratch, out) : shrink<1, 2>(s, rows, scratch, out);
    s.scale == 1 ? shrink<2, 2>(s, rows, scratch, out) : shrink<3, 2>(s, rows, scratch, out);
}

// ---- samples and products in pairs of rows ---------------------------------------------------------------------------

// Columns of a tile, and where they are in it.
struct Tile {
    uint32_t begin, end;  // a multiple of the vectors apart
};

template <bool kNarrow>
HWY_NOINLINE void multiply(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t pairs, Tile tile, VifScratch& scratch) {
    const DI16 d16;
    constexpr uint32_t kBytes = kNarrow ? 1 : 2;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const SampleReader<kBytes> read_ref = reader<kBytes>(s, ref), read_main = reader<kBytes>(s, main);
    const VI16 centre = centre_of(s.depth), sign = hn::Set(d16, INT16_MIN);
    for (uint32_t j = 0; j < pairs; ++j) {
        const uint8_t *ref_rows[2] = {ref.row[2 * j], ref.row[2 * j + 1]}, *main_rows[2] = {main.row[2 * j], main.row[2 * j + 1]};
        for (uint32_t x = tile.begin; x < tile.end; x += lanes) {
            const VU16 r0 = read_ref(ref_rows[0], x), r1 = read_ref(ref_rows[1], x), m0 = read_main(main_rows[0], x), m1 = read_main(main_rows[1], x);
            const size_t at = 2 * size_t{x - tile.begin};
            const auto store = [&](uint32_t k, VI16 a, VI16 b) HWY_ATTR {
                hn::Store(hn::InterleaveLower(a, b), d16, scratch.pairs[k][j] + at);
                hn::Store(hn::InterleaveUpper(d16, a, b), d16, scratch.pairs[k][j] + at + lanes);
            };
            const auto store_words = [&](uint32_t k, VU16 a, VU16 b, VI16 less) HWY_ATTR {
                store(k, hn::Xor(hn::BitCast(d16, a), less), hn::Xor(hn::BitCast(d16, b), less));
            };
            store_words(0, r0, r1, centre);
            store_words(1, m0, m1, centre);
            const auto product = [&](uint32_t k, VU16 a0, VU16 b0, VU16 a1, VU16 b1) HWY_ATTR {
                if constexpr (!kNarrow) store_words(k++, hn::MulHigh(a0, b0), hn::MulHigh(a1, b1), sign);
                store_words(k, hn::Mul(a0, b0), hn::Mul(a1, b1), sign);
            };
            product(2, r0, r0, r1, r1);
            product(kNarrow ? 3 : 4, m0, m0, m1, m1);
            product(kNarrow ? 4 : 6, r0, m0, r1, m1);
        }
    }
}

// ---- vertical --------------------------------------------------------------------------------------------------------

constexpr uint32_t kPairStride = sizeof(VifScratch::pairs[0][0]) / sizeof(int16_t), kVerticalStride = sizeof(VifScratch::vertical[0][0]) / sizeof(int16_t);

// Sums of two vectors of columns for several rows.
template <uint32_t kCount>
struct Sums {
    VI32 lower[kCount], upper[kCount];
};

// The sums of kCount rows, 2 or 4, the first of which begins with the pairs at p.
template <uint32_t kScale, uint32_t kCount>
HWY_INLINE Sums<kCount> filter_rows(const int16_t* p, VI32 start) {
    const DI16 d16;
    Sums<kCount> sums;
    for (uint32_t r = 0; r < kCount; ++r) sums.lower[r] = sums.upper[r] = start;
    for (uint32_t pass = 0; pass < passes(kScale); ++pass) {
        VI16 first_before = hn::Zero(d16), second_before = first_before;
        const int16_t* pairs = p;
        EXACTVQ_TAP_LOOP
        for (uint32_t j = 0; j < PairTaps<kScale>::kPairs + kCount / 2 - 1; ++j, pairs += kPairStride) {
            const VI16 lower = hn::Load(d16, pairs), upper = hn::Load(d16, pairs + hn::Lanes(d16));
            const VI16 first = factors(kPairTaps<kScale>.of[pass][j].first), second = factors(kPairTaps<kScale>.of[pass][j].second);
            sums.lower[0] = multiply_pairs(lower, first, sums.lower[0]);
            sums.upper[0] = multiply_pairs(upper, first, sums.upper[0]);
            sums.lower[1] = multiply_pairs(lower, second, sums.lower[1]);
            sums.upper[1] = multiply_pairs(upper, second, sums.upper[1]);
            settle(sums.lower[0]), settle(sums.upper[0]), settle(sums.lower[1]), settle(sums.upper[1]);
            if constexpr (kCount == 4) {  // one pair behind
                sums.lower[2] = multiply_pairs(lower, first_before, sums.lower[2]);
                sums.upper[2] = multiply_pairs(upper, first_before, sums.upper[2]);
                sums.lower[3] = multiply_pairs(lower, second_before, sums.lower[3]);
                sums.upper[3] = multiply_pairs(upper, second_before, sums.upper[3]);
                settle(sums.lower[2]), settle(sums.upper[2]), settle(sums.lower[3]), settle(sums.upper[3]);
                first_before = first;
                second_before = second;
            }
        }
    }
    return sums;
}

// Products, less 2^31, as upper and lower halves.
HWY_INLINE void store_halves(VI32 lower, VI32 upper, int16_t* upper_half, int16_t* lower_half) {
    const DI16 d16;
    hn::Store(join(hn::ShiftRight<16>(lower), hn::ShiftRight<16>(upper)), d16, upper_half);
    const VI16 rest = join(hn::ShiftRight<16>(hn::ShiftLeft<16>(lower)), hn::ShiftRight<16>(hn::ShiftLeft<16>(upper)));
    hn::Store(hn::Xor(rest, hn::Set(d16, INT16_MIN)), d16, lower_half);
}

// 2^16 A + B, rounded and shifted right by `shift`, up to 16; less 2^31, as A and B are. B has the rounding already.
template <bool kFull>
struct ProductShift {
    int shift;
    VI32 constant;

    explicit ProductShift(uint32_t n) : shift(static_cast<int>(n)) {
        const uint32_t upper = n == 16 ? 0x80000000u : 0;  // what the missing 2^31 of A is after its shift
        constant = hn::Set(DI32(), static_cast<int32_t>(upper + (0x80000000u >> n) - 0x80000000u));
    }
    HWY_INLINE VI32 operator()(VI32 a, VI32 b) const {
        if constexpr (kFull) return hn::Add(hn::Add(a, hn::ShiftRight<16>(b)), constant);
        return hn::Add(hn::Add(hn::ShiftLeftSame(a, 16 - shift), hn::ShiftRightSame(b, shift)), constant);
    }
};

// `rows` rows of a tile, kCount at once.
template <uint32_t kScale, bool kNarrow, bool kFull, uint32_t kCount>
HWY_NOINLINE void vertical(const VifScale& s, uint32_t rows, uint32_t columns, VifScratch& scratch) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    // One kind of sum after the other, so that its pairs stay in the first-level cache.
    const VI32 start = mean_start(s.depth);
    for (uint32_t k = 0; k < 2; ++k) {
        for (uint32_t first = 0; first < rows; first += kCount) {
            for (uint32_t x = 0; x < columns; x += lanes) {
                const Sums<kCount> sums = filter_rows<kScale, kCount>(scratch.pairs[k][first / 2] + 2 * size_t{x}, start);
                for (uint32_t r = 0; r < kCount; ++r) {
                    const auto mean = [&](VI32 sum) HWY_ATTR {
                        return kNarrow ? hn::ShiftRight<8>(sum) : kFull ? hn::ShiftRight<16>(sum) : hn::ShiftRightSame(sum, static_cast<int>(s.depth));
                    };
                    hn::Store(join(mean(sums.lower[r]), mean(sums.upper[r])), d16, scratch.vertical[first + r][k] + kVifMargin + x);
                }
            }
        }
    }
    const uint32_t shift = kFull ? 16 : vif_product_shift(s.scale, s.depth);
    const ProductShift<kFull> product(shift);
    const VI32 zero = hn::Zero(d32), half = hn::Set(d32, kNarrow ? 0 : 1 << (shift - 1));
    for (uint32_t k = 0; k < 3; ++k) {
        for (uint32_t first = 0; first < rows; first += kCount) {
            for (uint32_t x = 0; x < columns; x += lanes) {
                Sums<kCount> sums;
                if constexpr (kNarrow) {
                    sums = filter_rows<kScale, kCount>(scratch.pairs[2 + k][first / 2] + 2 * size_t{x}, zero);
                } else {
                    const Sums<kCount> a = filter_rows<kScale, kCount>(scratch.pairs[2 + 2 * k][first / 2] + 2 * size_t{x}, zero);
                    const Sums<kCount> b = filter_rows<kScale, kCount>(scratch.pairs[3 + 2 * k][first / 2] + 2 * size_t{x}, half);
                    for (uint32_t r = 0; r < kCount; ++r) {
                        sums.lower[r] = product(a.lower[r], b.lower[r]);
                        sums.upper[r] = product(a.upper[r], b.upper[r]);
                    }
                }
                for (uint32_t r = 0; r < kCount; ++r) {
                    int16_t* out = scratch.vertical[first + r][2 + 2 * k] + kVifMargin + x;
                    store_halves(sums.lower[r], sums.upper[r], out, out + kVerticalStride);
                }
            }
        }
    }
}

// ---- horizontal ------------------------------------------------------------------------------------------------------

// Sums of two vectors of consecutive columns, even and odd ones: columns 0, 2, ..; 1, 3, ..; and those of the second vector.
constexpr size_t kColumnSums = 4;

// Filters two rows at once.
template <uint32_t kScale>
HWY_INLINE void filter_columns(const int16_t* a, const int16_t* b, VI32 start_a, VI32 start_b, VI32* sums_a, VI32* sums_b) {
    const DI16 d16;
    const size_t lanes = hn::Lanes(d16);
    VI32 a0 = start_a, a1 = start_a, a2 = start_a, a3 = start_a, b0 = start_b, b1 = start_b, b2 = start_b, b3 = start_b;
    a -= vif_half(kScale);
    b -= vif_half(kScale);
    for (uint32_t pass = 0; pass < passes(kScale); ++pass) {
        EXACTVQ_TAP_LOOP
        for (uint32_t j = 0; j < PairTaps<kScale>::kPairs; ++j) {
            const VI16 even = factors(kPairTaps<kScale>.of[pass][j].first), odd = factors(kPairTaps<kScale>.of[pass][j].second);
            const VI16 va = hn::LoadU(d16, a + 2 * j), wa = hn::LoadU(d16, a + lanes + 2 * j);
            const VI16 vb = hn::LoadU(d16, b + 2 * j), wb = hn::LoadU(d16, b + lanes + 2 * j);
            a0 = multiply_pairs(va, even, a0);
            a1 = multiply_pairs(va, odd, a1);
            a2 = multiply_pairs(wa, even, a2);
            a3 = multiply_pairs(wa, odd, a3);
            b0 = multiply_pairs(vb, even, b0);
            b1 = multiply_pairs(vb, odd, b1);
            b2 = multiply_pairs(wb, even, b2);
            b3 = multiply_pairs(wb, odd, b3);
            settle(a0), settle(a1), settle(a2), settle(a3), settle(b0), settle(b1), settle(b2), settle(b3);
        }
    }
    sums_a[0] = a0, sums_a[1] = a1, sums_a[2] = a2, sums_a[3] = a3;
    sums_b[0] = b0, sums_b[1] = b1, sums_b[2] = b2, sums_b[3] = b3;
}

// ---- samples ---------------------------------------------------------------------------------------------------------

HWY_INLINE VU32 odd_to_even(VU32 v) { return hn::BitCast(DU32(), hn::ShiftRight<32>(hn::BitCast(DU64(), v))); }

// (a * b + 2^31) >> 32
HWY_INLINE VU32 multiply_round(VU32 a, VU32 b) {
    const VU64 half = hn::Set(DU64(), 0x80000000u);
    const VU64 even = hn::Add(hn::MulEven(a, b), half), odd = hn::Add(hn::MulEven(odd_to_even(a), odd_to_even(b)), half);
    return hn::OddEven(hn::BitCast(DU32(), odd), hn::BitCast(DU32(), hn::ShiftRight<32>(even)));
}

// Upper words of the binary64 lanes of two vectors, in any order.
HWY_INLINE VU32 upper_words(VF64 a, VF64 b) { return hn::OddEven(hn::BitCast(DU32(), b), odd_to_even(hn::BitCast(DU32(), a))); }

// Sums of a row of a tile.
class SampleSums {
public:
    explicit SampleSums(double gain_limit) : limit_(hn::Set(DF64(), gain_limit)) {}

    // The first `count` lanes of the variances of ref and main, and their covariances. kAll: there are so many.
    template <bool kAll>
    HWY_INLINE void add(VI32 s1, VI32 s2, VI32 s12, uint32_t count) {
        const DI32 d32;
        const VI32 zero = hn::Zero(d32);
        s2 = hn::Max(s2, zero);
        auto active = hn::Gt(s1, hn::Set(d32, kVifNoise - 1));
        if constexpr (!kAll) active = hn::And(active, hn::FirstN(d32, count));
        if (!hn::AllTrue(d32, active)) {
            const auto flat = kAll ? hn::Not(active) : hn::AndNot(active, hn::FirstN(d32, count));
            flat_ = hn::Sub(flat_, hn::VecFromMask(d32, flat));
            const VU64 pairs = hn::BitCast(DU64(), hn::IfThenElseZero(flat, s2));
            flat_main_ = hn::Add(flat_main_, hn::Add(hn::And(pairs, hn::Set(DU64(), 0xffffffffu)), hn::ShiftRight<32>(pairs)));
            if (hn::AllFalse(d32, active)) return;
        }
        // Lanes without a variance, and those of which main shows nothing, add 0: their gain is.
        s1 = hn::IfThenElseZero(active, s1);
        s12 = hn::IfThenElseZero(hn::And(active, hn::And(hn::Gt(s12, zero), hn::Gt(s2, zero))), s12);
        const hn::Half<DI32> half;
        const Logs a = logs(hn::LowerHalf(half, s1), hn::LowerHalf(half, s2), hn::LowerHalf(half, s12));
        const Logs b = logs(hn::UpperHalf(half, s1), hn::UpperHalf(half, s2), hn::UpperHalf(half, s12));
        const VU32 denominator = upper_words(a.denominator, b.denominator), numerator = upper_words(a.numerator, b.numerator);
        const VU32 noise = upper_words(a.noise, b.noise);
        // vif_log() in two parts: the line here, what is above it by scalar loads, which are faster than gathers.
        const VU32 offset = hn::Set(DU32(), (1023 << 11) + kVifNoiseLog);
        denominator_ = hn::Add(denominator_, hn::BitCast(d32, hn::Sub(hn::ShiftRight<9>(denominator), offset)));
        numerator_ = hn::Add(numerator_, hn::BitCast(d32, hn::Sub(hn::ShiftRight<9>(numerator), hn::ShiftRight<9>(noise))));
        store_index(denominator, index_[0]);
        store_index(numerator, index_[1]);
        store_index(noise, index_[2]);
        indices_ += hn::Lanes(d32);
    }

    void add_to(const uint8_t* excess, uint64_t* words) const {
        int64_t denominator = sum(denominator_), numerator = sum(numerator_);
        uint32_t above[3] = {};
        for (size_t i = 0; i < indices_; i += 4)
            for (size_t k = 0; k < 3; ++k)
                for (size_t j = 0; j < 4; ++j) above[k] += excess[index_[k][i + j]];
        denominator += above[0];
        numerator += int64_t{above[1]} - above[2];
        words[kVifDenominator] += static_cast<uint64_t>(denominator);
        words[kVifNumerator] += static_cast<uint64_t>(numerator);
        words[kVifFlat] += static_cast<uint64_t>(sum(flat_));
        words[kVifFlatMain] += hn::GetLane(hn::SumOfLanes(DU64(), flat_main_));
    }

private:
    // What logarithms are taken of.
    struct Logs {
        VF64 denominator, numerator, noise;
    };

    template <class Half>
    HWY_INLINE Logs logs(Half s1, Half s2, Half s12) const {
        const DF64 d;
        const VF64 variance = hn::PromoteTo(d, s1), covariance = hn::PromoteTo(d, s12), noise = hn::Set(d, kVifNoise);
        const VF64 gain = hn::Div(covariance, hn::Add(variance, hn::Set(d, kVifEpsilon)));
        const VF64 rest = hn::Sub(hn::PromoteTo(d, s2), hn::Mul(gain, covariance));
        const VF64 b = hn::Add(hn::Trunc(hn::Max(rest, hn::Zero(d))), noise);
        const VF64 limited = hn::Min(gain, limit_);
        const VF64 signal = hn::Trunc(hn::Mul(hn::Mul(limited, limited), variance));
        return {hn::Add(variance, noise), hn::Add(signal, b), b};
    }

    HWY_INLINE void store_index(VU32 words, uint32_t* to) const {
        hn::StoreU(hn::And(hn::ShiftRight<5>(words), hn::Set(DU32(), kVifLogEntries - 1)), DU32(), to + indices_);
    }

    static int64_t sum(VI32 v) {
        alignas(64) int32_t lanes[HWY_MAX_BYTES / 4];
        hn::Store(v, DI32(), lanes);
        int64_t total = 0;
        for (size_t i = 0; i < hn::Lanes(DI32()); ++i) total += lanes[i];
        return total;
    }

    VF64 limit_;
    VI32 numerator_ = hn::Zero(DI32()), denominator_ = hn::Zero(DI32()), flat_ = hn::Zero(DI32());
    VU64 flat_main_ = hn::Zero(DU64());
    uint32_t index_[3][kVifTile + 2 * kVifMargin];
    size_t indices_ = 0;
};

// Columns of a row from the one on of which the first vertical result is given.
template <uint32_t kScale>
HWY_NOINLINE void horizontal(const int16_t* vertical, uint32_t columns, double gain_limit, const uint8_t* excess, uint64_t* words) {
    const DI32 d32;
    const DU32 du32;
    SampleSums sums(gain_limit);
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DI16()));
    const VI32 top = hn::Set(d32, INT32_MIN), half = hn::Set(d32, 32768), both = hn::Set(d32, INT32_MIN + 32768);
    for (uint32_t x = 0; x < columns; x += 2 * lanes) {
        VI32 u1[kColumnSums], u2[kColumnSums], p[3][kColumnSums];
        filter_columns<kScale>(vertical + x, vertical + kVerticalStride + x, top, top, u1, u2);
        for (uint32_t k = 0; k < 3; ++k) {
            VI32 lower[kColumnSums];
            filter_columns<kScale>(vertical + (2 + 2 * k) * kVerticalStride + x, vertical + (3 + 2 * k) * kVerticalStride + x, both, half, p[k], lower);
            for (size_t i = 0; i < kColumnSums; ++i) p[k][i] = hn::Add(p[k][i], hn::ShiftRight<16>(lower[i]));
        }
        for (size_t i = 0; i < kColumnSums; ++i) {
            const auto moment = [&](VI32 product, VI32 a, VI32 b) HWY_ATTR {
                return hn::Sub(product, hn::BitCast(d32, multiply_round(hn::BitCast(du32, a), hn::BitCast(du32, b))));
            };
            const VI32 s1 = moment(p[0][i], u1[i], u1[i]), s2 = moment(p[1][i], u2[i], u2[i]), s12 = moment(p[2][i], u1[i], u2[i]);
            if (HWY_LIKELY(columns - x >= 2 * lanes)) {
                sums.add<true>(s1, s2, s12, 0);
                continue;
            }
            const uint32_t before = x + (i < 2 ? 0 : lanes), left = before < columns ? std::min(columns - before, lanes) : 0;
            sums.add<false>(s1, s2, s12, (left + (i + 1) % 2) / 2);
        }
    }
    sums.add_to(excess, words);
}

// ---- statistics ------------------------------------------------------------------------------------------------------

constexpr uint32_t kLag = 32;  // columns by which the horizontal pass is behind the vertical one, whose results it needs on both sides

template <uint32_t kScale, bool kNarrow, bool kFull>
void statistics(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t count, double gain_limit, VifScratch& scratch, uint64_t* words) {
    constexpr uint32_t kHalf = vif_half(kScale);
#if HWY_TARGET <= HWY_AVX3
    constexpr uint32_t kCount = 4;  // rows filtered at once: as registers allow
#else
    constexpr uint32_t kCount = kNarrow ? 4 : 2;
#endif
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DI16()));
    const uint8_t* log = vif_log_table();
    uint32_t measured = 0;  // columns
    for (uint32_t begin = 0; begin < s.width; begin += kVifTile) {
        const bool last = begin + kVifTile >= s.width;
        const uint32_t columns = last ? divide_up(s.width - begin, lanes) * lanes : kVifTile;
        multiply<kNarrow>(s, ref, main, divide_up(count, kCount) * kCount / 2 + kHalf, {begin, begin + columns}, scratch);
        if (begin > 0)
            for (uint32_t y = 0; y < count; ++y)
                for (auto& row : scratch.vertical[y]) memcpy(row, row + kVifTile, kVifMargin * sizeof row[0]);
        vertical<kScale, kNarrow, kFull, kCount>(s, count, columns, scratch);
        const uint32_t end = last ? s.width : begin + kVifTile - kLag, origin = begin - kVifMargin;  // column of the first element, may wrap
        for (uint32_t y = 0; y < count; ++y) {
            for (auto& row : scratch.vertical[y]) {
                if (begin == 0)
                    for (uint32_t i = 1; i <= kHalf; ++i) row[kVifMargin - i] = row[kVifMargin + i];
                if (last)
                    for (uint32_t i = 1; i <= kHalf; ++i) row[s.width - 1 + i - origin] = row[s.width - 1 - i - origin];
            }
            horizontal<kScale>(scratch.vertical[y][0] + (measured - origin), end - measured, gain_limit, log, words);
        }
        measured = end;
    }
}

void Statistics(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t count, double gain_limit, VifScratch& scratch, uint64_t* words) {
    const auto function = s.scale == 1   ? &statistics<1, false, true>
                          : s.scale == 2 ? &statistics<2, false, true>
                          : s.scale == 3 ? &statistics<3, false, true>
                          : s.depth == 8 ? &statistics<0, true, false>
                          : s.depth < 16 ? &statistics<0, false, false>
                                         : &statistics<0, false, true>;
    function(s, ref, main, count, gain_limit, scratch, words);
}

}  // namespace

VifKernels MakeVifKernels() { return {&Shrink, &Statistics}; }

#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(MakeVifKernels);

VifKernels vif_kernels(int64_t target) {
    return for_target(HWY_DISPATCH_TABLE(MakeVifKernels), target)();
}

}  // namespace exactvq::cpu
#endif
