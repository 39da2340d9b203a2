// Runs the emitted cases on the numbers of a file and compares the bits of their results, where all
// NaNs are equal; then again in a thread that rounds upward and flushes to zero. Exits with 0 if
// all match, and the code around a header is left alone.
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "all_cases.h"

// A header leaves the compiler's settings as they were: a sum of a product is fused after it if it
// is before it. Clang restores them on x86 only.
__attribute__((noinline)) static float before_a_header(float a, float b, float c) {
  return a * b + c;
}
#include "scalar.h"
__attribute__((noinline)) static float after_a_header(float a, float b, float c) {
  return a * b + c;
}

namespace {

using Bytes = std::vector<char>;

Bytes read(std::FILE* file, const Array& a) {
  Bytes bytes(a.elements * a.bytes);
  if (!bytes.empty() && std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
    std::printf("the file of numbers is too short\n");
    std::exit(2);
  }
  return bytes;
}

template <class T>
bool both_nan(const char* a, const char* b) {
  T x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return std::isnan(x) && std::isnan(y);
}

// The number of elements that differ.
std::size_t differing(const Array& a, const Bytes& got, const Bytes& expected) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.elements; ++i) {
    const char* const g = got.data() + i * a.bytes;
    const char* const e = expected.data() + i * a.bytes;
    if (std::memcmp(g, e, a.bytes) == 0) continue;
    if (std::strcmp(a.dtype, "f32") == 0 && both_nan<float>(g, e)) continue;
    if (std::strcmp(a.dtype, "f64") == 0 && both_nan<double>(g, e)) continue;
    ++count;
  }
  return count;
}

// In a thread that rounds upward and flushes to zero. Whether it does so afterwards, too.
bool run_strangely(const EmittedCase& c, const std::vector<const void*>& in,
                   const std::vector<void*>& out) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
#ifdef __SSE__
  constexpr unsigned kFlushes = 0x8040;  // results and operands
  _mm_setcsr(_mm_getcsr() | kFlushes);
#endif
  c.run(in.data(), out.data());
  bool kept = std::fegetround() == FE_UPWARD;
#ifdef __SSE__
  kept = kept && (_mm_getcsr() & kFlushes) == kFlushes;
#endif
  std::fesetenv(&before);
  return kept;
}

std::size_t failures_of(const EmittedCase& c, std::size_t run, std::FILE* file) {
  std::vector<Bytes> in, out, expected;
  std::vector<const void*> in_addresses;
  std::vector<void*> out_addresses;
  for (std::size_t i = 0; i < c.input_count; ++i) in.push_back(read(file, c.inputs[i]));
  for (std::size_t o = 0; o < c.output_count; ++o) {
    expected.push_back(read(file, c.outputs[o]));
    out.emplace_back(expected[o].size());
  }
  for (const Bytes& bytes : in) in_addresses.push_back(bytes.data());
  for (Bytes& bytes : out) out_addresses.push_back(bytes.data());
  std::size_t failures = 0;
  for (const bool strange : {false, true}) {
    for (Bytes& bytes : out) bytes.assign(bytes.size(), 77);
    const bool kept = strange ? run_strangely(c, in_addresses, out_addresses)
                              : (c.run(in_addresses.data(), out_addresses.data()), true);
    if (!kept) std::printf("%s, run %zu: the float mode is another one\n", c.name, run);
    failures += !kept;
    for (std::size_t o = 0; o < c.output_count; ++o)
      if (const std::size_t n = differing(c.outputs[o], out[o], expected[o])) {
        std::printf("%s, run %zu%s: result %zu (%s): %zu of %zu elements differ\n", c.name, run,
                    strange ? " in another float mode" : "", o, c.outputs[o].dtype, n,
                    c.outputs[o].elements);
        ++failures;
      }
  }
  return failures;
}

std::size_t failures_of_settings() {
#if defined(__clang__) && !defined(__x86_64__)
  return 0;
#else
  constexpr float kSquare = 1 + 0x1p-11f;  // of 1 + 2^-12, but for 2^-24
  volatile float one = 1 + 0x1p-12f;
  const bool kept = before_a_header(one, one, -kSquare) == after_a_header(one, one, -kSquare);
  if (!kept) std::printf("the code after a header is compiled with other settings\n");
  return kept ? 0 : 1;
#endif
}

// Of a number to a number: nothing but the header keeps the arithmetic in the default float mode.
__attribute__((noinline)) float scalar_of(float x) {
  const float in[] = {x};
  float out[1];
  scalar::run(in, out);
  return out[0];
}

std::size_t failures_of_scalars() {
  std::size_t failures = 0;
  for (int i = 0; i < 20; ++i) {
    volatile float x = 0.1f * static_cast<float>(i);
    const float expected = scalar_of(x);
    std::fesetround(FE_UPWARD);
    const float got = scalar_of(x);
    std::fesetround(FE_TONEAREST);
    failures += got != expected;
  }
  if (failures > 0) std::printf("%zu numbers depend on the float mode\n", failures);
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (!file) return 2;
  std::size_t failures = failures_of_settings() + failures_of_scalars();
  std::size_t compared = 0;
  for (const EmittedCase* c : all_cases)
    for (std::size_t run = 0; run < c->runs; ++run) {
      failures += failures_of(*c, run, file);
      compared += c->output_count;
    }
  const bool at_end = std::fgetc(file) == EOF;
  std::printf("%zu results compared, %zu differ\n", compared, failures);
  return failures == 0 && compared > 0 && at_end ? 0 : 1;
}
