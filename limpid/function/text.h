// The text form of a Function. parse_function() reads the output of to_text() back as the same
// Function, if that has at most 100,000 ops with those of the Functions in it, which are at most
// kMostDepth deep, and if each has at most 65,536 inputs and 65,536 outputs.
//
//   function mlp(%x: f32[784], %layers.0.weight: f32[256, 784], %layers.0.bias: f32[256]) {
//     %0 = linear(%x, %layers.0.weight, %layers.0.bias) : f32[256]  @layers.0
//     %1 = relu(%0) : f32[256]
//     return logits = %1
//   }
//
// The Function of an op with a body is an attribute, an indented block:
//
//     %0, %1 = scan(%h, %xs) {body = function step(%h: f32[3], %x: f32[3]) {
//       %0 = add(%h, %x) : f32[3]
//       return %0, %0
//     }, carries = 1, length = 8, recompute = false, reverse = false, scanned = 1} : f32[3], f32[8,
//     3]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limpid/function/function.h"

namespace limpid {

// The most Functions inside each other, the outermost counted, that text and files may hold.
inline constexpr int kMostDepth = 16;

// Options of to_text().
struct TextOptions {
  // Larger tensors are abbreviated to "f32[256, 784] ...". Abbreviated text is for display: it does
  // not parse.
  std::int64_t max_elements = std::int64_t{1} << 62;
  // Whether Functions that are attributes are printed. If not, each is its name: "function step".
  bool bodies = true;
};

// Prints each number with the fewest digits that read back as the same bits (a NaN as "nan").
std::string to_text(const Function& function, const TextOptions& options = {});

// A tensor with its numbers, row-major: "f32[2, 2] (1, 0.5, -3, 0.1)".
std::string to_text(const Tensor& tensor, const TextOptions& options = {});

// Throws kParse, or what an op's type rule throws. The message begins with the line: "function
// text, line 3: ...".
Function parse_function(std::string_view text);

// Throws kUnsupported for a Function whose text does not parse: one with an op that a program
// defines (with_gradient), which no other process has.
void require_known_ops(const Function& function);

// Parts of the text form, for messages.
std::string node_text(const Function& function, const Node& node, const TextOptions& options = {});
std::string types_text(std::span<const Type> types);
std::string quoted_name(std::string_view name);
std::string attribute_text(const Attribute& attribute, const TextOptions& options = {});

}  // namespace limpid
