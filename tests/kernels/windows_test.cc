// Reductions of windows against the scalar specification.
#include "limpid/ops/windows.h"

#include "limpid/ops/extremes.h"
#include "tests/kernels/support.h"

namespace limpid::kernels {
namespace {

class WindowsTest : public OnEveryIsa {};

// Ordinary numbers, ties, or special values.
float entry(std::size_t kind, std::size_t i) {
  const std::uint32_t word = Key(kind).word(i);
  if (kind == 1) return static_cast<float>(word % 3);
  if (kind == 2) return special_values()[word % special_values().size()];
  return 4.0f * value(kind, i);
}

// Runs of any length, windows of any size: one window is in several blocks.
TEST_P(WindowsTest, Runs) {
  for (const std::int64_t kernel : {1, 2, 9, 255, 256, 257, 700})
    for (const std::int64_t stride : {1, 2, 3, 37})
      for (const std::int64_t count : {1, 2, 7, 8, 9, 15, 16, 17, 33, 70}) {
        const std::int64_t size = (count - 1) * stride + kernel;
        const Windows w{
            1, {{{1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}, {size, count, kernel, stride, 1, 0}}}};
        std::vector<std::int64_t> taps;
        for_each_tap(w, {0, 0, 0}, [&](std::int64_t place) { taps.push_back(place); });
        const std::size_t n = static_cast<std::size_t>(count);
        for (std::size_t kind = 0; kind < 3; ++kind) {
          Guarded x(static_cast<std::size_t>(size), kind);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = entry(kind, i);
          std::vector<float> sums(n), maxima(n);
          std::vector<std::int32_t> places(n);
          limpid::sum_windows(w, x.data(), sums.data());
          extreme_windows<limpid::Highest>(w, x.data(), maxima.data());
          limpid::argmax_windows(w, x.data(), places.data());
          const WindowRun run{
              x.data(), taps.data(), taps.size(), n, static_cast<std::size_t>(stride), 1};
          Guarded out(n, kind + 1);
          k().sum_windows(run, out.data());
          ASSERT_TRUE(same_values(out.data(), sums.data(), n)) << kernel << " " << stride;
          k().max_windows(run, out.data());
          ASSERT_TRUE(same_values(out.data(), maxima.data(), n)) << kernel << " " << stride;
          auto* const whole = reinterpret_cast<std::int32_t*>(out.data());
          k().argmax_windows(run, run.step, whole);
          for (std::size_t i = 0; i < n; ++i)
            ASSERT_EQ(whole[i], places[i]) << kernel << " " << stride << " kind " << kind;
          ASSERT_TRUE(out.guards_intact());
        }
      }
}

// Results that are apart, and windows of nothing.
TEST_P(WindowsTest, StepsOfTheResults) {
  constexpr std::size_t kCount = 19, kStep = 3;
  Floats x(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  const std::int64_t tap = 0;
  for (const std::size_t elements : {0, 1}) {
    Guarded out(kCount * kStep, 1);
    k().max_windows({x.data(), &tap, elements, kCount, 1, kStep}, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i % kStep != 0)
        ASSERT_EQ(bits(out[i]), 0xA5A5A5A5u);
      else
        ASSERT_EQ(out[i], elements == 0 ? -kInf : static_cast<float>(i / kStep));
    }
    k().sum_windows({x.data(), &tap, elements, kCount, 1, kStep}, out.data());
    ASSERT_TRUE(same(out[0], 0.0f));
    auto* const places = reinterpret_cast<std::int32_t*>(out.data());
    k().argmax_windows({x.data(), &tap, elements, kCount, 1, kStep}, 1, places);
    ASSERT_EQ(places[kStep], elements == 0 ? -1 : 1);
    ASSERT_TRUE(out.guards_intact());
  }
}

LIMPID_ON_EVERY_ISA(WindowsTest);

}  // namespace
}  // namespace limpid::kernels
