// Named tensors in a file.
#include "limpid/formats/safetensors.h"

#include "tests/fuzz/safetensors_header.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const Safetensors content = parse_safetensors(bytes, "fuzz");
  for (const auto& [name, tensor] : content.tensors) touch(tensor);
  const Safetensors again = parse_safetensors(serialize_safetensors(content), "fuzz");
  require(again.metadata == content.metadata, "metadata is read as it was written");
  require(again.tensors.names() == content.tensors.names(), "names are read as they were written");
  for (const auto& [name, tensor] : content.tensors)
    require(again.tensors.at(name).same_bits(tensor), "tensors are read as they were written");
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all = fixtures("golden", "schedules.safetensors");
  for (const Bytes& file : fixtures("golden", "mlp_adam.safetensors")) all.push_back(file);
  Safetensors every;
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kBf16, Dtype::kF16, Dtype::kI32,
                            Dtype::kI64, Dtype::kI8, Dtype::kU8, Dtype::kBool})
    every.tensors.set(std::string(limpid::name(dtype)), Tensor::zeros({dtype, Shape{2, 1}}));
  every.tensors.set("scalar", Tensor::scalar(1.5f));
  every.tensors.set("empty", Tensor::zeros({Dtype::kF64, Shape{3, 0}}));
  every.metadata = {{"format", "pt"}, {"limpid.format", "1"}, {"\u00e9", "\"\\\n"}};
  all.push_back(serialize_safetensors(every));
  all.push_back(serialize_safetensors({}));
  return all;
}

std::vector<std::string> words() {
  return {"\"dtype\":",
          "\"shape\":",
          "\"data_offsets\":",
          "\"__metadata__\":",
          "\"F32\"",
          "\"F64\"",
          "\"BF16\"",
          "\"F16\"",
          "\"I64\"",
          "\"BOOL\"",
          "\"I16\"",
          "[0,8]",
          "[]",
          "{}",
          "\\u0000",
          "\\ud83d\\ude00",
          "1e3",
          "-1",
          "9223372036854775807",
          "18446744073709551615"};
}

}  // namespace

const Target& safetensors() {
  static const Target target{"safetensors", read, seeds, words, with_changed_header};
  return target;
}

}  // namespace limpid::fuzz
