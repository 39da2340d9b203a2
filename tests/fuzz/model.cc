// Models and checkpoints: a Function, its parameters and what it was trained on in one safetensors
// file.
#include "limpid/formats/model.h"

#include "limpid/data/data_config.h"
#include "limpid/inspect/summary.h"
#include "limpid/nn/mlp.h"
#include "limpid/train/loop/problem.h"
#include "limpid/train/run/checkpoint.h"
#include "tests/fuzz/safetensors_header.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void use(const Model& model) {
  to_text(summarize(model.function, model.params));
  goes_well([&] { data_config_of(model); });
  goes_well([&] { train::loss_config_of(model); });
  constexpr std::int64_t kLittleWork = 100'000;
  const Summary work = summarize(model.function, model.params);
  if (work.multiply_adds + work.forward_bytes > kLittleWork) return;
  const Type& type = data_input(model).type;
  touch(predict(model, Tensor::zeros({type.dtype, type.shape.insert(0, 2)})));
}

void read(std::span<const std::byte> bytes) {
  const MemoryFile file(bytes);
  goes_well([&] { train::load_checkpoint(file.path()); });
  const Model model = load_model(file.path());
  // Running the model may still fail, if it has too many dimensions for a batch of examples.
  goes_well([&] { use(model); });
}

Bytes model_file(const nn::Mlp& net, const std::string& config) {
  Params params = net.init(Key(0));
  params.merge("", net.init_state());
  return saved([&](const std::filesystem::path& path) {
    save_model(path, Model{net.function(), params, config});
  });
}

std::vector<Bytes> seeds() {
  const nn::Mlp plain{{3, 4, 2}};
  const nn::Mlp normed{{2, 2, 2}, nn::activation_from_name("gelu"), 0.5, "he", nn::MlpNorm::kBatch};
  std::vector<Bytes> all;
  all.push_back(model_file(plain, ""));
  all.push_back(model_file(
      plain, R"({"model":"mlp","loss":{"name":"cross_entropy","label_smoothing":0.1},)"
             R"("data":{"task":"classification","class_names":["no","yes"],"table":)"
             R"({"task":"classification","missing":"impute","unseen":"zeros","features":[)"
             R"({"name":"a","categorical":false,"fill":0.5},)"
             R"({"name":"b","categorical":true,"categories":["x","y"],"fill":1}],)"
             R"("targets":[{"name":"t","categorical":true,"categories":["no","yes"]}]}}})"));
  all.push_back(model_file(normed, "{}"));
  all.push_back(saved([&](const std::filesystem::path& path) {
    train::TrainState state;
    state.params = plain.init(Key(1));
    state.best = state.params;
    train::save_checkpoint(path, {state, "run"});
  }));
  return all;
}

std::vector<std::string> words() {
  std::vector<std::string> all = function().words();
  for (const std::string& word : safetensors().words()) all.push_back(word);
  for (const char* word : {"limpid.format", "limpid.function", "limpid.config", "limpid.checkpoint",
                           "\\\"data\\\"", "\\\"loss\\\"", "\\\"table\\\"", "\\n"})
    all.emplace_back(word);
  return all;
}

}  // namespace

const Target& model() {
  static const Target target{"model", read, seeds, words, with_changed_header};
  return target;
}

}  // namespace limpid::fuzz
