// What is fuzzed: a reader of files that anybody may have written, with whole files to begin from.
// The same targets serve libFuzzer (fuzz_main.cc) and the driver that changes files at random
// (mutate_test.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::fuzz {

using Bytes = std::vector<std::byte>;
using Change = std::function<void(Bytes&)>;

struct Target {
  std::string_view name;
  // Reads the bytes, and uses what was read. An Error is an answer; whatever else it throws is a
  // finding.
  void (*read)(std::span<const std::byte> bytes);
  // Small whole files: ours, and those that other programs wrote.
  std::vector<Bytes> (*seeds)();
  // What such files are full of.
  std::vector<std::string> (*words)();
  // Of a format that ties its bytes together by a length or a checksum: what is inside changed, the
  // tie renewed. The file as it is where it cannot be opened.
  Bytes (*within)(std::span<const std::byte> file, const Change& change) = nullptr;
};

// One a file.
const Target& safetensors();
const Target& model();
const Target& npy();
const Target& npz();
const Target& idx();
const Target& gzip();
const Target& csv();
const Target& table();
const Target& function();
const Target& train_config();
const Target& data_config();
const Target& run_log();
const Target& tokenizer();
const Target& chat_template();
const Target& huggingface();
const Target& onnx_model();  // where limpid_onnx is built
const Target& http();        // where limpid_serve is built

}  // namespace limpid::fuzz
