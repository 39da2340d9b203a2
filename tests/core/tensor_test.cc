// Tensors as values.
#include "limpid/core/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace limpid {
namespace {

// A compiler that destroys a default tensor twice does no harm: GCC 12 does where a braced list
// leaves a member out and a later initialiser throws.
TEST(Tensor, DefaultOnesOwnNoMemory) {
  const Tensor a;
  const Tensor b;
  EXPECT_EQ(a.type(), (Type{Dtype::kF32, Shape{0}}));
  EXPECT_TRUE(a.bytes().empty());
  EXPECT_EQ(a.bytes().data(), b.bytes().data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.bytes().data()) % Tensor::kAlignment, 0U);
}

}  // namespace
}  // namespace limpid
