// The promise of bit-identical results as a list of hashes. Computed on any machine, with any
// instruction set and any number of threads, the list equals that of docs/hashes.md. Depends on nn,
// optim, train and compile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/formats/model.h"
#include "limpid/function/op.h"

namespace limpid {

struct HashLine {
  std::string name;  // "function exp", "op gelu", "gradient gelu", "network mlp forward"
  std::uint64_t hash = 0;

  bool operator==(const HashLine&) const = default;
};

// As limpid::hash, but all NaNs count as equal, as the promise does not cover their bits.
std::uint64_t hash_of_numbers(const Tensor& tensor);
// For one tensor, its hash; for several, the hash of their hashes.
std::uint64_t hash_of_numbers(std::span<const Tensor> tensors);
// The hash of each group, faster than one by one.
std::vector<std::uint64_t> hashes_of_numbers(std::span<const std::span<const Tensor>> groups);
// The hash of the function's text and the parameters.
std::uint64_t hash_of_model(const Model& model);

// Hashes of every elementary function that has a kernel on a sample of all floats, and of every
// op's examples and their gradients. f64 examples are left out, as f64 elementary functions are
// those of the C library.
std::vector<HashLine> op_hashes(kernels::Isa isa);

// The ops that take one tensor and nothing else, and compute each element from one by a kernel.
std::vector<const Op*> elementary_functions();

// The hash of an elementary function at the floats whose bits are in [begin, end), in that order;
// [0, 2^32) is all of them. It is the hash of the hashes of kFloatsInOneHash results each; every
// NaN counts as the same one. Throws kInvalidArgument unless begin and end are multiples of
// 4 * kFloatsInOneHash, and begin <= end.
constexpr std::int64_t kFloatsInOneHash = 1 << 16;
std::uint64_t hash_at_floats(const Op& function, std::uint64_t begin, std::uint64_t end,
                             kernels::Isa isa, ThreadPool& pool);

// Hashes of networks: forward pass, gradients and a short training run; and of augmented pictures.
// The pool shares the work.
std::vector<HashLine> network_hashes(kernels::Isa isa, ThreadPool& pool);

// Runs networks row by row and in batches of every size up to 70. Returns the number of rows whose
// bits differ; expected: 0.
std::int64_t rows_that_differ_in_batches(kernels::Isa isa);

// Parses the lines of docs/hashes.md: "| name | 0123456789abcdef |". Throws kParse, naming the
// line.
std::vector<HashLine> parse_hashes(std::string_view markdown);
std::string to_markdown(const std::vector<HashLine>& lines);

}  // namespace limpid
