// An emitted function behind a type-erased interface.
#pragma once

#include <cstddef>

struct Array {
  std::size_t elements;
  std::size_t bytes;  // of an element
  const char* dtype;
};

struct EmittedCase {
  const char* name;
  void (*run)(const void* const* in, void* const* out);
  const Array* inputs;
  std::size_t input_count;
  const Array* outputs;
  std::size_t output_count;
  std::size_t runs;
};
