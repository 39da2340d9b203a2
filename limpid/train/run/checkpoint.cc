#include "limpid/train/run/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/safetensors.h"

namespace limpid::train {
namespace {

constexpr const char* kFormatKey = "limpid.checkpoint";
constexpr const char* kRunKey = "limpid.run";
constexpr const char* kFormat = "1";

// The parts of a state and their names, for writing and for reading.
template <class State, class Visit>
void visit_params(State& state, const Visit& visit) {
  visit("params", state.params);
  visit("non_trainable", state.non_trainable);
  visit("optimizer", state.optimizer);
  visit("best", state.best);
  visit("average", state.average);
}
template <class State, class Visit>
void visit_numbers(State& state, const Visit& visit) {
  visit("state.seed", state.seed);
  visit("state.step", state.step);
  visit("state.loss_sum", state.loss_sum);
  visit("state.gradient_norm_sum", state.gradient_norm_sum);
  visit("state.best_epoch", state.best_epoch);
  visit("state.best_score", state.best_score);
}

// safetensors has no unsigned number of 64 bits here: a seed's bits are those of an i64.
Tensor to_tensor(std::uint64_t number) {
  return Tensor::scalar(std::bit_cast<std::int64_t>(number));
}
Tensor to_tensor(std::int64_t number) { return Tensor::scalar(number); }
Tensor to_tensor(double number) { return Tensor::scalar(number); }
void from_tensor(const Tensor& t, std::uint64_t& number) {
  number = std::bit_cast<std::uint64_t>(t.item<std::int64_t>());
}
void from_tensor(const Tensor& t, std::int64_t& number) { number = t.item<std::int64_t>(); }
void from_tensor(const Tensor& t, double& number) { number = t.item<double>(); }

const std::string& metadata_at(const Safetensors& file, std::string_view key) {
  const auto found = std::find_if(file.metadata.begin(), file.metadata.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found == file.metadata.end())
    throw Error(ErrorCode::kFormat, fmt::format("is a safetensors file, but not a checkpoint: no "
                                                "{} in its metadata",
                                                key));
  return found->second;
}

Checkpoint checkpoint_of(const Safetensors& file) {
  if (const std::string& format = metadata_at(file, kFormatKey); format != kFormat)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} is {}, expected '{}'", kFormatKey, in_quotes(format), kFormat));
  Checkpoint checkpoint;
  checkpoint.run = metadata_at(file, kRunKey);
  std::size_t read = 0;
  visit_numbers(checkpoint.state, [&](const char* name, auto& number) {
    try {
      from_tensor(file.tensors.at(name), number);
    } catch (const Error& e) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: {}", name, e.what()));
    }
    ++read;
  });
  visit_params(checkpoint.state, [&](const char* name, Params& params) {
    params = file.tensors.within(name);
    read += params.size();
  });
  if (read != file.tensors.size())
    throw Error(ErrorCode::kFormat, fmt::format("{} tensors do not belong to a training state",
                                                file.tensors.size() - read));
  return checkpoint;
}

Safetensors file_of(const Checkpoint& checkpoint) {
  Safetensors file{{}, {{kFormatKey, kFormat}, {kRunKey, checkpoint.run}}};
  file.metadata.insert(file.metadata.end(), checkpoint.model.begin(), checkpoint.model.end());
  visit_numbers(checkpoint.state, [&](const char* name, const auto& number) {
    file.tensors.set(name, to_tensor(number));
  });
  visit_params(checkpoint.state,
               [&](const char* name, const Params& params) { file.tensors.merge(name, params); });
  return file;
}

Checkpoint checkpoint_of(const Safetensors& file, std::string_view where) {
  try {
    return checkpoint_of(file);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("checkpoint {}: {}", in_quotes(where), e.what()));
  }
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  save_safetensors(path, file_of(checkpoint));
}

std::vector<std::byte> serialize_checkpoint(const Checkpoint& checkpoint) {
  return serialize_safetensors(file_of(checkpoint));
}

Checkpoint parse_checkpoint(std::span<const std::byte> bytes, std::string_view where) {
  return checkpoint_of(parse_safetensors(bytes, where), where);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  // Mapped: of a large one, often only a number is read.
  return checkpoint_of(map_safetensors(path), path.string());
}

}  // namespace limpid::train
