// SPDX-License-Identifier: BSD-2-Clause
//
// gen - deterministic test video generator, integer arithmetic only: the same bytes with every compiler.
//
// usage: gen CASES.tsv NAME OUTDIR     writes OUTDIR/NAME.ref.yuv and OUTDIR/NAME.dist.yuv
//        gen CASES.tsv --list          prints the names of the generated cases
//        gen --spec W H FORMAT BITS FRAMES REF DIST out_ref.yuv out_dist.yuv
//
// The format of CASES.tsv and the meaning of REF and DIST are given in README.md.
//
// Samples are written planar Y, U, V, row by row without padding; one byte a sample for 8 bits, else two bytes little
// endian. Chroma planes have ceil(W/2) x ceil(H/2) samples (4:2:0), ceil(W/2) x H (4:2:2), W x H (4:4:4), none (4:0:0).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

typedef uint32_t u32;
typedef int64_t i64;

struct Plane { int w, h; std::vector<int> v; };
typedef std::vector<Plane> Frame;

struct Video { int w, h, fmt, bpc, frames; };

static void die(const std::string &m) { std::cerr << "gen: " << m << "\n"; std::exit(1); }

// ---- integer hash -------------------------------------------------------------------
static u32 mix(u32 v) {
    v ^= v >> 16; v *= 0x7feb352dU;
    v ^= v >> 15; v *= 0x846ca68bU;
    v ^= v >> 16; return v;
}
static u32 join(u32 a, u32 b) { return mix(a * 0x9E3779B9U + b); }
// H(seed, plane, n, y, x): a 32-bit value for one sample
static u32 H(u32 key, int y, int x) { return join(join(key, (u32)y), (u32)x); }
static u32 key3(u32 seed, u32 a, u32 b) { return join(join(mix(seed), a), b); }

// floor division and modulus for negative numerators
static int fdiv(int a, int b) { int q = a / b; if ((a % b) && ((a < 0) != (b < 0))) --q; return q; }
static int fmodi(int a, int b) { return a - fdiv(a, b) * b; }
static int clampi(i64 v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : (int)v; }

// triangle wave: folds any int into 0..65535, period 131072
static int tri16(i64 t) { int m = (int)(((t % 131072) + 131072) % 131072); return m < 65536 ? m : 131071 - m; }

// ---- spec parsing: name:arg:arg ------------------------------------------------------
struct Spec { std::string name; std::vector<i64> a; i64 arg(size_t i, i64 d) const { return i < a.size() ? a[i] : d; } };
static std::vector<std::string> split(const std::string &s, char c) {
    std::vector<std::string> r; std::string t; std::istringstream is(s);
    while (std::getline(is, t, c)) r.push_back(t);
    return r;
}
static Spec parse(const std::string &s) {
    std::vector<std::string> p = split(s, ':'); Spec r; r.name = p[0];
    for (size_t i = 1; i < p.size(); i++) r.a.push_back(std::strtoll(p[i].c_str(), 0, 0));
    return r;
}

// value noise, 16-bit result: lattice of cell size c, bilinear with 8-bit weights.
// px, py in 1/256 sample units.
static int vnoise(u32 key, int px, int py, int c) {
    int cell = c * 256;
    int ix = fdiv(px, cell), iy = fdiv(py, cell);
    int fx = fmodi(px, cell) / c, fy = fmodi(py, cell) / c;  // 0..255
    int a = H(key, iy, ix) >> 16, b = H(key, iy, ix + 1) >> 16;
    int d = H(key, iy + 1, ix) >> 16, e = H(key, iy + 1, ix + 1) >> 16;
    int t = a * (256 - fx) + b * fx, u = d * (256 - fx) + e * fx;   // up to 2^24
    return (int)(((i64)t * (256 - fy) + (i64)u * fy) >> 16);
}

// One sample in 16-bit scale (0..65535) of pattern s at (x, y) of plane p, frame n.
// sx, sy: how much coarser this plane is than luma (1 or 2).
static int pattern(const Spec &s, int x, int y, int n, int p, int sx, int sy, int W, int Hh) {
    const std::string &k = s.name;
    u32 seed = (u32)s.arg(0, 1);
    if (k == "flat") {                       // flat:V16[:U16[:V16]]
        return (int)s.arg(p, p ? 32768 : s.arg(0, 32768));
    }
    if (k == "noise")                        // noise:seed         full-range uniform noise
        return H(key3(seed, p, n), y, x) >> 16;
    if (k == "still")                        // still:seed         the same noise in every frame
        return H(key3(seed, p, 0), y, x) >> 16;
    if (k == "binary")                       // binary:seed        0 or full
        return (H(key3(seed, p, n), y, x) >> 31) ? 65535 : 0;
    if (k == "lownoise")                     // lownoise:seed:A    mid grey +- A (16-bit units)
        { i64 A = s.arg(1, 2048); return clampi(32768 - A + (i64)(((uint64_t)H(key3(seed, p, n), y, x) * (uint64_t)(2 * A + 1)) >> 32), 0, 65535); }
    if (k == "impulse") {                    // impulse:seed:D     1 of D samples is 0 or full, the rest mid grey
        u32 h = H(key3(seed, p, n), y, x); i64 D = s.arg(1, 64);
        return (h % (u32)D) ? 32768 : (mix(h) & 1) ? 65535 : 0;
    }
    if (k == "grad")                         // grad:gx:gy:gn      folded linear ramp, 16-bit units a luma sample
        return tri16((i64)x * sx * s.arg(0, 97) + (i64)y * sy * s.arg(1, 61) + (i64)n * s.arg(2, 1111) + p * 21845);
    if (k == "stripes") {                    // stripes:P:dir:v    square wave, period P; dir 0 vertical 1 horizontal 2 diagonal; v samples a frame
        int P = (int)s.arg(0, 8), dir = (int)s.arg(1, 0);
        int t = (dir == 0 ? x * sx : dir == 1 ? y * sy : x * sx + y * sy) + n * (int)s.arg(2, 1);
        return fmodi(t, P) * 2 < P ? 0 : 65535;
    }
    if (k == "checker") {                    // checker:B:v
        int B = (int)s.arg(0, 8);
        int t = fdiv(x * sx + n * (int)s.arg(1, 1), B) + fdiv(y * sy, B);
        return (t & 1) ? 60000 : 5000;
    }
    if (k == "zone") {                       // zone:shift:v       chirp: folded x*x + y*y, centred
        i64 dx = 2 * (i64)x * sx - W, dy = 2 * (i64)y * sy - Hh;
        return tri16(((dx * dx + dy * dy) << s.arg(0, 4)) / 4 + (i64)n * s.arg(1, 4000));
    }
    if (k == "steps") {                      // steps:wx:wy:base:inc:v   staircase (banding); base, inc in 16-bit units
        int wx = (int)s.arg(0, 40), wy = (int)s.arg(1, 56);
        return clampi(s.arg(2, 20000) + (i64)((x * sx + n * (int)s.arg(4, 1)) / wx + (y * sy) / wy) * s.arg(3, 256), 0, 65535);
    }
    if (k == "blocks") {                     // blocks:seed:B      random flat blocks, new every 4 frames
        int B = (int)s.arg(1, 16);
        return H(key3(seed, p, n / 4), (y * sy) / B, (x * sx) / B) >> 16;
    }
    if (k == "texture" || k == "scene") {
        // texture:seed:vx:vy:grain[:lo:hi]  moving multi-octave value noise; vx, vy in 1/256 luma samples a frame
        // scene: the same plus two moving flat objects and a fixed bright rectangle
        int vx = (int)s.arg(1, 320), vy = (int)s.arg(2, -144); i64 grain = s.arg(3, 256);
        i64 lo = s.arg(4, 4096), hi = s.arg(5, 60160);
        int px = (x * sx) * 256 + n * vx, py = (y * sy) * 256 + n * vy;
        if (sx == 2) px += 128;
        if (sy == 2) py += 128;
        static const int cell[6] = {96, 48, 24, 12, 5, 2}, amp[6] = {20, 16, 12, 9, 5, 2};   // amp sums to 64
        i64 acc = 0; int no = p ? 3 : 6; i64 tot = 0;
        for (int o = 0; o < no; o++) { acc += (i64)amp[o] * vnoise(key3(seed, p, 100 + o), px, py, cell[o]); tot += amp[o]; }
        i64 v = acc / tot;
        v = 32768 + (v - 32768) * (p ? 1 : 2);                      // more luma contrast
        if (k == "scene") {
            int X = x * sx, Y = y * sy;
            int ox = fmodi(n * 5 + W / 5, W + W / 4) - W / 8, oy = Hh / 3 + n;
            if (X >= ox && X < ox + W / 8 && Y >= oy && Y < oy + Hh / 5) v = p == 0 ? 50000 : p == 1 ? 20000 : 47000;
            int qx = W - fmodi(n * 3, W), qy = (2 * Hh) / 3; i64 r = Hh / 9 + 1;
            if ((i64)(X - qx) * (X - qx) + (i64)(Y - qy) * (Y - qy) <= r * r) v = p == 0 ? 9000 : p == 1 ? 45000 : 23000;
            if (X >= W / 16 && X < W / 4 && Y >= Hh / 16 && Y < Hh / 8) v = p == 0 ? 60000 : 32768;
        }
        if (grain) v += (i64)(((uint64_t)H(key3(seed, p, 1000 + n), y, x) * (uint64_t)(2 * grain + 1)) >> 32) - grain;
        return clampi(v, (int)lo, (int)hi);
    }
    die("unknown pattern " + k); return 0;
}

static Frame make(const Video &V, const Spec &s, int n) {
    Frame f; int np = V.fmt == 400 ? 1 : 3;
    for (int p = 0; p < np; p++) {
        int sx = (p && V.fmt != 444) ? 2 : 1, sy = (p && V.fmt == 420) ? 2 : 1;
        Plane P; P.w = (V.w + sx - 1) / sx; P.h = (V.h + sy - 1) / sy; P.v.resize((size_t)P.w * P.h);
        for (int y = 0; y < P.h; y++) for (int x = 0; x < P.w; x++)
            P.v[(size_t)y * P.w + x] = pattern(s, x, y, n, p, sx, sy, V.w, V.h) >> (16 - V.bpc);
        f.push_back(P);
    }
    return f;
}

static int at(const Plane &P, int x, int y) {
    x = x < 0 ? 0 : x >= P.w ? P.w - 1 : x; y = y < 0 ? 0 : y >= P.h ? P.h - 1 : y;
    return P.v[(size_t)y * P.w + x];
}
static int blur3(const Plane &P, int x, int y) {   // [1 2 1] x [1 2 1], edges replicated, rounded
    int s = 0; static const int k[3] = {1, 2, 1};
    for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) s += k[i + 1] * k[j + 1] * at(P, x + i, y + j);
    return (s + 8) >> 4;
}

// one distortion step, applied to every plane
static void distort(const Video &V, Frame &f, const Spec &s, int n, const Spec &refspec) {
    const std::string &k = s.name; int M = (1 << V.bpc) - 1, mid = 1 << (V.bpc - 1); int u = V.bpc - 8;
    if (k == "copy") return;
    if (k == "delay") { int d = (int)s.arg(0, 1); f = make(V, refspec, n >= d ? n - d : 0); return; }
    for (size_t p = 0; p < f.size(); p++) {
        Plane in = f[p]; Plane &o = f[p];
        for (int y = 0; y < o.h; y++) for (int x = 0; x < o.w; x++) {
            int v = in.v[(size_t)y * in.w + x]; i64 r = v;
            if (k == "noise") {                 // noise:seed:A      +- A (8-bit code values)
                i64 A = s.arg(1, 4) << u;
                r = v - A + (i64)(((uint64_t)H(key3((u32)s.arg(0, 7), (u32)p, n), y, x) * (uint64_t)(2 * A + 1)) >> 32);
            } else if (k == "blur") r = blur3(in, x, y);
            else if (k == "sharpen") {          // sharpen:num       v + (v - blur) * num / 4 (truncated toward zero)
                r = v + (i64)(v - blur3(in, x, y)) * s.arg(0, 4) / 4;
            } else if (k == "quant") {          // quant:Q           to multiples of Q << (bpc - 8), plus half of it
                i64 Q = s.arg(0, 8) << u; r = (v / Q) * Q + Q / 2;
            } else if (k == "block") {          // block:B           mean of v and of its BxB block's mean
                int B = (int)s.arg(0, 8), x0 = x / B * B, y0 = y / B * B; i64 sum = 0; int c = 0;
                for (int j = y0; j < y0 + B && j < in.h; j++) for (int i = x0; i < x0 + B && i < in.w; i++) { sum += in.v[(size_t)j * in.w + i]; c++; }
                r = (v + sum / c + 1) / 2;
            } else if (k == "shift") r = at(in, x - (int)s.arg(0, 1), y - (int)s.arg(1, 0));
            else if (k == "gain") r = mid + (i64)(v - mid) * s.arg(0, 5) / s.arg(1, 4);   // truncated toward zero
            else if (k == "offset") r = v + s.arg(0, 2) * (1 << u);
            else if (k == "invert") r = M - v;
            else if (k == "lsb") r = v ^ (int)(H(key3((u32)s.arg(0, 7), (u32)p, n), y, x) >> 31);   // random flip of bit 0
            else if (k == "impulse") {          // impulse:seed:D
                u32 h = H(key3((u32)s.arg(0, 7), (u32)p, n), y, x); if (h % (u32)s.arg(1, 64) == 0) r = (mix(h) & 1) ? M : 0;
            } else die("unknown distortion " + k);
            o.v[(size_t)y * o.w + x] = clampi(r, 0, M);
        }
    }
}

static void put(std::FILE *o, const Video &V, const Frame &f) {
    std::vector<unsigned char> b;
    for (size_t p = 0; p < f.size(); p++) for (size_t i = 0; i < f[p].v.size(); i++) {
        b.push_back((unsigned char)(f[p].v[i] & 255)); if (V.bpc > 8) b.push_back((unsigned char)(f[p].v[i] >> 8));
    }
    if (std::fwrite(b.data(), 1, b.size(), o) != b.size()) die("write error");
}

static void generate(const Video &V, const std::string &ref, const std::string &dist, const std::string &fr, const std::string &fd) {
    std::FILE *a = std::fopen(fr.c_str(), "wb"), *b = std::fopen(fd.c_str(), "wb");
    if (!a || !b) die("cannot write " + fr);
    Spec rs = parse(ref);
    bool other = dist.compare(0, 6, "other/") == 0;      // other/PATTERN[+step...]: unrelated picture
    std::vector<std::string> st = split(other ? dist.substr(6) : dist, '+');
    Spec os; size_t first = 0; if (other) { os = parse(st[0]); first = 1; }
    for (int n = 0; n < V.frames; n++) {
        Frame r = make(V, rs, n); put(a, V, r);
        Frame d = other ? make(V, os, n) : r;
        for (size_t i = first; i < st.size(); i++) distort(V, d, parse(st[i]), n, other ? os : rs);
        put(b, V, d);
    }
    if (std::fclose(a) || std::fclose(b)) die("write error");
}

int main(int argc, char **argv) {
    if (argc == 11 && !std::strcmp(argv[1], "--spec")) {
        Video V = {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5]), std::atoi(argv[6])};
        generate(V, argv[7], argv[8], argv[9], argv[10]); return 0;
    }
    if (argc < 3) die("usage: gen CASES.tsv NAME OUTDIR | gen CASES.tsv --list | gen --spec W H FMT BPC FRAMES REF DIST out_ref out_dist");
    std::ifstream in(argv[1]); std::string line; bool found = false;
    while (std::getline(in, line)) {
        if (line.empty() || line[0] == '#') continue;
        std::vector<std::string> c = split(line, '\t');
        if (c.size() < 8 || c[6].compare(0, 5, "file:") == 0) continue;
        if (!std::strcmp(argv[2], "--list")) { std::cout << c[0] << "\n"; found = true; continue; }
        if (c[0] != argv[2] || argc < 4) continue;
        Video V = {std::atoi(c[1].c_str()), std::atoi(c[2].c_str()), std::atoi(c[3].c_str()), std::atoi(c[4].c_str()), std::atoi(c[5].c_str())};
        std::string base = std::string(argv[3]) + "/" + c[0];
        generate(V, c[6], c[7], base + ".ref.yuv", base + ".dist.yuv"); found = true;
    }
    if (!found) die(std::string("no generated case ") + argv[2]);
    return 0;
}
