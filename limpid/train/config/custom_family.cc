// One's own network: its recipe. The network is given to the Run, in C++ or Python.
#include "limpid/train/config/detail/complete.h"

namespace limpid::train::detail {

const ModelFamily& custom_family() {
  static const ModelFamily family{
      .name = "custom",
      .help = "a network of one's own, in C++ or Python",
      .keys = {"name"},
      .recipes = {{.name = "custom",
                   .optimizer = "adam",
                   .schedule = "linear",
                   .batch = 32,
                   .epochs = 10}},
      .recipe = first_recipe,
      .reads_text = false,
      .fill = [](TrainConfig& c, const Split&, const Recipe&) { c.dropout.reset(); },
      .make = [](const TrainConfig&, const Split&) -> FamilyModel {
        refuse("model.name",
               "a custom model is code: expected it in C++ or Python, see "
               "docs/training.md");
      }};
  return family;
}

}  // namespace limpid::train::detail
