// The choice of an instruction set, by the CPU and by LIMPID_ISA.
#include "limpid/kernels/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "limpid/core/error.h"
#include "limpid/kernels/kernels.h"

namespace limpid::kernels {
namespace {

// Sets LIMPID_ISA for one scope.
class WithIsa {
 public:
  explicit WithIsa(const std::string& value) {
    if (const char* const old = std::getenv("LIMPID_ISA")) before_ = old;
    setenv("LIMPID_ISA", value.c_str(), 1);
  }
  ~WithIsa() {
    if (before_)
      setenv("LIMPID_ISA", before_->c_str(), 1);
    else
      unsetenv("LIMPID_ISA");
  }
  WithIsa(const WithIsa&) = delete;
  WithIsa& operator=(const WithIsa&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(Isa, ExactIsTheLastOfTheAvailable) {
  ASSERT_FALSE(available_isas().empty());
  EXPECT_EQ(available_isas().back(), Isa::kExact);
}

// Every law on kernels runs on the available instruction sets. The others are not tested.
class CompiledIsa : public ::testing::TestWithParam<const char*> {};
TEST_P(CompiledIsa, IsAvailableHere) {
  const std::string wanted = GetParam();
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this CPU has no AVX2";
  if (wanted == "avx512" && !__builtin_cpu_supports("avx512bw"))
    GTEST_SKIP() << "this CPU has no AVX-512";
#endif
  const WithIsa scope(wanted);
  EXPECT_NO_THROW(default_isa());
}
#if defined(__x86_64__)
INSTANTIATE_TEST_SUITE_P(Isa, CompiledIsa, ::testing::Values("avx512", "avx2"),
                         [](const auto& isa) { return std::string(isa.param); });
#elif defined(__aarch64__)
INSTANTIATE_TEST_SUITE_P(Isa, CompiledIsa, ::testing::Values("neon"),
                         [](const auto& isa) { return std::string(isa.param); });
#endif

TEST(Isa, TablesBelongToTheirIsa) {
  for (const Isa isa : available_isas()) {
    const Kernels& table = kernels(isa);
    EXPECT_EQ(table.isa, isa);
    for (const ElementFn f : table.element) EXPECT_NE(f, nullptr);
    EXPECT_GT(table.panel_width, 0u);
    for (const Isa other : available_isas()) {
      if (isa != other) {
        EXPECT_NE(table.matmul, kernels(other).matmul);
      }
    }
  }
}

TEST(Isa, NamesGoBothWays) {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kNeon, Isa::kExact})
    EXPECT_EQ(isa_from_name(name(isa)), isa);
  EXPECT_EQ(isa_from_name("sse9"), std::nullopt);
}

TEST(Isa, TheEnvironmentChooses) {
  for (const Isa isa : available_isas()) {
    const WithIsa scope{std::string(name(isa))};
    EXPECT_EQ(default_isa(), isa);
  }
  const WithIsa scope("");
  EXPECT_EQ(default_isa(), available_isas().front());
}

// With the names of this machine's.
TEST(Isa, TheEnvironmentIsChecked) {
#if defined(__x86_64__)
  const char* const absent = "neon";
#else
  const char* const absent = "avx2";
#endif
  for (const char* const wanted : {"sse9", absent}) {
    const WithIsa scope(wanted);
    EXPECT_THROW(default_isa(), Error);
  }
}

}  // namespace
}  // namespace limpid::kernels
