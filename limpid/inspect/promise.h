// The promise of the same bits as a list of hashes: computed on any machine, with any instruction
// set and any number of threads, the list is that of docs/hashes.md. Leans on nn, optim, train and
// compile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/formats/model.h"

namespace limpid {

struct HashLine {
  std::string name;  // "function exp", "op gelu", "gradient gelu", "network mlp forward"
  std::uint64_t hash = 0;

  bool operator==(const HashLine&) const = default;
};

// As limpid::hash, every NaN counting as one and the same: their bits are outside of the promise.
std::uint64_t hash_of_numbers(const Tensor& tensor);
// Of one tensor its hash; of several that of their hashes.
std::uint64_t hash_of_numbers(std::span<const Tensor> tensors);
// That of each group, in less time than one after the other.
std::vector<std::uint64_t> hashes_of_numbers(std::span<const std::span<const Tensor>> groups);
// Of the function's text and the parameters, one after the other.
std::uint64_t hash_of_model(const Model& model);

// Every elementary function on a sample of all floats; every op's examples and their gradients.
// f64 elementary functions are the C library's, so examples in f64 are left out.
std::vector<HashLine> op_hashes(kernels::Isa isa);

// Networks forward, their gradients and a short training, the work shared among the pool.
std::vector<HashLine> network_hashes(kernels::Isa isa, ThreadPool& pool);

// Runs one row at a time and in batches of every size up to 70; the number of rows whose bits
// differ, which is 0.
std::int64_t rows_that_differ_in_batches(kernels::Isa isa);

// The lines of docs/hashes.md: "| name | 0123456789abcdef |". Throws kParse, with the line.
std::vector<HashLine> parse_hashes(std::string_view markdown);
std::string to_markdown(const std::vector<HashLine>& lines);

}  // namespace limpid
