// What a project outside of this one writes: a tensor, and its hash.
#include <limpid/core/tensor.h>

#include <cinttypes>
#include <cstdio>

int main() {
  const auto tensor = limpid::Tensor::from<float>({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  std::printf("hash %016" PRIx64 "\n", limpid::hash(tensor));
}
