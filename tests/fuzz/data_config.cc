// The data description that a model stores, as JSON; and the other JSON in a model's configuration.
#include "limpid/data/data_config.h"
#include "limpid/formats/model.h"

#include "limpid/nn/char_lm.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/mlp.h"
#include "limpid/train/loop/problem.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  goes_well([&] { nn::Mlp::from_config(text).function(); });
  goes_well([&] { nn::CharLm::from_config(text).function(); });
  goes_well([&] { nn::Gpt::from_config(text).parameters(); });
  goes_well([&] { table_schema_from_json(Json::parse(text)); });
  Model model;
  model.config = text;
  goes_well([&] { data_config_of(model); });
  goes_well([&] { train::loss_config_of(model); });
  const DataConfig config = data_config_from_json(Json::parse(text));
  require(data_config_from_json(to_json(config)) == config,
          "a configuration is read as it was written");
}

std::vector<Bytes> seeds() {
  const std::string schema =
      R"({"task":"classification","missing":"impute","unseen":"zeros","features":[)"
      R"({"name":"a","categorical":false,"fill":0.5},)"
      R"({"name":"b","categorical":true,"categories":["x","y"],"fill":1}],)"
      R"("targets":[{"name":"t","categorical":true,"categories":["no","yes"]}]})";
  const std::string data =
      R"({"task":"classification","feature_names":["a","b=x"],"class_names":["no","yes"],)"
      R"("target_names":["t"],"picture":[3,8,9,255],"table":)" +
      schema + R"(,"split":{"shares":[80,10,10],"seed":"7","rows":210,"hash":"00ff"}})";
  const std::string model =
      R"({"model":"mlp","sizes":[3,4,2],"activation":"relu","dropout":0.5,"init":"he","norm":"batch",)"
      R"("loss":{"name":"huber","delta":2.0},"data":)" +
      data + "}";
  const std::string text =
      R"({"task":"next_token","tokenizer":{"kind":"characters","characters":["\n","a","é"]}})";
  const std::string char_lm = nn::CharLm{5, 2, 3, nn::Mlp{{6, 4, 5}}}.config();
  const std::string gpt =
      nn::Gpt{.vocabulary = 5, .layers = 1, .positions = nn::GptPositions::kRotary}.config();
  return {bytes_of(schema), bytes_of(data),    bytes_of(model),
          bytes_of(text),   bytes_of(char_lm), bytes_of(gpt)};
}

std::vector<std::string> words() {
  std::vector<std::string> all = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ":",
                                  ",",
                                  "null",
                                  "true",
                                  "false",
                                  "-1",
                                  "1e300",
                                  "0.5",
                                  "9223372036854775807",
                                  "18446744073709551615",
                                  "\"\\ud83d\\ude00\"",
                                  "\\u0000"};
  for (const char* word : {"task",        "classification",
                           "multilabel",  "regression",
                           "next_token",  "tokenizer",
                           "kind",        "characters",
                           "bytes",       "feature_names",
                           "class_names", "target_names",
                           "table",       "missing",
                           "unseen",      "features",
                           "targets",     "name",
                           "categorical", "categories",
                           "fill",        "error",
                           "drop",        "impute",
                           "zeros",       "model",
                           "mlp",         "sizes",
                           "charlm",      "vocabulary",
                           "gpt",         "layers",
                           "loss",        "label_smoothing",
                           "delta",       "data",
                           "split",       "shares",
                           "seed",        "rows",
                           "hash"})
    all.push_back("\"" + std::string(word) + "\"");
  return all;
}

}  // namespace

const Target& data_config() {
  static const Target target{"data_config", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
