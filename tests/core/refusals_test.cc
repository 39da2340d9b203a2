#include "tests/refusals.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "limpid/core/error.h"

namespace limpid {
namespace {

// Tests would otherwise accept what they are there to refuse.
TEST(Refusals, AreErrorsOfTheirCodeInOneLine) {
  EXPECT_NONFATAL_FAILURE(expect_refused(ErrorCode::kShape, [] {}), "got none");
  EXPECT_NONFATAL_FAILURE(
      expect_refused(ErrorCode::kShape, [] { throw std::runtime_error("other"); }), "other");
  EXPECT_NONFATAL_FAILURE(
      expect_refused(ErrorCode::kShape, [] { throw Error(ErrorCode::kDtype, "of a dtype"); }),
      "of a dtype");
  EXPECT_NONFATAL_FAILURE(
      expect_refused(ErrorCode::kShape, [] { throw Error(ErrorCode::kShape, "two\nlines"); }),
      "lines");
  expect_refused(ErrorCode::kShape, [] { throw Error(ErrorCode::kShape, "of a shape"); });
}

}  // namespace
}  // namespace limpid
