#include "limpid/kernels/isa.h"

#include "limpid/kernels/targets.h"
//
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "limpid/core/error.h"

namespace limpid::kernels {
namespace {

struct Target {
  Isa isa;
  std::string_view name;
  std::int64_t highway;
};

constexpr std::array<Target, 4> kTargets = {{
    {Isa::kAvx512, "avx512", HWY_AVX3},
    {Isa::kAvx2, "avx2", HWY_AVX2},
    {Isa::kNeon, "neon", HWY_NEON},
    {Isa::kExact, "exact", HWY_SCALAR},
}};

std::vector<Isa> detect() {
  const std::int64_t usable = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_SCALAR;
  std::vector<Isa> isas;
  for (const Target& t : kTargets)
    if (usable & t.highway) isas.push_back(t.isa);
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
