#include "limpid/kernels/isa.h"

#include "limpid/kernels/targets.h"
//
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "limpid/core/error.h"

#if HWY_TARGETS & HWY_WASM
#include <wasm_simd128.h>

#include <cmath>
#include <cstdint>

#include "limpid/core/fused.h"
#include "limpid/core/key.h"
#endif

namespace limpid::kernels {
namespace {

// Whether this machine, its system included, runs what Highway compiles for its targets HWY_AVX2
// and HWY_AVX3. Highway's own answer comes from its library, which measures a clock for 3 ms when a
// program that is linked to it starts. Both also need F16C and LZCNT, which every CPU with AVX2
// has.
#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif
bool always() { return true; }

#if HWY_TARGETS & HWY_WASM
// WebAssembly leaves it open whether a multiply-add rounds once or twice. Numbers at random, most
// of whose products and sums cancel, and products in the middle between two floats with a sum that
// decides to which they round: also what computes in f64, and so rounds twice there, is seen.
bool fuses_f32() {
  const Key key(1);
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const auto near_one = [&](std::uint64_t j, int bits) {
      return 1 + static_cast<float>(key.word(4 * i + j) >> (32 - bits)) * std::ldexp(1.0f, -bits);
    };
    float a = near_one(0, 12), b = near_one(1, 12), c = -a * b;
    if (i % 4 == 1) c = std::ldexp(i % 8 == 1 ? 1.0f : -1.0f, -40 - static_cast<int>(i % 60));
    if (i % 4 == 2) a = near_one(2, 23), b = near_one(3, 23), c = -a * b;
    if (i % 4 == 3) a = std::ldexp(near_one(2, 23), -70), b = std::ldexp(a, -10), c = 0x1p-149f;
    const float fused = wasm_f32x4_extract_lane(
        wasm_f32x4_relaxed_madd(wasm_f32x4_splat(a), wasm_f32x4_splat(b), wasm_f32x4_splat(c)), 0);
    if (fused != arithmetic::fused(a, b, c)) return false;
  }
  return true;
}
bool fuses_f64() {
  const Key key(2);
  for (std::uint64_t i = 0; i < 256; ++i) {
    const auto near_one = [&](std::uint64_t j) { return 1 + key.word(2 * i + j) * 0x1p-32; };
    const double a = near_one(0), b = near_one(1);
    const double c = i % 2 == 0 ? -a * b : std::ldexp(1.0, -100);
    const double fused = wasm_f64x2_extract_lane(
        wasm_f64x2_relaxed_madd(wasm_f64x2_splat(a), wasm_f64x2_splat(b), wasm_f64x2_splat(c)), 0);
    if (fused != std::fma(a, b, c)) return false;
  }
  return true;
}
bool fuses() { return fuses_f32() && fuses_f64(); }
#endif

struct Target {
  Isa isa;
  std::string_view name;
  std::int64_t highway;
  bool (*runs_here)();
};

constexpr std::array<Target, 4> kTargets = {{
    {Isa::kAvx512, "avx512", HWY_AVX3, has_avx512},
    {Isa::kAvx2, "avx2", HWY_AVX2, has_avx2},
#if HWY_TARGETS & HWY_WASM
    {Isa::kNeon, "simd128", HWY_WASM, fuses},  // vectors of 128 bits, as NEON's
#else
    {Isa::kNeon, "neon", HWY_NEON, always},  // every AArch64 has it
#endif
    {Isa::kExact, "exact", HWY_SCALAR, always},
}};

std::vector<Isa> detect() {
  std::vector<Isa> isas;
  for (const Target& t : kTargets)
    if (((HWY_TARGETS | HWY_SCALAR) & t.highway) != 0 && t.runs_here()) isas.push_back(t.isa);
  return isas;
}

std::string names_of_available() {
  std::string names;
  for (const Isa isa : available_isas()) {
    if (!names.empty()) names += ", ";
    names += name(isa);
  }
  return names;
}

bool is_available(Isa wanted) {
  for (const Isa isa : available_isas())
    if (isa == wanted) return true;
  return false;
}

}  // namespace

std::string_view name(Isa isa) { return kTargets[static_cast<std::size_t>(isa)].name; }

std::optional<Isa> isa_from_name(std::string_view wanted) {
  for (const Target& t : kTargets)
    if (t.name == wanted) return t.isa;
  return std::nullopt;
}

std::span<const Isa> available_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa default_isa() {
  const char* const wanted = std::getenv("LIMPID_ISA");
  if (wanted == nullptr || *wanted == '\0') return available_isas().front();
  const std::optional<Isa> isa = isa_from_name(wanted);
  if (isa && is_available(*isa)) return *isa;
  throw Error(ErrorCode::kInvalidArgument, std::string("LIMPID_ISA is \"") + wanted +
                                               "\", which is " +
                                               (isa ? "not available here" : "unknown") +
                                               "; available are " + names_of_available());
}

}  // namespace limpid::kernels
