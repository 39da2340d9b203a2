// The text form of Functions.
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/inspect/op_example.h"
#include "limpid/inspect/summary.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/vmap.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

// Whether all of its values, including those inside compositions, are small, so that running it is
// fast.
bool is_small(const Function& f) {
  constexpr std::int64_t kFew = 4096;
  std::int64_t elements = 0;
  for (const Type& type : f.types()) {
    if (type.shape.elements() > kFew - elements) return false;
    elements += type.shape.elements();
  }
  return true;
}

void read(std::span<const std::byte> bytes) {
  const Function f = parse_function(text_of(bytes));
  verify(f);
  const std::string text = to_text(f);
  const Function again = parse_function(text);
  require(to_text(again) == text, "text that was printed is read and printed as it was");
  to_text(shape_trace(f, {}));
  if (!is_small(f)) return;
  const Function open = expand(f);
  verify(open);
  if (!is_small(open)) return;
  const std::vector<Tensor> inputs = random_inputs(f, Key(0));
  const std::vector<Tensor> outputs = interpret(f, inputs);
  const std::vector<Tensor> same = interpret(again, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    touch(outputs[i]);
    require(outputs[i].same_bits(same[i]), "a Function that was read again gives the same bits");
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  all.push_back(bytes_of(to_text(nn::Mlp{{3, 4, 2}}.function())));
  for (const Op* op : all_ops())
    for (const Example& example : op->examples()) {
      const std::string text = to_text(function_of(*op, example));
      if (text.size() < 2048) {
        all.push_back(bytes_of(text));
        break;
      }
    }
  return all;
}

std::vector<std::string> words() {
  std::vector<std::string> all = {"function",
                                  "return",
                                  "%x",
                                  "%0",
                                  " : ",
                                  "f32[",
                                  "f64[]",
                                  "bf16[",
                                  "f16[",
                                  "i32[",
                                  "i64[",
                                  "i8[",
                                  "u8[",
                                  "bool[",
                                  "{",
                                  "}",
                                  " = ",
                                  "@",
                                  "nan",
                                  "inf",
                                  "-inf",
                                  "true",
                                  "false",
                                  "\\x00",
                                  "\"",
                                  "0, 0",
                                  "-1",
                                  "axis = ",
                                  "value = ",
                                  "shape = ",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "576460752303423488"};
  for (const Op* op : all_ops()) {
    all.push_back(std::string(op->name) + "(");
    for (const AttributeSpec& spec : op->attributes) all.push_back(std::string(spec.name) + " = ");
  }
  return all;
}

}  // namespace

const Target& function() {
  static const Target target{"function", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
