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
  // Reads the bytes, and uses the result. An Error is a valid outcome; any other exception is a
  // finding.
  void (*read)(std::span<const std::byte> bytes);
  // Small whole files: ours, and those that other programs wrote.
  std::vector<Bytes> (*seeds)();
  // Words that are common in such files.
  std::vector<std::string> (*words)();
  // For formats with a length or checksum over their content: changes the content and recomputes
  // the length or checksum. Returns the file unchanged if it cannot be opened.
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
const Target& png();         // where libpng is here
const Target& jpeg();        // where libjpeg is here
const Target& onnx_model();  // where limpid_onnx is built
const Target& http();        // where limpid_serve is built

std::span<const Target* const> all_targets();

}  // namespace limpid::fuzz
