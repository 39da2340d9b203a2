// A key of a training configuration: an option of the command line that reaches the training.
#include <cstdio>

#include "limpid/train/config/config.h"

using namespace limpid::train;

int main() {
  for (const ConfigKey& key : config_keys())
    if (key.path == "divided_update") {
      TrainConfig config;
      config.divided_update = true;
      TrainOptions options;
      key.set(options, config);
      std::printf("%s %s\n", key.flag.c_str(), options.divided_update ? "true" : "false");
    }
}
