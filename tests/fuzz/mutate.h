// Files changed at random, as damage and malice change them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "limpid/core/key.h"
#include "tests/fuzz/target.h"

namespace limpid::fuzz {

// One change of `file` in every other case, else two to four, by the key alone: bits flipped, bytes
// set, the end cut off, a part taken out, repeated, or put in from another file, numbers of 1 to 8
// bytes set to what lengths should not be, numbers in text replaced, words put in.
Bytes mutated(Bytes file, std::span<const Bytes> others, std::span<const std::string> words,
              Key key);

}  // namespace limpid::fuzz
