// SPDX-License-Identifier: BSD-2-Clause
#include "host/adm_csf.h"

#include <cfloat>
#include <cmath>
#include <string>

#include "exactvq/exactvq.h"
#include "host/error.h"
#include "host/libm.h"

static_assert(FLT_EVAL_METHOD == 0, "float expressions are rounded to binary32 at every step");

namespace exactvq {
namespace {

constexpr double kLeastScreen = 3240.0;  // viewing distance * display height: 3 * 1080

[[noreturn]] void fail(const std::string& sentence) { throw Error(EXACTVQ_ERROR_ARGUMENT, sentence); }

struct Pair {
    float hv, d;
};

// Samples a degree of the visual field.
float samples_per_degree(const AdmViewing& v) {
    constexpr double kPi = 0x1.921fb54442d18p+1;
    return static_cast<float>(((v.norm_view_dist * v.ref_display_height) * kPi) / 180.0);
}

double scale_factor(uint32_t scale) { return static_cast<double>(2u << scale); }  // 2^(scale + 1)

// Mode 0, Watson's thresholds of wavelet noise (spec 6.1).
float watson(uint32_t scale, float g, float amplitude, float r) {
    const float lt = static_cast<float>(libm::log10(((scale_factor(scale) * static_cast<double>(0.401f)) * static_cast<double>(g)) / static_cast<double>(r)));
    const float e = 0.466f * lt * lt;  // in binary32: double changes most weights
    const float q = static_cast<float>(((2.0 * static_cast<double>(0.495f)) * libm::pow(10.0, static_cast<double>(e))) / static_cast<double>(amplitude));
    return 1.0f / q;
}

Pair watson(uint32_t scale, float r) {
    static constexpr float kAmplitude[kAdmScales] = {0.67234f, 0.41317f, 0.22727f, 0.11792f};
    static constexpr float kDiagonal[kAdmScales] = {0.72709f, 0.49428f, 0.28688f, 0.15214f};
    return {watson(scale, 1.0f, kAmplitude[scale], r), watson(scale, 0.534f, kDiagonal[scale], r)};
}

// Mode 1, Barten's model as in HDR-VDP-2 at 100 cd/m^2, before the scaling by options (spec 6.2).
float barten(uint32_t scale, float r) {
    // Parameters of 20 and 150 cd/m^2, interpolated in log10(luminance) in binary32, and what depends on luminance only.
    constexpr float kP0 = 0x1.8795e4p-2f, kP1 = 0x1.7d88fp+1f, kP2 = 0x1.25ac04p+0f, kP3 = 0x1.d06f56p+2f, kLuminance = 0x1.e1f384p+4f;
    static constexpr float kMa[4] = {0.424838596301290f, 0.572435103936480f, 0.000167576239164937f, 0.00255872352306433f};
    static constexpr float kMb[4] = {0.028f, 0.37f, 37.0f, 360.0f};
    const float f = static_cast<float>(static_cast<double>(r) / scale_factor(scale));
    const float a = static_cast<float>(1.0 + libm::pow(static_cast<double>(kP0 * f), static_cast<double>(kP1)));
    const double f7 = static_cast<double>(f / 7.0f);  // its square is exact
    const float b = static_cast<float>(1.0 / libm::pow(1.0 - libm::exp(-(f7 * f7)), static_cast<double>(kP2)));
    const float n = static_cast<float>(static_cast<double>(kP3) / libm::pow(static_cast<double>(a * b), 0.5));
    float m = 0.0f;
    for (int i = 0; i < 4; ++i) {
        const double term = static_cast<double>(kMa[i]) * libm::exp(static_cast<double>(-kMb[i] * f));
        m = static_cast<float>(static_cast<double>(m) + term);
    }
    return n * m * kLuminance;
}

Pair barten(uint32_t scale, float r, const AdmViewing& v) {
    const double s = static_cast<double>(barten(scale, r));
    return {static_cast<float>(s * v.csf_scale), static_cast<float>(s * v.csf_diag_scale)};
}

// Modes 2 and 3, tabulated (spec 6.3).
struct Screen {
    int height;
    double distance;
    float hv[kAdmScales], d[kAdmScales];
};
constexpr Screen kScreens[2][6] = {
    {{1080, 3.0, {0.01183f, 0.025026f, 0.04295f, 0.058621f}, {0.004302f, 0.011778f, 0.023918f, 0.035901f}},
     {2160, 1.5, {0.01183f, 0.025026f, 0.04295f, 0.058621f}, {0.004302f, 0.011778f, 0.023918f, 0.035901f}},
     {1080, 5.0, {0.004212f, 0.014809f, 0.029642f, 0.047464f}, {0.000984f, 0.005852f, 0.0146f, 0.027574f}},
     {2160, 3.0, {0.00226f, 0.01183f, 0.025026f, 0.04295f}, {0.000479f, 0.004302f, 0.011778f, 0.023918f}},
     {2160, 5.0, {0.000092f, 0.004212f, 0.014809f, 0.029642f}, {0.000050f, 0.000984f, 0.005852f, 0.0146f}},
     {720, 5.0, {0.010144f, 0.022561f, 0.040309f, 0.05672f}, {0.003463f, 0.010282f, 0.021839f, 0.034641f}}},
    {{1080, 3.0, {0.011249f, 0.022606f, 0.035930f, 0.045673f}, {0.004097f, 0.010921f, 0.021430f, 0.031313f}},
     {2160, 1.5, {0.011249f, 0.022606f, 0.035930f, 0.045673f}, {0.004097f, 0.010921f, 0.021430f, 0.031313f}},
     {1080, 5.0, {0.004052f, 0.013939f, 0.026298f, 0.038833f}, {0.000927f, 0.005544f, 0.013415f, 0.024515f}},
     {2160, 3.0, {0.002166f, 0.011249f, 0.022606f, 0.035930f}, {0.000447f, 0.004097f, 0.010921f, 0.021430f}},
     {2160, 5.0, {0.000077f, 0.004052f, 0.013939f, 0.026298f}, {0.000045f, 0.000927f, 0.005544f, 0.013415f}},
     {720, 5.0, {0.009689f, 0.020577f, 0.034162f, 0.044523f}, {0.003302f, 0.009579f, 0.019661f, 0.030318f}}}};

std::string text(double value) {
    char buffer[32];
    exactvq_format_double(value, buffer, sizeof buffer);
    return buffer;
}

const Screen& find_screen(const AdmViewing& v) {
    const auto& screens = kScreens[v.csf_mode - 2];
    std::string known;
    for (const Screen& screen : screens) {
        if (screen.height == v.ref_display_height && screen.distance == v.norm_view_dist) return screen;
        known += (known.empty() ? "" : ", ") + text(screen.distance) + " and " + std::to_string(screen.height);
    }
    fail("adm_csf_mode " + std::to_string(v.csf_mode) + " of adm has no weights for adm_norm_view_dist " + text(v.norm_view_dist) +
         " and adm_ref_display_height " + std::to_string(v.ref_display_height) + ": it has them for " + known);
}

}  // namespace

uint32_t adm_fixed_weight0(float weight, bool diagonal) {
    const double x = std::trunc(static_cast<double>(weight) * (diagonal ? 8388608.0 : 2097152.0));
    if (!(x >= -0x1p31 && x < 0x1p31)) return 0;
    return static_cast<uint16_t>(static_cast<int32_t>(x));
}

uint32_t adm_fixed_weight(float weight) {
    const double x = static_cast<double>(weight) * 0x1p32;
    if (!(x >= -0x1p63 && x < 0x1p63)) return 0;
    return static_cast<uint32_t>(static_cast<int64_t>(x));
}

AdmWeights make_adm_weights(const AdmViewing& v) {
    const double screen = v.norm_view_dist * v.ref_display_height;
    if (screen < kLeastScreen)
        fail("adm_norm_view_dist " + text(v.norm_view_dist) + " times adm_ref_display_height " + std::to_string(v.ref_display_height) + " is " + text(screen) +
             ": adm takes products of at least " + text(kLeastScreen) + " (3 times 1080)");
    const float r = samples_per_degree(v);
    const Screen* table = v.csf_mode >= 2 ? &find_screen(v) : nullptr;
    AdmWeights w;
    for (uint32_t s = 0; s < kAdmScales; ++s) {
        const Pair pair = table ? Pair{table->hv[s], table->d[s]} : v.csf_mode == 1 ? barten(s, r, v) : watson(s, r);
        for (uint32_t o = 0; o < kAdmOrientations; ++o) {
            const float f = w.weight[s][o] = o < 2 ? pair.hv : pair.d;
            w.fixed[s][o] = s == 0 ? adm_fixed_weight0(f, o == 2) : adm_fixed_weight(f);
        }
    }
    // The reference has constants here, which are not the truncated weights.
    if (v.csf_mode == 0 && std::fabs(screen - kLeastScreen) < 1e-8) {
        w.fixed[0][0] = w.fixed[0][1] = 36453;
        w.fixed[0][2] = 49417;
    }
    return w;
}

}  // namespace exactvq
