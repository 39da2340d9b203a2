// Every elementary function at every one of the 2^32 floats, on every instruction set of this
// machine: the largest error, how many results are not the nearest float, and a hash of all
// results, which is the same for the scalar specification and each instruction set. A minute or
// more for each function.
//   sweep                 all of them
//   sweep exp sin power   these
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "limpid/core/arithmetic.h"
#include "tests/kernels/functions.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

constexpr std::size_t kChunk = 4096;

// The hashes of the specification and of each instruction set, chunk by chunk.
class Hashes {
 public:
  Hashes() : of_isa_(available_isas().size(), kHashSeed), got_(kChunk) {}

  void add(Element element, const std::vector<float>& x, const std::vector<float>& y,
           const std::vector<float>& expected) {
    specification_ = hash_floats(expected, specification_);
    for (std::size_t i = 0; i < of_isa_.size(); ++i) {
      const Kernels& k = kernels(available_isas()[i]);
      k.element[static_cast<std::size_t>(element)](got_.data(), x.data(), y.data(), nullptr,
                                                   x.size());
      of_isa_[i] = hash_floats(got_, of_isa_[i]);
    }
  }

  std::uint64_t specification() const { return specification_; }
  // The instruction sets whose results are others.
  std::string differing() const {
    std::string names;
    for (std::size_t i = 0; i < of_isa_.size(); ++i)
      if (of_isa_[i] != specification_) names += fmt::format(" {}", name(available_isas()[i]));
    return names;
  }

 private:
  std::uint64_t specification_ = kHashSeed;
  std::vector<std::uint64_t> of_isa_;
  std::vector<float> got_;
};

// Prints the line of a function; true where all is well.
bool report(const char* function, const Errors& errors, std::uint64_t arguments, double bound,
            const Hashes& hashes, const std::string& at) {
  const std::string differing = hashes.differing();
  fmt::print("{:<9} {:.4f} ulp at {:<24} not nearest {:7.4f} %   hash {:016x}{}{}\n", function,
             errors.largest, at,
             100.0 * static_cast<double>(errors.not_nearest) / static_cast<double>(arguments),
             hashes.specification(), differing.empty() ? "" : "   DIFFERENT:" + differing,
             errors.wrong.empty() ? "" : "   WRONG: " + errors.wrong);
  std::fflush(stdout);
  return differing.empty() && errors.wrong.empty() && errors.largest <= bound;
}

bool sweep(const ElementaryFunction& f) {
  std::vector<float> x(kChunk), y(kChunk);
  Hashes hashes;
  Errors errors;
  for (std::uint64_t first = 0; first < kFloats; first += kChunk) {
    for (std::size_t i = 0; i < kChunk; ++i) {
      x[i] = from_bits(static_cast<std::uint32_t>(first + i));
      y[i] = f.specification(x[i]);
      errors.add(x[i], y[i], f.exact(x[i]));
    }
    hashes.add(f.element, x, x, y);
  }
  return report(f.name, errors, kFloats, f.bound, hashes, fmt::format("{:.9g}", errors.at));
}

// Two arguments have too many pairs: a sample of 2^26.
bool sweep_power() {
  constexpr std::uint64_t kPairs = 1ull << 26;
  std::vector<float> x(kChunk), y(kChunk), z(kChunk);
  Hashes hashes;
  Errors errors;
  std::string at;
  for (std::uint64_t first = 0; first < kPairs; first += kChunk) {
    for (std::size_t i = 0; i < kChunk; ++i) {
      std::tie(x[i], y[i]) = power_pair(first + i);
      z[i] = arithmetic::power(x[i], y[i]);
      const double largest = errors.largest;
      errors.add(x[i], z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
      if (errors.largest > largest) at = fmt::format("{:.9g}, {:.9g}", x[i], y[i]);
    }
    hashes.add(Element::kPower, x, y, z);
  }
  return report("power", errors, kPairs, kPowerBound, hashes, at);
}

int run(const std::vector<std::string>& names) {
  const auto wanted = [&](const char* function) {
    return names.empty() || std::find(names.begin(), names.end(), function) != names.end();
  };
  bool good = true;
  for (const ElementaryFunction& f : elementary_functions())
    if (wanted(f.name)) good = sweep(f) && good;
  if (wanted("power")) good = sweep_power() && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace limpid::kernels

int main(int argc, char** argv) {
  return limpid::kernels::run(std::vector<std::string>(argv + 1, argv + argc));
}
