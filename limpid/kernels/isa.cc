#include "limpid/kernels/isa.h"

#include "limpid/kernels/targets.h"
//
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "limpid/core/error.h"

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

struct Target {
  Isa isa;
  std::string_view name;
  std::int64_t highway;
  bool (*runs_here)();
};

constexpr std::array<Target, 4> kTargets = {{
    {Isa::kAvx512, "avx512", HWY_AVX3, has_avx512},
    {Isa::kAvx2, "avx2", HWY_AVX2, has_avx2},
    {Isa::kNeon, "neon", HWY_NEON, always},  // every AArch64 has it
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
