// A network inside of a program that does not know Limpid: moons.h is all there is of it. It tells
// two half moons apart, and is asked here for every place of the plane around them. The model was
// made by `limpid train --data moons --hidden 16,16 --activation tanh --out runs/moons`.
#include <cstdio>

#include "moons.h"

int main() {
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 48; ++column) {
      const float x[moons::x_size] = {-1.5f + 4.0f * static_cast<float>(column) / 47.0f,
                                      1.5f - 2.5f * static_cast<float>(row) / 15.0f};
      float logits[moons::logits_size];
      moons::run(x, logits);
      std::putchar(logits[0] > logits[1] ? '#' : '.');
    }
    std::putchar('\n');
  }
}
