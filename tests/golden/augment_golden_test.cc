// Resampled pictures beside PyTorch's affine_grid and grid_sample, in f64.
#include "limpid/data/augment.h"

#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

TEST(Augment, ResamplesAsPyTorch) {
  const Params known = fixture("augmentation");
  const Tensor& maps = known.at("maps");
  ASSERT_EQ(maps.shape()[1], 8);
  const auto m = maps.values<float>();
  for (const std::string shape : {"digit", "colours"}) {
    const Tensor& picture = known.at(shape);
    Augmenter augmenter({}, {picture.shape()[0], picture.shape()[1], picture.shape()[2]});
    for (std::int64_t k = 0; k < maps.shape()[0]; ++k) {
      const float* const n = m.data() + 8 * k;
      const Tensor got = Tensor::generate<float>(picture.shape(), [&](std::span<float> out) {
        augmenter.resample({n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]},
                           picture.values<float>(), out);
      });
      const std::string name = shape + "." + std::to_string(k);
      expect_close(got, known.at(name), 0, 1e-5, name);
    }
  }
}

}  // namespace
}  // namespace limpid::golden
