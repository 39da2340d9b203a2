// Numbers as text.
#include "limpid/core/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "limpid/core/half.h"

namespace limpid {
namespace {

TEST(Numbers, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(235146), "235,146");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(INT64_MAX), "9,223,372,036,854,775,807");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Numbers, CountedInTheSingularIfThereIsOne) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(2, "row"), "2 rows");
}

TEST(Numbers, ShortAndExact) {
  EXPECT_EQ(short_number(static_cast<double>(1.94f)), "1.94");
  EXPECT_EQ(short_number(-0.000123456789), "-0.000123457");
  EXPECT_EQ(short_number(-std::nan("")), "nan");
  EXPECT_EQ(short_number(-HUGE_VAL), "-inf");
  EXPECT_EQ(exact_number(static_cast<double>(1.61f), Dtype::kF32), "1.61");
  EXPECT_EQ(exact_number(0.1, Dtype::kF64), "0.1");
  EXPECT_EQ(exact_number(-std::nan(""), Dtype::kF32), "nan");
  EXPECT_EQ(exact_number(static_cast<double>(0.1f), Dtype::kF64), "0.10000000149011612");
}

TEST(Numbers, AnF32IsPrintedInItsOwnDigits) {
  for (const float number : {0.1f, -1.61f, 3.4028235e38f, 1e-45f, 16777216.0f, 0.0f}) {
    EXPECT_EQ(static_cast<float>(as_printed(number)), number);
    EXPECT_EQ(exact_number(as_printed(number), Dtype::kF64),
              exact_number(static_cast<double>(number), Dtype::kF32));
  }
  // The f64 of these digits lies halfway to a neighbour, to which it is rounded.
  EXPECT_EQ(static_cast<float>(7.038531e-26) == 7.038531e-26f, false);
  EXPECT_EQ(static_cast<float>(as_printed(7.038531e-26f)), 7.038531e-26f);
}

TEST(Numbers, A16BitNumberIsPrintedInItsOwnDigits) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const Bf16 wide{static_cast<std::uint16_t>(i)};
    const F16 narrow{static_cast<std::uint16_t>(i)};
    if (std::isfinite(to_f32(wide))) {
      EXPECT_EQ(to_bf16(as_printed(wide)).bits, i);
    }
    if (std::isfinite(to_f32(narrow))) {
      EXPECT_EQ(to_f16(as_printed(narrow)).bits, i);
    }
  }
  EXPECT_EQ(as_printed(to_bf16(0.1)), 0.1);
  EXPECT_EQ(as_printed(to_f16(1.0 / 3)), 0.3333);
  EXPECT_TRUE(std::signbit(as_printed(to_f16(-0.0))));
}

}  // namespace
}  // namespace limpid
