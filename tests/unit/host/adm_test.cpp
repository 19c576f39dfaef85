// SPDX-License-Identifier: BSD-2-Clause
//
// adm on the host: contrast sensitivity weights, and scores of given accumulators. Nothing is measured here.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "host/adm_csf.h"
#include "host/error.h"
#include "host/options.h"
#include "host/plan.h"

namespace exactvq {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Equal bit for bit; every NaN is as good as another.
void expect_same(double actual, double expected, const std::string& what) {
    if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual;
    } else {
        EXPECT_EQ(double_bits(actual), double_bits(expected)) << what << " is " << std::hexfloat << actual << ", not " << expected;
    }
}

// One instance of adm with options as a command line has them.
Plan make_plan(const std::string& text, uint32_t width, uint32_t height, uint32_t depth) {
    const MetricList list = parse_metrics("adm", text);
    std::vector<exactvq_option> options;
    for (const auto& [key, value] : list.instances[0].options) options.push_back({key.c_str(), value.c_str()});
    const exactvq_metric metric{"adm", nullptr, options.data(), options.size()};
    return Plan(&metric, 1, make_geometry({width, height, depth, 1, 0, 0}));
}

// The sentence of the refusal, "" if there is none.
std::string refusal(const std::string& text, uint32_t width = 64, uint32_t height = 48) {
    try {
        make_plan(text, width, height, 8);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), EXACTVQ_ERROR_ARGUMENT);
        return error.what();
    }
    return "";
}

// ---- contrast sensitivity --------------------------------------------------------------------------------------------

struct WeightCase {
    int mode;
    double distance;
    int height;
    double scale, diagonal_scale;
    uint32_t s;
    float hv, d;
    uint32_t fixed_hv, fixed_d;
};

// Of the specification, section 6.
constexpr WeightCase kWeights[] = {
    {0, 3, 1080, 1, 1, 0, 0x1.1cc774p-6f, 0x1.820d54p-8f, 36453, 49417},
    {0, 3, 1080, 1, 1, 1, 0x1.06050cp-5f, 0x1.d48d46p-7f, 137373792, 61414028},
    {0, 3, 1080, 1, 1, 2, 0x1.634f1p-5f, 0x1.8fb80cp-6f, 186284160, 104783920},
    {0, 3, 1080, 1, 1, 3, 0x1.762816p-5f, 0x1.008392p-5f, 196165808, 134487184},
    {0, 4, 1080, 1, 1, 0, 0x1.553b2cp-7f, 0x1.adfe04p-9f, 21838, 27519},
    {0, 4, 1080, 1, 1, 1, 0x1.5459dcp-6f, 0x1.1ae016p-7f, 89220976, 37077036},
    {0, 4, 1080, 1, 1, 2, 0x1.f45332p-6f, 0x1.059ab4p-6f, 131157192, 68578000},
    {0, 4, 1080, 1, 1, 3, 0x1.1d939p-5f, 0x1.6bfc46p-6f, 149724288, 95416600},
    {0, 5, 1080, 1, 1, 0, 0x1.c0364ep-8f, 0x1.0ad7fep-9f, 14342, 17077},
    {0, 5, 1080, 1, 1, 1, 0x1.dbf058p-7f, 0x1.75c678p-8f, 62382256, 24495736},
    {0, 5, 1080, 1, 1, 2, 0x1.746c1p-6f, 0x1.700066p-7f, 97628224, 48234700},
    {0, 5, 1080, 1, 1, 3, 0x1.c49c48p-6f, 0x1.108d0ep-6f, 118649120, 71447608},
    {0, 3, 2160, 1, 1, 0, 0x1.392e4ep-8f, 0x1.6408d8p-10f, 10021, 11393},
    {0, 3, 2160, 1, 1, 1, 0x1.5e020ep-7f, 0x1.0670cp-8f, 45876252, 17199296},
    {0, 3, 2160, 1, 1, 2, 0x1.20415cp-6f, 0x1.0ff286p-7f, 75564400, 35644684},
    {0, 3, 2160, 1, 1, 3, 0x1.70b4fap-6f, 0x1.a7f684p-7f, 96654312, 55569672},
    {0, 5, 2160, 1, 1, 0, 0x1.ab1988p-10f, 0x1.aa7914p-12f, 3416, 3411},
    {0, 5, 2160, 1, 1, 1, 0x1.137012p-8f, 0x1.6acdc6p-10f, 18051090, 5944177},
    {0, 5, 2160, 1, 1, 2, 0x1.05cc02p-7f, 0x1.b1e0ccp-9f, 34314244, 14217318},
    {0, 5, 2160, 1, 1, 3, 0x1.82772ep-7f, 0x1.865264p-8f, 50654812, 25580132},
    {0, 5, 720, 1, 1, 0, 0x1.d9f5d4p-7f, 0x1.38c61cp-8f, 30333, 40035},
    {0, 5, 720, 1, 1, 1, 0x1.c12a24p-6f, 0x1.8700cp-7f, 117745808, 51249536},
    {0, 5, 720, 1, 1, 2, 0x1.39addap-5f, 0x1.5791dep-6f, 164458192, 90064760},
    {0, 5, 720, 1, 1, 3, 0x1.543a74p-5f, 0x1.c630f6p-6f, 178377632, 119063512},
    {0, 24, 4320, 1, 1, 0, 0x1.06147cp-18f, 0x1.26b63ap-21f, 8, 4},
    {0, 24, 4320, 1, 1, 1, 0x1.3ecc26p-16f, 0x1.d8e4cp-19f, 81612, 15132},
    {0, 24, 4320, 1, 1, 2, 0x1.1dc45p-14f, 0x1.0aad3cp-16f, 292625, 68269},
    {0, 24, 4320, 1, 1, 3, 0x1.8dd844p-13f, 0x1.c481fcp-15f, 814786, 231683},
    {1, 3, 1080, 1, 1, 0, 0x1.35e31ap+0f, 0x1.35e31ap+0f, 48227, 61837},
    {1, 3, 1080, 1, 1, 1, 0x1.42b3c6p+2f, 0x1.42b3c6p+2f, 181344256, 181344256},
    {1, 3, 1080, 1, 1, 2, 0x1.d410eap+3f, 0x1.d410eap+3f, 2693222400, 2693222400},
    {1, 3, 1080, 1, 1, 3, 0x1.af9d36p+4f, 0x1.af9d36p+4f, 4191379456, 4191379456},
    {1, 5, 1080, 1, 1, 0, 0x1.559908p-2f, 0x1.559908p-2f, 44232, 45857},
    {1, 5, 1080, 1, 1, 1, 0x1.d003ecp+0f, 0x1.d003ecp+0f, 3489917952, 3489917952},
    {1, 5, 1080, 1, 1, 2, 0x1.bde96ap+2f, 0x1.bde96ap+2f, 4154828800, 4154828800},
    {1, 5, 1080, 1, 1, 3, 0x1.1fc134p+4f, 0x1.1fc134p+4f, 4229120000, 4229120000},
    {1, 5, 2160, 1, 1, 0, 0x1.03fd2ap-5f, 0x1.03fd2ap-5f, 1021, 4084},
    {1, 5, 2160, 1, 1, 1, 0x1.559908p-2f, 0x1.559908p-2f, 1432764928, 1432764928},
    {1, 5, 2160, 1, 1, 2, 0x1.d003ecp+0f, 0x1.d003ecp+0f, 3489917952, 3489917952},
    {1, 5, 2160, 1, 1, 3, 0x1.bde96ap+2f, 0x1.bde96ap+2f, 4154828800, 4154828800},
    {1, 3, 1080, 0.0005, 0.001, 0, 0x1.3d530cp-11f, 0x1.3d530cp-10f, 1269, 10154},
    {1, 3, 1080, 0.0005, 0.001, 1, 0x1.4a7274p-9f, 0x1.4a7274p-8f, 10828090, 21656180},
    {1, 3, 1080, 0.0005, 0.001, 2, 0x1.df4cb6p-8f, 0x1.df4cb6p-7f, 31411382, 62822764},
    {1, 3, 1080, 0.0005, 0.001, 3, 0x1.b9f90cp-7f, 0x1.b9f90cp-6f, 57930264, 115860528},
    {2, 3, 1080, 1, 1, 0, 0x1.83a53cp-7f, 0x1.19ef96p-8f, 24809, 36087},
    {2, 3, 1080, 1, 1, 1, 0x1.9a06a6p-6f, 0x1.81f106p-7f, 107485848, 50586124},
    {2, 3, 1080, 1, 1, 2, 0x1.5fd8aep-5f, 0x1.87df5cp-6f, 184468848, 102727024},
    {2, 3, 1080, 1, 1, 3, 0x1.e03926p-5f, 0x1.2619dap-5f, 251775280, 154193616},
    {2, 5, 1080, 1, 1, 0, 0x1.1409a2p-8f, 0x1.01f32p-10f, 8833, 8254},
    {2, 5, 1080, 1, 1, 1, 0x1.e542e6p-7f, 0x1.7f8444p-8f, 63604172, 25134148},
    {2, 5, 1080, 1, 1, 2, 0x1.e5a79p-6f, 0x1.de69aep-7f, 127311424, 62706524},
    {2, 5, 1080, 1, 1, 3, 0x1.84d338p-5f, 0x1.c3c5bep-6f, 203856320, 118429432},
    {2, 3, 2160, 1, 1, 0, 0x1.283904p-9f, 0x1.f64496p-12f, 4739, 4018},
    {2, 3, 2160, 1, 1, 1, 0x1.83a53cp-7f, 0x1.19ef96p-8f, 50809464, 18476950},
    {2, 3, 2160, 1, 1, 2, 0x1.9a06a6p-6f, 0x1.81f106p-7f, 107485848, 50586124},
    {2, 3, 2160, 1, 1, 3, 0x1.5fd8aep-5f, 0x1.87df5cp-6f, 184468848, 102727024},
    {2, 5, 2160, 1, 1, 0, 0x1.81e04p-14f, 0x1.a36e2ep-15f, 192, 419},
    {2, 5, 2160, 1, 1, 1, 0x1.1409a2p-8f, 0x1.01f32p-10f, 18090402, 4226248},
    {2, 5, 2160, 1, 1, 2, 0x1.e542e6p-7f, 0x1.7f8444p-8f, 63604172, 25134148},
    {2, 5, 2160, 1, 1, 3, 0x1.e5a79p-6f, 0x1.de69aep-7f, 127311424, 62706524},
    {2, 5, 720, 1, 1, 0, 0x1.4c660ap-7f, 0x1.c5e7p-9f, 21273, 29049},
    {2, 5, 720, 1, 1, 1, 0x1.71a3b2p-6f, 0x1.50ebaap-7f, 96898760, 44160852},
    {2, 5, 720, 1, 1, 2, 0x1.4a361ap-5f, 0x1.65cf68p-6f, 173125840, 93797792},
    {2, 5, 720, 1, 1, 3, 0x1.d0a676p-5f, 0x1.1bc772p-5f, 243610544, 148781968},
    {3, 3, 1080, 1, 1, 0, 0x1.709b74p-7f, 0x1.0c8042p-8f, 23590, 34368},
    {3, 3, 1080, 1, 1, 1, 0x1.72607p-6f, 0x1.65dbfcp-7f, 97092032, 46905336},
    {3, 3, 1080, 1, 1, 2, 0x1.2656acp-5f, 0x1.5f1bfp-6f, 154318176, 92041152},
    {3, 3, 1080, 1, 1, 3, 0x1.76273ap-5f, 0x1.00841ep-5f, 196164048, 134488304},
    {3, 5, 1080, 1, 1, 0, 0x1.098d48p-8f, 0x1.e603d6p-11f, 8497, 7776},
    {3, 5, 1080, 1, 1, 1, 0x1.c8c0cep-7f, 0x1.6b54e2p-8f, 59867548, 23811298},
    {3, 5, 1080, 1, 1, 2, 0x1.aeddcep-6f, 0x1.b7952ep-7f, 112949048, 57616988},
    {3, 5, 1080, 1, 1, 3, 0x1.3e1eb4p-5f, 0x1.91a75cp-6f, 166786464, 105291120},
    {3, 3, 2160, 1, 1, 0, 0x1.1be6e6p-9f, 0x1.d4b6a6p-12f, 4542, 3749},
    {3, 3, 2160, 1, 1, 1, 0x1.709b74p-7f, 0x1.0c8042p-8f, 48314088, 17596482},
    {3, 3, 2160, 1, 1, 2, 0x1.72607p-6f, 0x1.65dbfcp-7f, 97092032, 46905336},
    {3, 3, 2160, 1, 1, 3, 0x1.2656acp-5f, 0x1.5f1bfp-6f, 154318176, 92041152},
    {3, 5, 2160, 1, 1, 0, 0x1.42f61ep-14f, 0x1.797cc4p-15f, 161, 377},
    {3, 5, 2160, 1, 1, 1, 0x1.098d48p-8f, 0x1.e603d6p-11f, 17403208, 3981434},
    {3, 5, 2160, 1, 1, 2, 0x1.c8c0cep-7f, 0x1.6b54e2p-8f, 59867548, 23811298},
    {3, 5, 2160, 1, 1, 3, 0x1.aeddcep-6f, 0x1.b7952ep-7f, 112949048, 57616988},
    {3, 5, 720, 1, 1, 0, 0x1.3d7d3ap-7f, 0x1.b0ccbcp-9f, 20319, 27699},
    {3, 5, 720, 1, 1, 1, 0x1.512232p-6f, 0x1.39e27ap-7f, 88377544, 41141492},
    {3, 5, 720, 1, 1, 2, 0x1.17dae8p-5f, 0x1.422036p-6f, 146724672, 84443352},
    {3, 5, 720, 1, 1, 3, 0x1.6cbb8p-5f, 0x1.f0bae8p-6f, 191224832, 130214816},
};

TEST(AdmWeights, AreTheSpecifications) {
    for (const WeightCase& c : kWeights) {
        const std::string what =
            "mode " + std::to_string(c.mode) + ", " + std::to_string(c.distance) + " x " + std::to_string(c.height) + ", scale " + std::to_string(c.s);
        const AdmWeights w = make_adm_weights({c.mode, c.distance, c.height, c.scale, c.diagonal_scale});
        expect_same(w.weight[c.s][0], c.hv, what + " h");
        expect_same(w.weight[c.s][1], c.hv, what + " v");
        expect_same(w.weight[c.s][2], c.d, what + " d");
        // The backend gets the fixed-point weights of the options.
        char options[256];
        std::snprintf(options, sizeof options, "adm_csf_mode=%d|adm_norm_view_dist=%g|adm_ref_display_height=%d|adm_csf_scale=%g|adm_csf_diag_scale=%g", c.mode,
                      c.distance, c.height, c.scale, c.diagonal_scale);
        Plan plan = make_plan(options, 64, 48, 8);
        ASSERT_EQ(plan.accumulators().size(), 1u);
        const AdmScale& scale = plan.accumulators()[0].adm.scale[c.s];
        const uint32_t expected[3] = {c.fixed_hv, c.fixed_hv, c.fixed_d};
        for (uint32_t o = 0; o < kAdmOrientations; ++o) {
            EXPECT_EQ(w.fixed[c.s][o], expected[o]) << what;
            EXPECT_EQ(scale.weight[o], expected[o]) << what;
        }
    }
}

// The same display at half the distance and twice the height.
TEST(AdmWeights, DependOnTheProduct) {
    for (int mode : {0, 2, 3}) {
        const AdmWeights a = make_adm_weights({mode, 3.0, 1080, 1, 1}), b = make_adm_weights({mode, 1.5, 2160, 1, 1});
        for (uint32_t s = 0; s < kAdmScales; ++s)
            for (uint32_t o = 0; o < kAdmOrientations; ++o) {
                EXPECT_EQ(a.weight[s][o], b.weight[s][o]);
                EXPECT_EQ(a.fixed[s][o], b.fixed[s][o]);
            }
    }
    // The constants of scale 0 are those of this product in mode 0 only.
    EXPECT_EQ(make_adm_weights({0, 1.5, 2160, 1, 1}).fixed[0][2], 49417u);
    EXPECT_EQ(make_adm_weights({0, 3.00001, 1080, 1, 1}).fixed[0][0], 36451u);
    EXPECT_EQ(make_adm_weights({0, 3.00001, 1080, 1, 1}).fixed[0][2], 49414u);
}

TEST(AdmWeights, FixedPointWraps) {
    EXPECT_EQ(adm_fixed_weight0(0.03f, false), 62914u);
    EXPECT_EQ(adm_fixed_weight0(0x1.fffffep-6f, false), 65535u);
    EXPECT_EQ(adm_fixed_weight0(0x1p-5f, false), 0u);
    EXPECT_EQ(adm_fixed_weight0(0x1.8p-5f, false), 32768u);
    EXPECT_EQ(adm_fixed_weight0(0x1p-7f, true), 0u);
    EXPECT_EQ(adm_fixed_weight0(0x1.fffffep+9f, false), 65408u);  // 2^31 - 128
    EXPECT_EQ(adm_fixed_weight0(0x1p10f, false), 0u);             // 2^31: beyond 32 bits
    EXPECT_EQ(adm_fixed_weight0(1025.3f, false), 0u);
    EXPECT_EQ(adm_fixed_weight0(-0x1.8p-21f, false), 65535u);  // -1.5 is -1
    EXPECT_EQ(adm_fixed_weight0(-22.0f, true), 0u);
    EXPECT_EQ(adm_fixed_weight(0x1p-32f), 1u);
    EXPECT_EQ(adm_fixed_weight(0x1.fffffep-1f), 0xffffff00u);
    EXPECT_EQ(adm_fixed_weight(1.25f), 0x40000000u);
    EXPECT_EQ(adm_fixed_weight(-0x1.8p-32f), 0xffffffffu);
    EXPECT_EQ(adm_fixed_weight(0x1.fffffep+30f), 0u);
    EXPECT_EQ(adm_fixed_weight(0x1p31f), 0u);  // 2^63: beyond 64 bits
    EXPECT_EQ(adm_fixed_weight(-0x1p31f), 0u);
    for (float beyond : {INFINITY, -INFINITY, NAN, 3e38f}) {
        EXPECT_EQ(adm_fixed_weight0(beyond, true), 0u);
        EXPECT_EQ(adm_fixed_weight(beyond), 0u);
    }
}

// ---- scores ----------------------------------------------------------------------------------------------------------

using Words = std::array<int64_t, kAdmWords>;
constexpr uint32_t kScores = 18;

struct ScoreCase {
    const Words* words;
    uint32_t width, height, depth;
    const char* options;
    const char* suffix;  // of libvmaf's names
    double scores[kScores];
};

// Accumulators of the specification's frames: of each scale the denominators, the detail numerators and the additive numerators, each h, v, d.
constexpr Words kT1 = {
    33788849112791, 38927785347091, 14136093904135, 30281724848156990, 34246752496821097, 5622775130440217, 1098631375726756, 2954483824725909, 69836076234997,
    1250266864356625, 2439023706407275, 1820063336387912, 169367610298246, 350423380545607, 18816283685190, 15375440647087, 15621361000775, 23737564922,
    260181538927407, 408473429612187, 10748523763250, 29635956589769, 49713659288208, 389744588200, 10326735800573, 9939419452116, 418114990482,
    125042790823598, 505439628047061, 85087407601972, 88682177495603, 284386237218843, 19304827585997, 0, 0, 0};
constexpr Words kT1Blend = {
    33788849112791, 38927785347091, 14136093904135, 9330928317103185, 10647431447060934, 2180356646762499, 375535356965717, 962384630317383, 32701020319709,
    1250266864356625, 2439023706407275, 1820063336387912, 81040919603711, 167743079674879, 10728297805196, 7204963478506, 7323027580356, 13685099801,
    260181538927407, 408473429612187, 10748523763250, 25824134111572, 46751295659195, 20370801391, 10033033076141, 9876322966676, 408103282859,
    125042790823598, 505439628047061, 85087407601972, 184222058664241, 595411726262680, 24663612314603, 0, 0, 0};
constexpr Words kT2 = {
    181273038395193, 218143887437407, 218358414416580, 25294650563618116, 33310693210814963, 16503609078159093, 1786991549383, 3564062603456, 0,
    1082420245238800, 946294741243443, 1069182975584152, 124916137143596, 106383181167217, 9508812135282, 14882331191, 14797125378, 0,
    71704053438017, 66452137473875, 53149415949688, 11023215785985, 9511149395971, 1400515368666, 21584506, 32219784, 0,
    6304341617827, 2618287631622, 2351877680760, 1679030374748, 826249487184, 186465200084, 0, 0, 0};
constexpr Words kT2Blend = {
    181273038395193, 218143887437407, 218358414416580, 321470104877132, 423163761248030, 56292102955492, 31152346463, 57544550866, 0,
    1082420245238800, 946294741243443, 1069182975584152, 10341114451620, 8800423773355, 540474291727, 1382898054, 1508491877, 0,
    71704053438017, 66452137473875, 53149415949688, 2460753390166, 2123750711670, 230119283449, 6904404, 10264438, 0,
    6304341617827, 2618287631622, 2351877680760, 1032758376855, 508710175753, 88167405563, 0, 11541, 0};
constexpr Words kT3 = {
    129583805399, 134256804416, 128421278405, 3093324698956, 3103821151712, 1741580689286, 645272, 48694, 0,
    308819291429, 252909408311, 324045305545, 11179571148, 9053661050, 960618443, 8842, 5323, 0,
    9037031324, 8912658840, 10081363990, 381636494, 387132305, 73264688, 0, 2697, 0,
    9059457310, 14402785334, 446854412, 5507160114, 9468027892, 15737595, 0, 237244, 0};
constexpr Words kT3Skip = {
    0, 0, 0, 0, 0, 0, 0, 0, 0,
    308819291429, 252909408311, 324045305545, 11179571148, 9053661050, 960618443, 8842, 5323, 0,
    9037031324, 8912658840, 10081363990, 381636494, 387132305, 73264688, 0, 2697, 0,
    9059457310, 14402785334, 446854412, 5507160114, 9468027892, 15737595, 0, 237244, 0};

// Scores of the specification, of the reference implementation.
constexpr ScoreCase kSpecified[] = {
    {&kT1, 64, 48, 8, "", "",
     {0x1.b6c8f67858d85p-1, 0x1.85473a11bdbe3p-3, 0x1.aabb93f9f4b46p-1, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1,
      0x1.b6c8f67858d85p-1, 0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5,
      0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kT1Blend, 64, 48, 8, "adm_dlm_weight=0.7|adm_enhn_gain_limit=1.0|adm_noise_weight=0.02|adm_norm_view_dist=3.0|"
     "adm_ref_display_height=1080|adm_min_val=0.5|adm_csf_mode=2", "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02",
     {0x1.b13a7e87cab2fp-1, 0x1.5322fb0056851p-3, 0x1.af6cb8f23a99cp-1, 0x1.ca0cabf3906ffp-1, 0x1.a5b20a4323a4fp-1, 0x1.5c300db06a594p-1,
      0x1.d7623b9edfd1bp-1, 0x1.b13a7e87cab2fp-1, 0x1.7a946c4p+7, 0x1.bf6a314p+7, 0x1.29a72cp+4, 0x1.4cb626p+4, 0x1.bd6deap+4, 0x1.0e688p+5, 0x1.228692p+5,
      0x1.ab35aap+5, 0x1.aa204ap+6, 0x1.ced7c4p+6}},
    {&kT2, 97, 75, 10, "", "",
     {0x1.8c03a3b3e2f36p-1, 0x1.e6e1cc405f93cp-7, 0x1.c2340e4170ba8p-1, 0x1.9779fb46f6f96p-1, 0x1.8d83aa0edcc81p-1, 0x1.9036c2bc94a6fp-1,
      0x1.761da98529e17p-1, 0x1.8c03a3b3e2f36p-1, 0x1.3b4345p+7, 0x1.97990cp+7, 0x1.2f1a34p+5, 0x1.7cda38p+5, 0x1.595f3p+5, 0x1.bcd71cp+5, 0x1.790cfep+5,
      0x1.e25df4p+5, 0x1.d70d64p+4, 0x1.4254e8p+5}},
    {&kT2Blend, 97, 75, 10, "adm_enhn_gain_limit=1.2|adm_csf_mode=3|adm_norm_view_dist=5", "_csf_3_egl_1.2_nvd_5",
     {0x1.965bd8f89faadp-1, 0x1.695a00c5ad8ap-7, 0x1.c85b387ac47a6p-1, 0x1.c48b26053db29p-1, 0x1.9d46ffb703808p-1, 0x1.95d98f937fd1fp-1, 0x1.782e45e549764p-1,
      0x1.965bd8f89faadp-1, 0x1.771e378p+6, 0x1.d8a339p+6, 0x1.07336ep+4, 0x1.29c7eep+4, 0x1.642d8ap+4, 0x1.b942c2p+4, 0x1.df6cc8p+4, 0x1.2e68cap+5,
      0x1.91ab1ep+4, 0x1.11585p+5}},
    {&kT3, 160, 120, 16, "", "",
     {0x1.c2149d3364c73p-1, 0x1.23b51c3fb806fp-9, 0x1.e078740b9287ap-1, 0x1.d1118201af509p-1, 0x1.b2a6b357337fap-1, 0x1.9dfdc1a3d2ae3p-1,
      0x1.df2870d1cec37p-1, 0x1.c2149d3364c73p-1, 0x1.5d292dp+5, 0x1.8d32458p+5, 0x1.f6c9c4p+3, 0x1.14c35ap+4, 0x1.6404fcp+3, 0x1.a36014p+3, 0x1.e9b508p+2,
      0x1.2ed20cp+3, 0x1.24fb7p+3, 0x1.391042p+3}},
    {&kT3Skip, 160, 120, 16, "adm_skip_scale0=1", "_ssz",
     {0x1.ba11207d6588cp-1, 0x1.a78c789d914e2p-9, 0x1.dc34ca0263fbcp-1, 0.0, 0x1.b2a6b357337fap-1, 0x1.9dfdc1a3d2ae3p-1, 0x1.df2870d1cec37p-1,
      0x1.ba11207d6588cp-1, 0x1.beed78p+4, 0x1.02d09880036fap+5, 0.0, 0x1.b7cdfep-34, 0x1.6404fcp+3, 0x1.a36014p+3, 0x1.e9b508p+2, 0x1.2ed20cp+3,
      0x1.24fb7p+3, 0x1.391042p+3}}};

// Sums that a conversion to binary64 or binary32 must round, once: 2^60 + 2^36 + 1 is above a tie in binary32, and a tie once it is in binary64.
constexpr Words kTies = {
    -1, -9223372036854774784, 9007199254740993, 4611686018427387905, 1152921573326323713, 1099511693312, 1152921573326323713, 0, 0,
    -1, -9223372036854774783, 9007199254740993, 1152921573326323713, 1152921710765277183, 288230393331580928, 2305843146652647425, 33554433, 33554435,
    -1, -9223372036854774783, 9007199254740993, 1152921573326323713, 1152921710765277183, 288230393331580928, 2305843146652647425, 33554433, 33554435,
    -1, -9223372036854774783, 9007199254740993, 1152921573326323713, 1152921710765277183, 288230393331580928, 2305843146652647425, 33554433, 33554435};
constexpr Words with(Words words, uint32_t index, int64_t value) {
    words[index] = value;
    return words;
}
// 44-bit numbers all over.
constexpr Words spread() {
    Words words{};
    for (uint64_t i = 0; i < kAdmWords; ++i) words[i] = static_cast<int64_t>(((i + 1) * 0x9E3779B97F4A7C15u) >> 20);
    return words;
}
// Numerators that are taken for 0, with adm_p_norm=1.
constexpr Words faint() {
    Words words{};
    for (uint32_t s = 0; s < kAdmScales; ++s)
        for (uint32_t o = 0; o < kAdmOrientations; ++o) words[adm_word(s, kAdmDenominator, o)] = 1000000000000;
    words[adm_word(0, kAdmDetail, 0)] = words[adm_word(0, kAdmAdditive, 1)] = 1;
    return words;
}
constexpr Words kZero{}, kSpread = spread(), kFaint = faint();
constexpr Words kMinus = with(kT1, adm_word(2, kAdmDetail, 0), -1), kMinusAim = with(kT1, adm_word(0, kAdmAdditive, 1), -1);

// Scores of a second implementation: sections 6 to 9 in Python, whose floats are binary64; binary32 by struct.pack("f"), 64-bit integers rounded to binary32 in
// integer arithmetic, powf, pow, log10 and exp of glibc 2.36 by ctypes. It gives the scores above too.
constexpr ScoreCase kComputed[] = {
    {&kT1, 64, 48, 8, "adm_p_norm=3", "",
     {0x1.b6c8f67858d85p-1, 0x1.85473a11bdbe3p-3, 0x1.aabb93f9f4b46p-1, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1,
      0x1.b6c8f67858d85p-1, 0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5,
      0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kT1, 64, 48, 8, "adm_p_norm=1", "_apn_1",
     {0x1.e4f79356eb61ep+8, 0x1.8bab562761cc1p+3, 0x1.d99a38a5b0538p+7, 0x1.15731275d9bfap+5, 0x1.73f7b83396fa9p+6, 0x1.555bbf4177ac2p+7,
      0x1.ecd41ba101851p+9, 0x1.e4f79356eb61ep+8, 0x1.9c5767f4p+16, 0x1.b353788p+7, 0x1.e9dfdap+9, 0x1.c400ap+4, 0x1.ebd448p+11, 0x1.527e18p+5, 0x1.223b1p+13,
      0x1.b3506ap+5, 0x1.64dda4p+16, 0x1.72bf88p+6}},
    {&kT1, 64, 48, 8, "adm_p_norm=2", "_apn_2",
     {0x1.c9374ea0a59bcp+1, 0x1.fc158bfafb6e9p-2, 0x1.04da4e90a317p+1, 0x1.07b629727dc9ep+1, 0x1.3b245cd33d98ep+1, 0x1.559c5f27254adp+1, 0x1.4475c455c2e9ep+2,
      0x1.c9374ea0a59bcp+1, 0x1.84bf076p+9, 0x1.b353788p+7, 0x1.d19e46p+5, 0x1.c400ap+4, 0x1.a0b13cp+6, 0x1.527e18p+5, 0x1.227202p+7, 0x1.b3506ap+5,
      0x1.d5e4f6p+8, 0x1.72bf88p+6}},
    {&kT1, 64, 48, 8, "adm_p_norm=20", "_apn_20",
     {0x1.1870f4731915p-3, 0x1.940484a0965dfp-5, 0x1.166dfa695e6fbp-1, 0x1.07d54ec8e1d8ap-2, 0x1.686582765c08dp-3, 0x1.135f5b52f7533p-3, 0x1.572184a37291cp-4,
      0x1.1870f4731915p-3, 0x1.dce36p+4, 0x1.b353788p+7, 0x1.d1d544p+2, 0x1.c400ap+4, 0x1.dc878ap+2, 0x1.527e18p+5, 0x1.d44188p+2, 0x1.b3506ap+5,
      0x1.f0ef2ap+2, 0x1.72bf88p+6}},
    {&kT2, 97, 75, 10, "adm_p_norm=2.5|adm_noise_weight=0", "_nw_0_apn_2.5",
     {0x1.38bb8d6504983p+0, 0x1.ef3a95b28070ap-7, 0x1.1a6e8c1ccfcbap+0, 0x1.2d7d1ad06248bp+0, 0x1.3f0fe2fe90e4p+0, 0x1.4ec661562d7a8p+0, 0x1.1ac8c3951f204p+0,
      0x1.38bb8d6504983p+0, 0x1.b506df8p+7, 0x1.65beff8p+7, 0x1.5f1056p+5, 0x1.2a186p+5, 0x1.e7954cp+5, 0x1.873696p+5, 0x1.225c14p+6, 0x1.bc126cp+5,
      0x1.48bdb4p+5, 0x1.299a9cp+5}},
    {&kT3, 160, 120, 16, "adm_p_norm=20|adm_skip_scale0=1", "_apn_20_ssz",
     {0x1.27ee64bb2a9ddp-1, 0x1.11b7082b79af6p-4, 0x1.82dbc1daddb3fp-1, 0.0, 0x1.f0816eff8cd42p-2, 0x1.49640df916e63p-1, 0x1.476f8916a2f56p-1,
      0x1.27ee64bb2a9ddp-1, 0x1.2b2f638p+4, 0x1.02d09880036fap+5, 0.0, 0x1.b7cdfep-34, 0x1.96af18p+2, 0x1.a36014p+3, 0x1.85a24cp+2, 0x1.2ed20cp+3,
      0x1.906c2ap+2, 0x1.391042p+3}},
    {&kTies, 64, 48, 8, "adm_p_norm=1", "_apn_1",
     {0x1.1cf1c8643169ep+17, 0x1.fa887b43caf7dp+16, 0x1.fae0ac24bedf8p+12, 0x1.f2f8b3262175cp+5, 0x1.e445db5f47284p+14, 0x1.65add9b6ff74p+17,
      0x1.aa41acd38c8b8p+17, 0x1.1cf1c8643169ep+17, 0x1.b90a055ep+29, 0x1.8c3d1acp+12, 0x1.4039cp+16, 0x1.48964p+10, 0x1.200012p+24, 0x1.307d62p+9,
      0x1.200002p+28, 0x1.9c4202p+10, 0x1.200002p+29, 0x1.59eebcp+11}},
    {&kTies, 64, 48, 8, "", "",
     {0x1.27c012e1163bfp-1, 0x1.190d9a8e39068p-2, 0x1.4d9ca2ccfcdc6p-1, 0x1.cc52485b57b8p-5, 0x1.c5a8e0bc4f2cep-1, 0x1.a325ac1fe4eddp-1, 0x1.3a456d918c685p-1,
      0x1.27c012e1163bfp-1, 0x1.c9c3b4ep+11, 0x1.8c3d1acp+12, 0x1.276bccp+6, 0x1.48964p+10, 0x1.0dcb5ep+9, 0x1.307d62p+9, 0x1.517e5ap+10, 0x1.9c4202p+10,
      0x1.a8aca4p+10, 0x1.59eebcp+11}},
    {&kFaint, 64, 48, 8, "adm_p_norm=1|adm_noise_weight=0", "_nw_0_apn_1",
     {0.0, 0x1.ebf31afef3e2bp-52, 0x1.ffffffffffffcp-2, 0x1.4269168879824p-49, 0.0, 0.0, 0.0, 0.0, 0.0, 0x1.0a6f0c4p+5, 0x1p-46, 0x1.9689a2p+2, 0.0,
      0x1.8757f8p+1, 0.0, 0x1.15db08p+3, 0.0, 0x1.e6c65ap+3}},
    {&kFaint, 64, 48, 8, "adm_noise_weight=0", "_nw_0",
     {0x1.8675e729fc9d9p-21, 0x1.8675e729fc9d9p-21, 0x1p-1, 0x1.ffcb6b5c933e3p-19, 0.0, 0.0, 0.0, 0x1.8675e729fc9d9p-21, 0x1.965fe2p-16, 0x1.0a6f0c4p+5,
      0x1.965fe2p-16, 0x1.9689a2p+2, 0.0, 0x1.8757f8p+1, 0.0, 0x1.15db08p+3, 0.0, 0x1.e6c65ap+3}},
    {&kT1, 64, 48, 8, "adm_skip_aim=1|adm_dlm_weight=0.3", "_dlmw_0.3",
     {0x1.b6c8f67858d85p-1, 0.0, 0x1.ea0916bdb440ep-1, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1,
      0x1.b6c8f67858d85p-1, 0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5,
      0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kT1, 64, 48, 8, "adm_min_val=0.9", "_min_0.9",
     {0x1.b6c8f67858d85p-1, 0x1.85473a11bdbe3p-3, 0x1.ccccccccccccdp-1, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1,
      0x1.b6c8f67858d85p-1, 0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5,
      0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kT1, 64, 48, 8, "adm_min_val=0.1", "_min_0.1",
     {0x1.b6c8f67858d85p-1, 0x1.85473a11bdbe3p-3, 0x1.aabb93f9f4b46p-1, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1,
      0x1.b6c8f67858d85p-1, 0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5,
      0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kMinus, 64, 48, 8, "adm_min_val=0.25", "_min_0.25",
     {kNan, 0x1.85473a11bdbe3p-3, 0x1p-2, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, kNan, 0x1.de22ffea2f457p-1, kNan, kNan, 0x1.b353788p+7, 0x1.92a436p+4,
      0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, kNan, 0x1.b3506ap+5, 0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kMinusAim, 64, 48, 8, "", "",
     {0x1.b6c8f67858d85p-1, kNan, 0.0, 0x1.c816435e10ee9p-1, 0x1.a481754a53a2p-1, 0x1.78fc682e738d1p-1, 0x1.de22ffea2f457p-1, 0x1.b6c8f67858d85p-1,
      0x1.7513464p+7, 0x1.b353788p+7, 0x1.92a436p+4, 0x1.c400ap+4, 0x1.160106p+5, 0x1.527e18p+5, 0x1.4085a8p+5, 0x1.b3506ap+5, 0x1.5a3a28p+6, 0x1.72bf88p+6}},
    {&kZero, 64, 48, 8, "", "",
     {0x1p+0, 0.0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1.2da0a58p+4, 0x1.2da0a58p+4, 0x1.014904p+3, 0x1.014904p+3, 0x1.4db2d6p+2, 0x1.4db2d6p+2,
      0x1.b791fcp+1, 0x1.b791fcp+1, 0x1.14e974p+1, 0x1.14e974p+1}},
    {&kZero, 64, 48, 8, "adm_noise_weight=0", "_nw_0",
     {0x1p+0, 0.0, 0x1p+0, kNan, kNan, kNan, kNan, 0x1p+0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},
    {&kZero, 64, 48, 8, "adm_noise_weight=0|adm_dlm_weight=0.7|adm_min_val=0.5", "_dlmw_0.7_min_0.5_nw_0",
     {0x1p+0, 0.0, 0x1p+0, kNan, kNan, kNan, kNan, 0x1p+0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},
    {&kZero, 1920, 1080, 8, "adm_noise_weight=0|adm_skip_scale0=1", "_nw_0_ssz",
     {0.0, 0.0, 0x1p-1, 0.0, kNan, kNan, kNan, 0.0, 0.0, 0x1.b7cdfep-34, 0.0, 0x1.b7cdfep-34, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},
    {&kZero, 1920, 1081, 8, "adm_noise_weight=0|adm_skip_scale0=1", "_nw_0_ssz",
     {0x1p+0, 0.0, 0x1p+0, 0.0, kNan, kNan, kNan, 0x1p+0, 0.0, 0.0, 0.0, 0x1.b7cdfep-34, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}},
    {&kSpread, 17, 17, 8, "", "",
     {0x1.f4d0fb0837629p-1, 0x1.6931b90791bcfp-1, 0x1.45cfa10052d2dp-1, 0x1.20716614f690dp-2, 0x1.52b83ffe364a3p+0, 0x1.7f1884c05bdf2p+0,
      0x1.13515811e7162p+0, 0x1.f4d0fb0837629p-1, 0x1.cfb09acp+5, 0x1.da0b62p+5, 0x1.2dd0e6p+2, 0x1.0bde7p+4, 0x1.134aap+3, 0x1.a01fap+2, 0x1.504bcp+4,
      0x1.c173fp+3, 0x1.79fbecp+4, 0x1.5f7674p+4}},
    {&kSpread, 33, 65, 12, "adm_noise_weight=1500", "_nw_1500",
     {0x1.04167f0465d94p+0, 0x1.d71abfb96b6d6p-4, 0x1.e6a4d308cf226p-1, 0x1.ea9c7d03e51ecp-1, 0x1.08135962238fp+0, 0x1.1866eaa153aap+0, 0x1.06c1700e35e82p+0,
      0x1.04167f0465d94p+0, 0x1.71407fp+9, 0x1.6b72c3cp+9, 0x1.05758ep+8, 0x1.10db98p+8, 0x1.77b28ep+7, 0x1.6c355cp+7, 0x1.408266p+7, 0x1.249df4p+7,
      0x1.01e1ecp+7, 0x1.f6811ep+6}},
    {&kSpread, 1920, 1080, 8, "adm_norm_view_dist=4.3|adm_ref_display_height=1200", "_nvd_4.3_rdh_1200",
     {0x1.150fb66301666p+1, 0x1.96571f5e10854p+0, 0x1.93c84d67f2478p-1, 0x1.1104fd5e1e27dp+0, 0x1.0cff641ce0697p+1, 0x1.83f178ae9806ap+1,
      0x1.0be0a8c9d20dfp+1, 0x1.150fb66301666p+1, 0x1.c80b114p+9, 0x1.a5604ep+8, 0x1.2e724ep+6, 0x1.1b97b4p+6, 0x1.0db0eap+7, 0x1.00a8f2p+6, 0x1.4afa3ep+8,
      0x1.b4d156p+6, 0x1.72a6dcp+8, 0x1.62379ep+7}},
    {&kSpread, 962, 13542, 9, "adm_csf_mode=1|adm_csf_scale=0.0005|adm_csf_diag_scale=0.001", "_scfd_0.001_csf_1_scf_0.0005",
     {0x1.3b23923f44ce9p+1, 0x1.c220ab2813a0dp+0, 0x1.b426795675fc5p-1, 0x1.1e9be50c3a20cp+0, 0x1.4486cd8fc9ee5p+1, 0x1.fc3b00c5340e1p+1,
      0x1.251589510afeep+1, 0x1.3b23923f44ce9p+1, 0x1.73a859cp+10, 0x1.2de991cp+9, 0x1.11c5c2p+7, 0x1.e911ap+6, 0x1.c1701cp+7, 0x1.628906p+6, 0x1.0a27cp+9,
      0x1.0c211cp+7, 0x1.285b7cp+9, 0x1.02dbecp+8}},
    {&kSpread, 8192, 4320, 14, "adm_csf_mode=2|adm_norm_view_dist=1.5|adm_ref_display_height=2160", "_csf_2_nvd_1.5_rdh_2160",
     {0x1.5bfa9bce28ffep+0, 0x1.fce0f1771b877p-1, 0x1.5d8a23129b3c2p-1, 0x1.0acc50a889b3fp+0, 0x1.b3bba6a4830a7p+0, 0x1.dc5ed37ae9b66p+0,
      0x1.160f03632edc9p+0, 0x1.5bfa9bce28ffep+0, 0x1.201e7b6p+11, 0x1.a7eccb4p+10, 0x1.839ac6p+7, 0x1.73eac6p+7, 0x1.55a9f8p+8, 0x1.917744p+7, 0x1.a1979cp+9,
      0x1.c0d358p+8, 0x1.d326a4p+9, 0x1.ae1768p+9}},
    {&kSpread, 32768, 32768, 16, "adm_norm_view_dist=24|adm_ref_display_height=4320", "_nvd_24_rdh_4320",
     {0x1.407ad514c1be4p+2, 0x1.c2ebebbeb093fp+1, 0x1.3e09be6ad2e89p+0, 0x1.1f0c15363d431p+0, 0x1.6535ee07de253p+1, 0x1.467d0a47f2f9dp+3,
      0x1.124ef11dd18cep+4, 0x1.407ad514c1be4p+2, 0x1.794a774p+12, 0x1.2d617ccp+10, 0x1.268eacp+9, 0x1.06b2a4p+9, 0x1.ce256ep+9, 0x1.4b341ap+8,
      0x1.0c05a4p+11, 0x1.a45016p+7, 0x1.296244p+11, 0x1.15890cp+7}},
    {&kSpread, 64, 48, 8, "adm_csf_mode=1|adm_csf_scale=0|adm_csf_diag_scale=50", "_scfd_50_csf_1_scf_0",
     {0x1.6be4e277ab3adp-13, 0x1.ff248d9c9c4bp-14, 0x1.00036294dd4afp-1, 0x1.95e13f345140fp-12, 0x1.8cee2ae96e304p-11, 0x1.deb4403e2fea5p-13,
      0x1.b921c607610c6p-14, 0x1.6be4e277ab3adp-13, 0x1.79eda2p+6, 0x1.09df80ep+19, 0x1.21271cp+3, 0x1.6cc0f8p+14, 0x1.cf7e94p+3, 0x1.2aee34p+14,
      0x1.0d6e2cp+5, 0x1.202b9ep+17, 0x1.2a43acp+5, 0x1.5a2e4p+18}}};

constexpr const char* kNames[kScores] = {"adm2",           "aim",            "adm3",           "adm_scale0",     "adm_scale1",     "adm_scale2",
                                         "adm_scale3",     "adm",            "adm_num",        "adm_den",        "adm_num_scale0", "adm_den_scale0",
                                         "adm_num_scale1", "adm_den_scale1", "adm_num_scale2", "adm_den_scale2", "adm_num_scale3", "adm_den_scale3"};

void check(const ScoreCase& c) {
    uint64_t words[kAdmWords];
    for (uint32_t i = 0; i < kAdmWords; ++i) words[i] = static_cast<uint64_t>((*c.words)[i]);
    const std::string options = c.options, separator = options.empty() ? "" : "|";
    for (bool debug : {false, true}) {
        Plan plan = make_plan(options + separator + (debug ? "debug=1" : "debug=0"), c.width, c.height, c.depth);
        ASSERT_EQ(plan.outputs().size(), debug ? kScores : 7u);
        ASSERT_EQ(count_words(plan.accumulators()), kAdmWords);
        EXPECT_FALSE(plan.needs_every_frame());
        double scores[kScores + 1] = {};
        scores[plan.outputs().size()] = 4711;
        plan.conclude(words, scores);
        for (size_t i = 0; i < plan.outputs().size(); ++i) {
            const PlanOutput& output = plan.outputs()[i];
            EXPECT_EQ(output.name, kNames[i]);
            EXPECT_EQ(output.libvmaf_name, "integer_" + std::string(kNames[i]) + c.suffix);
            EXPECT_STREQ(output.metric, "adm");
            EXPECT_STREQ(output.unit, "");
            EXPECT_EQ(output.unavailable, "");
            expect_same(scores[i], c.scores[i], options + " " + std::to_string(c.width) + "x" + std::to_string(c.height) + " " + output.name);
        }
        EXPECT_EQ(scores[plan.outputs().size()], 4711);
    }
}

TEST(AdmMetric, ScoresOfTheSpecification) {
    for (const ScoreCase& c : kSpecified) check(c);
}

TEST(AdmMetric, ScoresOfASecondImplementation) {
    for (const ScoreCase& c : kComputed) check(c);
}

TEST(AdmMetric, WhatTheBackendIsAskedFor) {
    Plan plan = make_plan("adm_enhn_gain_limit=1.2|adm_skip_aim=1", 97, 75, 10);
    ASSERT_EQ(plan.accumulators().size(), 1u);
    const AccumulatorSpec& spec = plan.accumulators()[0];
    EXPECT_EQ(spec.kind, AccumulatorKind::kAdm);
    EXPECT_EQ(spec.plane, 0);
    EXPECT_EQ(spec.adm.gain_limit, 1.2);
    EXPECT_TRUE(spec.adm.skip_aim);
    EXPECT_FALSE(spec.adm.skip_scale0);
    EXPECT_EQ(spec.adm.scale[0].width, 49u);
    EXPECT_EQ(spec.adm.scale[3].height, 5u);
    EXPECT_TRUE(make_plan("adm_skip_scale0=1", 97, 75, 10).accumulators()[0].adm.skip_scale0);
    // Chroma does not matter.
    const exactvq_metric metric{"adm", nullptr, nullptr, 0};
    const Plan with_chroma(&metric, 1, make_geometry({97, 75, 10, 3, 1, 1})), without(&metric, 1, make_geometry({97, 75, 10, 1, 0, 0}));
    EXPECT_EQ(with_chroma.accumulators(), without.accumulators());
}

TEST(AdmMetric, SmallPicturesHaveNoScores) {
    const struct {
        uint32_t width, height;
        bool scored;
    } cases[] = {{17, 17, true}, {16, 17, false}, {17, 16, false}, {16, 4000, false}, {4000, 1, false}, {1, 1, false}, {32768, 17, true}};
    for (const auto& c : cases) {
        Plan plan = make_plan("debug=1", c.width, c.height, 8);
        EXPECT_EQ(plan.accumulators().size(), c.scored ? 1u : 0u);
        ASSERT_EQ(plan.outputs().size(), kScores);
        for (const PlanOutput& output : plan.outputs())
            EXPECT_EQ(output.unavailable,
                      c.scored ? "" : "adm needs pictures of at least 17x17 samples, these have " + std::to_string(c.width) + "x" + std::to_string(c.height));
        if (c.scored) continue;
        double scores[kScores] = {};
        plan.conclude(nullptr, scores);
        for (double score : scores) EXPECT_TRUE(std::isnan(score));
    }
}

TEST(AdmMetric, UnknownDisplaysAreRefused) {
    EXPECT_EQ(refusal("adm_norm_view_dist=2.9"),
              "adm_norm_view_dist 2.9 times adm_ref_display_height 1080 is 3132: adm takes products of at least 3240 (3 times 1080)");
    EXPECT_EQ(refusal("adm_norm_view_dist=1.5|adm_ref_display_height=2159"),
              "adm_norm_view_dist 1.5 times adm_ref_display_height 2159 is 3238.5: adm takes products of at least 3240 (3 times 1080)");
    for (const char* good : {"adm_norm_view_dist=1.5|adm_ref_display_height=2160", "adm_norm_view_dist=0.75|adm_ref_display_height=4320",
                             "adm_norm_view_dist=24|adm_ref_display_height=135", "adm_norm_view_dist=3.1", "adm_csf_mode=1|adm_norm_view_dist=4"})
        EXPECT_EQ(refusal(good), "");
    EXPECT_EQ(refusal("adm_csf_mode=2|adm_norm_view_dist=4"),
              "adm_csf_mode 2 of adm has no weights for adm_norm_view_dist 4 and adm_ref_display_height 1080: it has them for 3 and 1080, 1.5 and 2160, "
              "5 and 1080, 3 and 2160, 5 and 2160, 5 and 720");
    EXPECT_NE(refusal("adm_csf_mode=3|adm_norm_view_dist=3.00001").find("mode 3 of adm has no weights for adm_norm_view_dist 3.00001"), std::string::npos);
    EXPECT_NE(refusal("adm_csf_mode=2|adm_norm_view_dist=5|adm_ref_display_height=719").find("719"), std::string::npos);
    EXPECT_NE(refusal("adm_csf_mode=2|adm_norm_view_dist=3|adm_ref_display_height=720").find("products of at least 3240"), std::string::npos);
    for (const char* mode : {"2", "3"})
        for (const char* screen : {"3|adm_ref_display_height=1080", "1.5|adm_ref_display_height=2160", "5|adm_ref_display_height=1080",
                                   "3|adm_ref_display_height=2160", "5|adm_ref_display_height=2160", "5|adm_ref_display_height=720"})
            EXPECT_EQ(refusal(std::string("adm_csf_mode=") + mode + "|adm_norm_view_dist=" + screen), "");
    EXPECT_NE(refusal("adm_norm_view_dist=2", 8, 8), "");  // whatever the size
}

TEST(AdmMetric, ReachedByName) {
    const MetricInfo* info = find_metric("adm");
    ASSERT_NE(info, nullptr);
    const OptionValues options(info->name, info->options, nullptr, 0);
    const auto metric = info->make(options, make_geometry({64, 48, 8, 1, 0, 0}));
    uint64_t words[kAdmWords];
    for (uint32_t i = 0; i < kAdmWords; ++i) words[i] = static_cast<uint64_t>(kT1[i]);
    const uint32_t offset = 0;
    double scores[7];
    const uint64_t* const window = words;
    metric->conclude(FrameWindow(&window, 1, &offset), scores);
    for (int i = 0; i < 7; ++i) expect_same(scores[i], kSpecified[0].scores[i], kNames[i]);
    EXPECT_TRUE(metric->aggregates().empty());
}

}  // namespace
}  // namespace exactvq
