// Files changed at random, as damage and malice change them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "limpid/core/key.h"
#include "tests/fuzz/target.h"

namespace limpid::fuzz {

// One change of `file` in every other case, otherwise two to four, determined by the key alone:
// bits flipped, bytes set, the end cut off, a part removed, repeated, or inserted from another
// file, integers of 1 to 8 bytes set to invalid lengths, numbers in text replaced, words inserted.
Bytes mutated(Bytes file, std::span<const Bytes> others, std::span<const std::string> words,
              Key key);

}  // namespace limpid::fuzz
