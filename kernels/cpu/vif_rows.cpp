// SPDX-License-Identifier: BSD-2-Clause
//
// VIF in SIMD. All filters are sums of products of 16-bit values, summed in pairs to 32 bits (pmaddwd): rows of two taps lie in pairs for the vertical pass,
// columns lie in pairs by themselves for the horizontal one. 16-bit values without a sign are less 32768, and as taps sum up to 65536, so is every filtered value
// less 2^31. Values of 32 bits are split into halves: with A and B the filtered upper and lower halves, the filtered value is 2^16 A + B, which is shifted term by
// term without a carry. The rest of a sample is in binary64, as specified; integers there are exact.
//
// Sums of integers add in any order, so even and odd columns never come together again.
#include <algorithm>
#include <utility>

#include "host/vif_log.h"
#include "kernels/cpu/vif.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vif_rows.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "kernels/cpu/adm-inl.h"

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

// The middle tap of the last kernel does not fit 16 bits: it is applied in two halves.
constexpr uint32_t kLastScale = kVifScales - 1;

// Taps t and t + 1 of a kernel as factors of a pair. kSecond: the other halves of taps that are applied in two.
constexpr int32_t tap_part(uint32_t scale, int32_t t, bool second) {
    if (t < 0 || t > static_cast<int32_t>(2 * vif_half(scale))) return 0;
    const int32_t tap = static_cast<int32_t>(vif_tap(scale, static_cast<uint32_t>(t)));
    return tap > INT16_MAX ? tap / 2 : second ? 0 : tap;
}
constexpr int32_t tap_pair(uint32_t scale, int32_t t, bool second = false) { return tap_part(scale, t, second) | tap_part(scale, t + 1, second) * 65536; }

template <int32_t kPair>
HWY_INLINE void add_products(VI16 values, VI32& sum) {
    if constexpr (kPair != 0) sum = multiply_pairs(values, hn::BitCast(DI16(), hn::Set(DI32(), kPair)), sum);
}

// ---- samples ---------------------------------------------------------------------------------------------------------

constexpr uint32_t kLanes16 = HWY_MAX_BYTES / 2;  // at most

// Reads samples of a row as 16-bit lanes.
template <uint32_t kBytes>
struct Reader {
    uint32_t step, shift, readable;

    explicit Reader(const VifRows& rows) : step(rows.step), shift(rows.shift), readable(rows.readable) {}

    HWY_INLINE VU16 operator()(const uint8_t* row, uint32_t x) const {
        if (HWY_LIKELY(step == kBytes && x + hn::Lanes(DU16()) <= readable)) return words(row + size_t{x} * kBytes);
        return piece(row, x);
    }

private:
    HWY_INLINE VU16 words(const uint8_t* p) const {
        if constexpr (kBytes == 1) {
            return hn::PromoteTo(DU16(), hn::LoadU(hn::Rebind<uint8_t, DU16>(), p));
        } else {
            return hn::ShiftRightSame(hn::BitCast(DU16(), hn::LoadU(hn::Repartition<uint8_t, DU16>(), p)), static_cast<int>(shift));
        }
    }
    // Pictures may end with their last sample, and other samples may lie between those of a plane.
    HWY_NOINLINE VU16 piece(const uint8_t* row, uint32_t x) const {
        alignas(64) uint8_t bytes[2 * kLanes16] = {};
        const uint32_t count = x < readable ? std::min(static_cast<uint32_t>(hn::Lanes(DU16())), readable - x) : 0;
        for (uint32_t i = 0; i < count; ++i) memcpy(bytes + i * kBytes, row + size_t{x + i} * step, kBytes);
        return words(bytes);
    }
};

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

template <uint32_t kScale, bool kSecond, size_t... kPairs>
HWY_INLINE void add_rows(const VI16* rows, VI32& lower, VI32& upper, std::index_sequence<kPairs...>) {
    const auto step = [&](auto j) HWY_ATTR {
        constexpr int32_t pair = tap_pair(kScale, 2 * j.value, kSecond);
        add_products<pair>(hn::InterleaveLower(rows[2 * j.value], rows[2 * j.value + 1]), lower);
        add_products<pair>(hn::InterleaveUpper(DI16(), rows[2 * j.value], rows[2 * j.value + 1]), upper);
    };
    (step(std::integral_constant<int32_t, kPairs>()), ...);
}

// `kScale`: that of the kernel, one more than that of the rows.
template <uint32_t kScale, uint32_t kBytes>
void shrink(const VifScale& s, const VifRows& rows, int16_t* filtered, uint16_t* out) {
    const DI16 d16;
    const DI32 d32;
    constexpr uint32_t kHalf = vif_half(kScale), kTaps = 2 * kHalf + 1;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const Reader<kBytes> read(rows);
    const VI16 centre = centre_of(s.depth);
    const VI32 start = mean_start(s.depth);
    for (uint32_t x = 0; x < s.width; x += lanes) {
        VI16 row[kTaps + 1];
        for (uint32_t t = 0; t < kTaps; ++t) row[t] = hn::Xor(hn::BitCast(d16, read(rows.row[t], x)), centre);
        row[kTaps] = hn::Zero(d16);
        VI32 lower = start, upper = start;
        add_rows<kScale, false>(row, lower, upper, std::make_index_sequence<kHalf + 1>());
        if constexpr (kScale == kLastScale) add_rows<kScale, true>(row, lower, upper, std::make_index_sequence<kHalf + 1>());
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
        const auto filter = [&](auto second) HWY_ATTR {
            add_products<tap_pair(kScale, 0, second.value)>(hn::LoadU(d16, p), sum);
            add_products<tap_pair(kScale, 2, second.value)>(hn::LoadU(d16, p + 2), sum);
            add_products<tap_pair(kScale, 4, second.value)>(hn::LoadU(d16, p + 4), sum);
            add_products<tap_pair(kScale, 6, second.value)>(hn::LoadU(d16, p + 6), sum);
            add_products<tap_pair(kScale, 8, second.value)>(hn::LoadU(d16, p + 8), sum);
        };
        filter(std::false_type());
        if constexpr (kScale == kLastScale) filter(std::true_type());
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
void multiply(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t pairs, Tile tile, VifScratch& scratch) {
    const DI16 d16;
    constexpr uint32_t kBytes = kNarrow ? 1 : 2;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const Reader<kBytes> read_ref(ref), read_main(main);
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
            const auto store_words = [&](uint32_t k, VU16 a, VU16 b, VI16 less) HWY_ATTR { store(k, hn::Xor(hn::BitCast(d16, a), less), hn::Xor(hn::BitCast(d16, b), less)); };
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

// Sums of two vectors of pairs for several rows.
template <uint32_t kCount>
struct Sums {
    VI32 lower[kCount], upper[kCount];
};

template <uint32_t kScale, bool kSecond, int32_t kPair, uint32_t kCount>
HWY_INLINE void add_pair(const int16_t* p, Sums<kCount>& sums) {
    const DI16 d16;
    const VI16 lower = hn::Load(d16, p), upper = hn::Load(d16, p + hn::Lanes(d16));
    const auto row = [&](auto r) HWY_ATTR {
        constexpr int32_t pair = tap_pair(kScale, 2 * kPair - r.value, kSecond);
        add_products<pair>(lower, sums.lower[r.value]);
        add_products<pair>(upper, sums.upper[r.value]);
    };
    row(std::integral_constant<int32_t, 0>());
    row(std::integral_constant<int32_t, 1>());
    if constexpr (kCount > 2) {
        row(std::integral_constant<int32_t, 2>());
        row(std::integral_constant<int32_t, 3>());
    }
}

template <uint32_t kScale, bool kSecond, uint32_t kCount, size_t... kPairs>
HWY_INLINE void add_pairs(const int16_t* p, Sums<kCount>& sums, std::index_sequence<kPairs...>) {
    (add_pair<kScale, kSecond, kPairs>(p + kPairs * kPairStride, sums), ...);
}

// The sums of kCount rows, the first of which begins with the pairs at p.
template <uint32_t kScale, uint32_t kCount>
HWY_INLINE Sums<kCount> filter_rows(const int16_t* p, VI32 start) {
    Sums<kCount> sums;
    for (uint32_t r = 0; r < kCount; ++r) sums.lower[r] = sums.upper[r] = start;
    constexpr auto pairs = std::make_index_sequence<vif_half(kScale) + kCount / 2>();
    add_pairs<kScale, false>(p, sums, pairs);
    if constexpr (kScale == kLastScale) add_pairs<kScale, true>(p, sums, pairs);
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

// Rows `first` to `first` + kCount - 1 of the group.
template <uint32_t kScale, bool kNarrow, bool kFull, uint32_t kCount>
void vertical_rows(const VifScale& s, uint32_t first, uint32_t columns, VifScratch& scratch) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const uint32_t pair = first / 2;
    const VI32 start = mean_start(s.depth);
    for (uint32_t k = 0; k < 2; ++k) {
        for (uint32_t x = 0; x < columns; x += lanes) {
            const Sums<kCount> sums = filter_rows<kScale, kCount>(scratch.pairs[k][pair] + 2 * size_t{x}, start);
            for (uint32_t r = 0; r < kCount; ++r) {
                const auto mean = [&](VI32 sum) HWY_ATTR { return kNarrow ? hn::ShiftRight<8>(sum) : kFull ? hn::ShiftRight<16>(sum) : hn::ShiftRightSame(sum, static_cast<int>(s.depth)); };
                hn::Store(join(mean(sums.lower[r]), mean(sums.upper[r])), d16, scratch.vertical[first + r][k] + kVifMargin + x);
            }
        }
    }
    const uint32_t shift = kFull ? 16 : vif_product_shift(s.scale, s.depth);
    const ProductShift<kFull> product(shift);
    const VI32 zero = hn::Zero(d32), half = hn::Set(d32, kNarrow ? 0 : 1 << (shift - 1));
    for (uint32_t k = 0; k < 3; ++k) {
        for (uint32_t x = 0; x < columns; x += lanes) {
            Sums<kCount> sums;
            if constexpr (kNarrow) {
                sums = filter_rows<kScale, kCount>(scratch.pairs[2 + k][pair] + 2 * size_t{x}, zero);
            } else {
                const Sums<kCount> a = filter_rows<kScale, kCount>(scratch.pairs[2 + 2 * k][pair] + 2 * size_t{x}, zero);
                const Sums<kCount> b = filter_rows<kScale, kCount>(scratch.pairs[3 + 2 * k][pair] + 2 * size_t{x}, half);
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

// ---- horizontal ------------------------------------------------------------------------------------------------------

// Even and odd columns.
struct Columns {
    VI32 even, odd;
};

template <uint32_t kScale, size_t... kPairs>
HWY_INLINE Columns filter_columns(const int16_t* p, VI32 start, std::index_sequence<kPairs...>) {
    const DI16 d16;
    Columns sums{start, start};
    if constexpr (kScale == kLastScale) {  // two pairs share the middle tap
        constexpr int32_t middle = tap_part(kScale, 1, false), side = tap_part(kScale, 0, false);
        const VI16 centre = hn::LoadU(d16, p);
        add_products<side | middle * 65536>(hn::LoadU(d16, p - 1), sums.even);
        add_products<middle | side * 65536>(centre, sums.even);
        add_products<side | middle * 65536>(centre, sums.odd);
        add_products<middle | side * 65536>(hn::LoadU(d16, p + 1), sums.odd);
    } else {
        p -= vif_half(kScale);
        (add_products<tap_pair(kScale, 2 * kPairs)>(hn::LoadU(d16, p + 2 * kPairs), sums.even), ...);
        (add_products<tap_pair(kScale, 2 * kPairs)>(hn::LoadU(d16, p + 2 * kPairs + 1), sums.odd), ...);
    }
    return sums;
}
template <uint32_t kScale>
HWY_INLINE Columns filter_columns(const int16_t* p, VI32 start) {
    return filter_columns<kScale>(p, start, std::make_index_sequence<vif_half(kScale) + 1>());
}

HWY_INLINE VU32 odd_to_even(VU32 v) { return hn::BitCast(DU32(), hn::ShiftRight<32>(hn::BitCast(DU64(), v))); }

// (a * b + 2^31) >> 32
HWY_INLINE VU32 multiply_round(VU32 a, VU32 b) {
    const VU64 half = hn::Set(DU64(), 0x80000000u);
    const VU64 even = hn::Add(hn::MulEven(a, b), half), odd = hn::Add(hn::MulEven(odd_to_even(a), odd_to_even(b)), half);
    return hn::OddEven(hn::BitCast(DU32(), odd), hn::BitCast(DU32(), hn::ShiftRight<32>(even)));
}

// Upper words of the binary64 lanes of two vectors, in any order.
HWY_INLINE VU32 upper_words(VF64 a, VF64 b) { return hn::OddEven(hn::BitCast(DU32(), b), odd_to_even(hn::BitCast(DU32(), a))); }

// vif_log() + (1023 << 11) of the binary64 whose upper words are given.
HWY_INLINE VI32 log_of(VU32 words, const uint8_t* excess) {
    const DI32 d32;
    const VI32 index = hn::BitCast(d32, hn::And(hn::ShiftRight<5>(words), hn::Set(DU32(), kVifLogEntries - 1)));
    const VI32 line = hn::BitCast(d32, hn::ShiftRight<9>(words));
#if HWY_TARGET <= HWY_AVX2
    const VI32 entry = hn::And(hn::GatherOffset(d32, reinterpret_cast<const int32_t*>(excess), index), hn::Set(d32, 0xff));
#else
    alignas(64) int32_t at[HWY_MAX_BYTES / 4];
    hn::Store(index, d32, at);
    for (size_t i = 0; i < hn::Lanes(d32); ++i) at[i] = excess[at[i]];
    const VI32 entry = hn::Load(d32, at);
#endif
    return hn::Add(line, entry);
}

// Sums of lanes, over less than 2^14 vectors.
class SampleSums {
public:
    SampleSums(double gain_limit, const uint8_t* excess) : limit_(hn::Set(DF64(), gain_limit)), excess_(excess) {}

    // `columns`: the lanes that count.
    HWY_INLINE void add(VI32 s1, VI32 s2, VI32 s12, hn::Mask<DI32> columns) {
        const DI32 d32;
        const VI32 zero = hn::Zero(d32);
        s2 = hn::Max(s2, zero);
        const auto active = hn::And(hn::Gt(s1, hn::Set(d32, kVifNoise - 1)), columns);
        const auto flat = hn::AndNot(active, columns);
        if (!hn::AllFalse(d32, flat)) {
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
        denominator_ = hn::Add(denominator_, hn::Sub(log_of(upper_words(a.denominator, b.denominator), excess_), hn::Set(d32, (1023 << 11) + kVifNoiseLog)));
        numerator_ = hn::Add(numerator_, hn::Sub(log_of(upper_words(a.numerator, b.numerator), excess_), log_of(upper_words(a.noise, b.noise), excess_)));
    }

    void add_to(uint64_t* words) const {
        const auto sum = [](VI32 v) HWY_ATTR {
            alignas(64) int32_t lanes[HWY_MAX_BYTES / 4];
            hn::Store(v, DI32(), lanes);
            int64_t total = 0;
            for (size_t i = 0; i < hn::Lanes(DI32()); ++i) total += lanes[i];
            return static_cast<uint64_t>(total);
        };
        words[kVifNumerator] += sum(numerator_);
        words[kVifDenominator] += sum(denominator_);
        words[kVifFlat] += sum(flat_);
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

    VF64 limit_;
    const uint8_t* excess_;
    VI32 numerator_ = hn::Zero(DI32()), denominator_ = hn::Zero(DI32()), flat_ = hn::Zero(DI32());
    VU64 flat_main_ = hn::Zero(DU64());
};

// Columns of a row from the one on of which the first vertical result is given.
template <uint32_t kScale>
HWY_INLINE void horizontal(const int16_t* vertical, uint32_t columns, SampleSums& sums) {
    const DI32 d32;
    const DU32 du32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DI16()));
    const VI32 top = hn::Set(d32, INT32_MIN), half = hn::Set(d32, 32768), both = hn::Set(d32, INT32_MIN + 32768);
    for (uint32_t x = 0; x < columns; x += lanes) {
        const Columns u1 = filter_columns<kScale>(vertical + x, top), u2 = filter_columns<kScale>(vertical + kVerticalStride + x, top);
        const auto products = [&](uint32_t k) HWY_ATTR {
            const Columns upper = filter_columns<kScale>(vertical + (2 + 2 * k) * kVerticalStride + x, both), lower = filter_columns<kScale>(vertical + (3 + 2 * k) * kVerticalStride + x, half);
            return Columns{hn::Add(upper.even, hn::ShiftRight<16>(lower.even)), hn::Add(upper.odd, hn::ShiftRight<16>(lower.odd))};
        };
        const auto moment = [&](VI32 p, VI32 a, VI32 b) HWY_ATTR { return hn::Sub(p, hn::BitCast(d32, multiply_round(hn::BitCast(du32, a), hn::BitCast(du32, b)))); };
        const Columns p1 = products(0), p2 = products(1), p12 = products(2);
        const uint32_t left = std::min(columns - x, lanes);
        sums.add(moment(p1.even, u1.even, u1.even), moment(p2.even, u2.even, u2.even), moment(p12.even, u1.even, u2.even), hn::FirstN(d32, (left + 1) / 2));
        sums.add(moment(p1.odd, u1.odd, u1.odd), moment(p2.odd, u2.odd, u2.odd), moment(p12.odd, u1.odd, u2.odd), hn::FirstN(d32, left / 2));
    }
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
        for (uint32_t first = 0; first < count; first += kCount) vertical_rows<kScale, kNarrow, kFull, kCount>(s, first, columns, scratch);
        const uint32_t end = last ? s.width : begin + kVifTile - kLag, origin = begin - kVifMargin;  // column of the first element, may wrap
        SampleSums sums(gain_limit, log);
        for (uint32_t y = 0; y < count; ++y) {
            for (auto& row : scratch.vertical[y]) {
                if (begin == 0)
                    for (uint32_t i = 1; i <= kHalf; ++i) row[kVifMargin - i] = row[kVifMargin + i];
                if (last)
                    for (uint32_t i = 1; i <= kHalf; ++i) row[s.width - 1 + i - origin] = row[s.width - 1 - i - origin];
            }
            horizontal<kScale>(scratch.vertical[y][0] + (measured - origin), end - measured, sums);
        }
        measured = end;
        sums.add_to(words);
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
    hwy::ChosenTarget chosen;
    chosen.Update(target);
    return HWY_DISPATCH_TABLE(MakeVifKernels)[chosen.GetIndex()]();
}

}  // namespace exactvq::cpu
#endif
