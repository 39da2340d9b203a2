// Pictures that one thread augments in a second of its CPU time: augment_bench [STEPS [CHANNELS
// HEIGHT WIDTH]].
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "limpid/data/augment.h"

int main(int count, char** arguments) {
  namespace lp = limpid;
  const auto number = [&](int i, std::int64_t usual) {
    return count > i ? std::int64_t{std::atoll(arguments[i])} : usual;
  };
  const std::string steps = count > 1 ? arguments[1] : "digits";
  const lp::PictureShape shape{number(2, 1), number(3, 28), number(4, 28)};
  lp::Augmenter augment(lp::parse_augmentation(steps), shape);
  std::vector<float> in, out(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < out.size(); ++i) in.push_back(lp::Key(1).uniform(i));
  constexpr std::uint64_t kPictures = 20'000;
  std::vector<double> rates;
  for (int sample = 0; sample < 9; ++sample) {
    const std::clock_t begin = std::clock();
    for (std::uint64_t i = 0; i < kPictures; ++i) augment(lp::Key(i), in, out);
    rates.push_back(static_cast<double>(kPictures) * CLOCKS_PER_SEC /
                    static_cast<double>(std::clock() - begin));
  }
  std::sort(rates.begin(), rates.end());
  fmt::print("{} on {} x {} x {}: median {:.0f} pictures a second, fastest {:.0f}\n", steps,
             shape.channels, shape.height, shape.width, rates[rates.size() / 2], rates.back());
}
