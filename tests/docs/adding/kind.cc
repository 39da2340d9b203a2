// A kind of data: what `--data parity:7,count=3` loads.
#include <cstdio>

#include "limpid/data/load_data.h"

using namespace limpid;

int main() {
  const Split data = load_data("parity:7,count=3");
  for (const Dataset& part : {data.train, data.test})
    for (std::int64_t row = 0; row < part.size(); ++row) {
      for (const float bit : part.inputs.rows(row, 1).values<float>()) std::printf("%g", bit);
      std::printf(" %s\n",
                  part.class_names[part.targets.rows(row, 1).item<std::int32_t>()].c_str());
    }
}
