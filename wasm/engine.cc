// The functions that the module gives to JavaScript: wasm/npm/src/engine.ts calls them, and nothing
// else does. A call answers with a status: 0, or 1 for an error. What it gives besides stays until
// the next call: a text (JSON, or the error as {"code", "message"}) and tensors. Models are named
// by numbers. Every number that comes from the page is checked here or in the library.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/formats/model.h"
#include "limpid/formats/onnx/example_model.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/kernels/isa.h"
#include "limpid/nn/mlp.h"
#include "limpid/train/loop/custom_model.h"
#include "limpid/train/loop/step.h"

// A function that JavaScript sees.
#define LIMPID_EXPORT(name) extern "C" __attribute__((export_name(#name), used))

namespace limpid::wasm {
namespace {

// What one call left behind.
struct Answer {
  std::string text;
  std::vector<Tensor> tensors;
};

// How a model is trained with one loss, and one example and its target.
struct Prepared {
  train::Problem problem;
  Dataset shapes;
};

// A model, and what was made for it so far.
struct Loaded {
  Model model;
  std::unique_ptr<Predictor> predictor = nullptr;
  // By the loss; by the batch, the loss and what is asked for.
  std::map<std::string, Prepared> prepared = {};
  std::map<std::string, Executable> compiled = {};
  // Of the optimiser in use, by its description.
  std::string optimizer = "";
  Params state = {};
  std::int64_t steps = 0;
};

struct Engine {
  Answer answer;
  std::map<std::int32_t, Loaded> models;
  std::int32_t last = 0;
};

// Never destroyed: a page ends without a word.
Engine& engine() {
  static auto* const all = new Engine;
  return *all;
}

Json error_json(std::string_view code, std::string_view message) {
  return Json{{"code", code}, {"message", message}};
}

// Runs a call; an exception becomes its answer.
template <class Call>
std::int32_t answer(const Call& call) {
  Answer& answer = engine().answer;
  answer = {};
  try {
    call(answer);
    return 0;
  } catch (const Error& e) {
    answer = {error_json(name(e.code()), e.what()).dump({.replace_invalid = true}), {}};
  } catch (const std::bad_alloc&) {
    answer = {error_json(name(ErrorCode::kNoMemory), "the engine has no more memory").dump(), {}};
  } catch (const std::exception& e) {
    answer = {error_json(name(ErrorCode::kInternal), e.what()).dump({.replace_invalid = true}), {}};
  }
  return 1;
}

std::span<const std::byte> bytes_at(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}
std::string_view text_at(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

Loaded& loaded(std::int32_t number) {
  const auto found = engine().models.find(number);
  if (found == engine().models.end())
    throw Error(ErrorCode::kNotFound, "expected a model that was not released, got none");
  return found->second;
}

std::int32_t keep(Model model) {
  Engine& all = engine();
  const std::int32_t number = ++all.last;
  all.models.emplace(number, Loaded{std::move(model)});
  return number;
}

std::string hex(std::uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i, hash >>= 4)
    text[text.size() - 1 - i] = kDigits[hash & 15];
  return text;
}

Json type_json(const std::string& name, const Type& type) {
  Json shape = Json::array();
  for (const std::int64_t dim : type.shape.dims()) shape.push_back(dim);
  return Json{{"name", name}, {"dtype", limpid::name(type.dtype)}, {"shape", std::move(shape)}};
}

Json describe(std::int32_t number, const Model& model) {
  Json inputs = Json::array(), outputs = Json::array(), parameters = Json::array();
  for (const Input& input : data_inputs(model)) inputs.push_back(type_json(input.name, input.type));
  for (const Output& output : model.function.outputs())
    outputs.push_back(type_json(output.name, model.function.type(output.value)));
  for (const auto& [name, value] : model.params)
    parameters.push_back(type_json(name, value.type()));
  return Json{{"model", number},
              {"name", model.function.name()},
              {"inputs", std::move(inputs)},
              {"outputs", std::move(outputs)},
              {"parameters", std::move(parameters)},
              {"config", model.config},
              {"note", model.note},
              {"hash", hex(hash_of_model(model))}};
}

// A copy of elements that the page gave, [rows, ...] or of one example.
Tensor tensor_of(const std::string& what, const Type& one, std::optional<std::int64_t> rows,
                 std::span<const std::byte> bytes) {
  if (rows && *rows < 0)
    throw Error(ErrorCode::kShape, what + ": expected rows, got " + std::to_string(*rows));
  const Type type{one.dtype, rows ? one.shape.insert(0, *rows) : one.shape};
  const std::size_t size = size_of(type.dtype);
  if (static_cast<std::uint64_t>(type.shape.elements()) != bytes.size() / size ||
      bytes.size() % size != 0)
    throw Error(ErrorCode::kShape, what + ": expected " + std::to_string(type.shape.elements()) +
                                       " numbers for " + to_string(type) + ", got " +
                                       std::to_string(bytes.size() / size));
  if (type.dtype == Dtype::kBool && std::any_of(bytes.begin(), bytes.end(), [](std::byte b) {
        return std::to_integer<int>(b) > 1;
      }))
    throw Error(ErrorCode::kInvalidArgument, what + ": a bool must be 0 or 1");
  return Tensor::generate_bytes(
      type, [&](std::span<std::byte> out) { std::copy(bytes.begin(), bytes.end(), out.begin()); });
}

// The outputs for rows of inputs, which lie one after the other in the model's order.
std::vector<Tensor> run(Loaded& m, std::int64_t rows, std::span<const std::byte> bytes) {
  std::vector<Tensor> arguments;
  for (const Input& input : data_inputs(m.model)) {
    const auto size = static_cast<std::uint64_t>(input.type.shape.elements()) *
                      size_of(input.type.dtype) *
                      static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
    const auto part =
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes.size())));
    arguments.push_back(tensor_of("input " + in_quotes(input.name), input.type, rows, part));
    bytes = bytes.subspan(part.size());
  }
  if (!bytes.empty())
    throw Error(ErrorCode::kShape, "expected the inputs and nothing else, got " +
                                       std::to_string(bytes.size()) + " bytes more");
  if (!m.predictor) {
    const std::uint64_t fitting =
        kMaxExampleBytes / std::max<std::uint64_t>(1, example_bytes(m.model));
    m.predictor = std::make_unique<Predictor>(
        m.model.function, m.model.params,
        Predictor::Options{
            .most_rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, 256)});
  }
  return (*m.predictor)(arguments);
}

// ---- training

// Plans that a model keeps: those of a page's few batches and losses.
constexpr std::size_t kMostKept = 16;

// What the page may choose: {"loss", "label_smoothing", "delta", "optimizer", "rate", "frozen", and
// numbers of the optimiser}.
struct Choices {
  train::Loss loss;
  optim::Optimizer optimizer = optim::Sgd{};
  double rate = 0;
  std::vector<std::string> frozen;
  std::string loss_text, optimizer_text;  // what the choices say, for comparison
};

double number_of(const Json& json, std::string_view key) {
  const Json& value = json.at(key);
  if (!value.is_number())
    throw Error(ErrorCode::kInvalidArgument,
                std::string(key) + ": expected a number, got " + value.dump());
  return value.as_number();
}

Choices choices_of(const Json& json) {
  Choices choices;
  if (const Json* const loss = json.find("loss")) {
    choices.loss.kind = from_name<train::Loss::Kind>(loss->as_string());
  }
  if (json.contains("label_smoothing"))
    choices.loss.label_smoothing = number_of(json, "label_smoothing");
  if (json.contains("delta")) choices.loss.delta = number_of(json, "delta");
  if (const Json* const optimizer = json.find("optimizer"))
    choices.optimizer = optim::optimizer_from_name(optimizer->as_string());
  choices.rate =
      json.contains("rate") ? number_of(json, "rate") : optim::usual_rate(choices.optimizer);
  if (!std::isfinite(choices.rate))
    throw Error(ErrorCode::kInvalidArgument, "rate: expected a finite number");
  if (const Json* const frozen = json.find("frozen"))
    for (const Json& name : frozen->elements()) choices.frozen.push_back(name.as_string());
  for (const Json::Member& member : json.members()) {
    constexpr std::string_view kKnown[] = {"loss", "label_smoothing", "delta", "optimizer",
                                           "rate", "frozen"};
    if (std::find(std::begin(kKnown), std::end(kKnown), member.key) != std::end(kKnown)) continue;
    optim::set_number(choices.optimizer, member.key, number_of(json, member.key));
  }
  choices.loss_text = train::to_json(choices.loss).dump();
  for (const std::string& name : choices.frozen) choices.loss_text += " " + in_quotes(name);
  choices.optimizer_text = std::string(optim::name(choices.optimizer));
  for (const double number : choices.optimizer.values())
    choices.optimizer_text += " " + Json(number).dump();
  return choices;
}

// Values of batch norm and of standardisation, which no step changes.
bool is_constant(std::string_view name) {
  return is_standardization(name) || name.ends_with(".running_mean") ||
         name.ends_with(".running_var");
}

// One example, and its target, of a data set of none.
Dataset shapes_of(const Model& model, const train::Loss& loss) {
  const Input& input = data_input(model);
  const Type& output = model.function.type(model.function.outputs().front().value);
  Dataset data;
  const auto refuse = [&](const std::string& expected) {
    throw Error(ErrorCode::kShape, std::string("the loss ") + std::string(name(loss.kind)) +
                                       ": expected " + expected + ", got " + to_string(output));
  };
  Type target = output;
  if (loss.kind == train::Loss::Kind::kCrossEntropy) {
    if (output.shape.rank() < 1 || output.shape.rank() > 2 || output.dtype != Dtype::kF32)
      refuse("an output f32[classes] or f32[tokens, classes]");
    data.task = output.shape.rank() == 2 ? Task::kNextToken : Task::kClassification;
    data.classes = output.shape.back();
    target = {Dtype::kI32, output.shape.erase(output.shape.rank() - 1)};
  } else {
    if (output.dtype != Dtype::kF32 || output.shape.rank() < 1) refuse("an output of numbers, f32");
    data.task =
        loss.kind == train::Loss::Kind::kBinaryCrossEntropy ? Task::kMultiLabel : Task::kRegression;
  }
  data.inputs = Tensor::zeros({input.type.dtype, input.type.shape.insert(0, 1)});
  data.targets = Tensor::zeros({target.dtype, target.shape.insert(0, 1)});
  return data;
}

Prepared prepare(const Loaded& m, const Choices& choices) {
  Prepared p{{}, shapes_of(m.model, choices.loss)};
  train::CustomModel custom;
  custom.inference = m.model.function;
  custom.params = m.model.params;
  for (const auto& [name, value] : m.model.params) {
    const bool frozen =
        std::any_of(choices.frozen.begin(), choices.frozen.end(),
                    [&](const std::string& prefix) { return is_at_or_below(name, prefix); });
    if (frozen || is_constant(name) || value.dtype() != Dtype::kF32) custom.frozen.push_back(name);
  }
  for (const std::string& prefix : choices.frozen)
    if (std::none_of(m.model.params.begin(), m.model.params.end(),
                     [&](const auto& entry) { return is_at_or_below(entry.first, prefix); }))
      throw Error(ErrorCode::kNotFound, "frozen: there is no parameter " + in_quotes(prefix));
  if (custom.frozen.size() == custom.params.size())
    throw Error(ErrorCode::kInvalidArgument, "no parameter is left to train");
  p.problem = train::custom_problem(custom, p.shapes, choices.loss);
  return p;
}

const Prepared& prepared(Loaded& m, const Choices& choices) {
  const auto found = m.prepared.find(choices.loss_text);
  if (found != m.prepared.end()) return found->second;
  if (m.prepared.size() >= kMostKept) m.prepared.clear();
  return m.prepared.emplace(choices.loss_text, prepare(m, choices)).first->second;
}

// Refuses what would not fit into 4 GiB, of which a plan takes more than its values.
Executable compiled(const Function& f) {
  if (example_bytes({f, {}, ""}) > kMaxExampleBytes)
    throw Error(ErrorCode::kUnsupported, "the values of this batch take more than " +
                                             std::to_string(kMaxExampleBytes) +
                                             " bytes: expected fewer rows");
  return compile(f);
}

// The compiled Function of this name, made where it is not there yet.
template <class Make>
const Executable& compiled(Loaded& m, const std::string& what, const Make& make) {
  const auto found = m.compiled.find(what);
  if (found != m.compiled.end()) return found->second;
  if (m.compiled.size() >= kMostKept) m.compiled.clear();
  return m.compiled.emplace(what, compiled(make())).first->second;
}

// The inputs of the Function by name, from these groups of tensors.
std::vector<Tensor> arguments_of(const Executable& executable,
                                 std::initializer_list<const Params*> groups) {
  std::vector<Tensor> arguments;
  for (const Input& input : executable.inputs())
    for (const Params* group : groups)
      if (const Tensor* const value = group->find(input.name)) {
        arguments.push_back(*value);
        break;
      }
  return arguments;
}

// "x", "y" and a key that nothing draws from: there is no dropout.
Params batch_of(const Prepared& p, std::int64_t rows, std::span<const std::byte> x,
                std::span<const std::byte> y) {
  if (rows < 1)
    throw Error(ErrorCode::kShape, "expected 1 row or more, got " + std::to_string(rows));
  const Tensor targets = tensor_of("targets", p.problem.target, rows, y);
  if (p.shapes.has_classes())
    for (const std::int32_t target : targets.values<std::int32_t>())
      if (target < 0 || target >= p.shapes.classes)
        throw Error(ErrorCode::kInvalidArgument, "targets: expected classes from 0 to " +
                                                     std::to_string(p.shapes.classes - 1) +
                                                     ", got " + std::to_string(target));
  return {{"x", tensor_of("inputs", p.problem.example().type, rows, x)},
          {"y", targets},
          {"key", Tensor::from<std::int64_t>({}, {0})}};
}

// The batch first: the names of a model may be any.
Params without(const Params& params, const Params& others) {
  for (const auto& [name, value] : params)
    if (others.find(name))
      throw Error(ErrorCode::kUnsupported, "a parameter is called " + in_quotes(name) +
                                               ", as an input of a training step is");
  return params;
}

// {"names"}; the loss and the gradients of these parameters.
void gradient(Answer& answer, Loaded& m, const Json& json, std::int64_t rows,
              std::span<const std::byte> x, std::span<const std::byte> y) {
  const Choices choices = choices_of(json);
  const Prepared& p = prepared(m, choices);
  const Params batch = batch_of(p, rows, x, y);
  const Params params = without(m.model.params, batch);
  const std::vector<Input> trained = p.problem.parameters();
  const Executable& executable =
      compiled(m, "gradient " + std::to_string(rows) + " " + choices.loss_text, [&] {
        std::vector<std::size_t> wrt(trained.size());
        for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
        return value_and_grad(train::loss_function(p.problem, rows), wrt);
      });
  const std::vector<Tensor> results = executable(arguments_of(executable, {&batch, &params}));
  Json names = Json::array();
  for (const Input& input : trained) names.push_back(input.name);
  answer.text = Json{{"names", std::move(names)}}.dump();
  answer.tensors = {results.front()};
  answer.tensors.insert(answer.tensors.end(),
                        results.end() - static_cast<std::ptrdiff_t>(trained.size()), results.end());
}

// One step: {"steps"}; the loss and the norm of the gradients before it.
void train_step(Answer& answer, Loaded& m, const Json& json, std::int64_t rows,
                std::span<const std::byte> x, std::span<const std::byte> y) {
  const Choices choices = choices_of(json);
  const Prepared& p = prepared(m, choices);
  Params batch = batch_of(p, rows, x, y);
  batch.set("rate", Tensor::from<float>({}, {static_cast<float>(choices.rate)}));
  const Params params = without(m.model.params, batch);
  const std::string chosen = choices.optimizer_text + " " + choices.loss_text;
  const std::string what = "step " + std::to_string(rows) + " " + chosen;
  const Executable& executable = compiled(m, what, [&] {
    return train::step_function(p.problem, {choices.optimizer, {}}, rows);
  });
  if (m.optimizer != chosen) {
    Params trained;
    for (const Input& input : p.problem.parameters())
      trained.set(input.name, m.model.params.at(input.name));
    m.state = optim::init(choices.optimizer, trained);
    m.optimizer = chosen;
    m.steps = 0;
  }
  const std::vector<Tensor> results =
      executable(arguments_of(executable, {&batch, &m.state, &params}));
  std::size_t i = 0;
  for (const Input& input : p.problem.parameters()) m.model.params.set(input.name, results[i++]);
  i += p.problem.non_trainable.size();
  Params state;
  for (const auto& [name, value] : m.state) state.set(name, results[i++]);
  m.state = std::move(state);
  m.predictor = nullptr;
  ++m.steps;
  answer.text = Json{{"steps", m.steps}}.dump();
  answer.tensors = {results[i], results[i + 1]};
}

Json parsed(const void* json, std::size_t size) { return Json::parse(text_at(json, size)); }

// {"sizes": [784, 10], "activation", "norm", "init", "seed"}.
Model new_mlp(const Json& json) {
  nn::Mlp net;
  for (const Json& size : json.at("sizes").elements()) net.sizes.push_back(size.as_integer());
  if (const Json* const name = json.find("activation"))
    net.activation = nn::activation_from_name(name->as_string());
  if (const Json* const name = json.find("init")) net.init_name = name->as_string();
  const std::uint64_t seed = json.contains("seed") ? json.at("seed").as_unsigned() : 0;
  Model model{net.function(), net.init(Key(seed)), net.config()};
  check_model(model);
  return model;
}

}  // namespace

LIMPID_EXPORT(limpid_alloc) void* limpid_alloc(std::size_t bytes) { return std::malloc(bytes); }
LIMPID_EXPORT(limpid_free) void limpid_free(void* memory) { std::free(memory); }

LIMPID_EXPORT(limpid_text) const char* limpid_text() { return engine().answer.text.data(); }
LIMPID_EXPORT(limpid_text_size) std::size_t limpid_text_size() {
  return engine().answer.text.size();
}
LIMPID_EXPORT(limpid_tensor_data) const void* limpid_tensor_data(std::size_t i) {
  return engine().answer.tensors[i].bytes().data();
}
LIMPID_EXPORT(limpid_tensor_size) std::size_t limpid_tensor_size(std::size_t i) {
  return engine().answer.tensors[i].bytes().size();
}

// {"isa": "exact"}.
LIMPID_EXPORT(limpid_about) std::int32_t limpid_about() {
  return answer([](Answer& a) {
    a.text = Json{{"isa", kernels::name(kernels::default_isa())}}.dump();
  });
}

// A safetensors file of the library or an ONNX model, as describe() has it.
LIMPID_EXPORT(limpid_load) std::int32_t limpid_load(const void* data, std::size_t size) {
  return answer([&](Answer& a) {
    const std::span<const std::byte> bytes = bytes_at(data, size);
    // A safetensors file has the length of its header first, and then the header, a JSON object.
    const bool safetensors = size > 8 && bytes[8] == std::byte{'{'};
    const std::int32_t number =
        keep(safetensors ? parse_model(bytes, "bytes") : onnx::parse_onnx_model(bytes));
    a.text = describe(number, loaded(number).model).dump();
  });
}
LIMPID_EXPORT(limpid_mlp) std::int32_t limpid_mlp(const void* json, std::size_t size) {
  return answer([&](Answer& a) {
    const std::int32_t number = keep(new_mlp(parsed(json, size)));
    a.text = describe(number, loaded(number).model).dump();
  });
}
LIMPID_EXPORT(limpid_release) void limpid_release(std::int32_t model) {
  engine().models.erase(model);
}
LIMPID_EXPORT(limpid_describe) std::int32_t limpid_describe(std::int32_t model) {
  return answer([&](Answer& a) { a.text = describe(model, loaded(model).model).dump(); });
}
// The bytes of a safetensors file, as one tensor.
LIMPID_EXPORT(limpid_save) std::int32_t limpid_save(std::int32_t model) {
  return answer([&](Answer& a) {
    const std::vector<std::byte> bytes = serialize_model(loaded(model).model);
    a.tensors.push_back(Tensor::generate_bytes(
        {Dtype::kU8, {static_cast<std::int64_t>(bytes.size())}},
        [&](std::span<std::byte> out) { std::copy(bytes.begin(), bytes.end(), out.begin()); }));
  });
}
// All parameters, in the order of describe().
LIMPID_EXPORT(limpid_parameters) std::int32_t limpid_parameters(std::int32_t model) {
  return answer([&](Answer& a) {
    for (const auto& [name, value] : loaded(model).model.params) a.tensors.push_back(value);
  });
}

// {"hash"}: that of the outputs, as `limpid hash` prints it; and the outputs, [rows, ...] each.
LIMPID_EXPORT(limpid_run)
std::int32_t limpid_run(std::int32_t model, std::int32_t rows, const void* data, std::size_t size,
                        std::int32_t hashed) {
  return answer([&](Answer& a) {
    a.tensors = run(loaded(model), rows, bytes_at(data, size));
    if (hashed != 0) a.text = Json{{"hash", hex(hash_of_numbers(a.tensors))}}.dump();
  });
}

LIMPID_EXPORT(limpid_gradient)
std::int32_t limpid_gradient(std::int32_t model, const void* json, std::size_t json_size,
                             std::int32_t rows, const void* x, std::size_t x_size, const void* y,
                             std::size_t y_size) {
  return answer([&](Answer& a) {
    gradient(a, loaded(model), parsed(json, json_size), rows, bytes_at(x, x_size),
             bytes_at(y, y_size));
  });
}
LIMPID_EXPORT(limpid_train)
std::int32_t limpid_train(std::int32_t model, const void* json, std::size_t json_size,
                          std::int32_t rows, const void* x, std::size_t x_size, const void* y,
                          std::size_t y_size) {
  return answer([&](Answer& a) {
    train_step(a, loaded(model), parsed(json, json_size), rows, bytes_at(x, x_size),
               bytes_at(y, y_size));
  });
}

// The hashes of docs/hashes.md that this machine computes, as its table: of ops, their gradients
// and functions, or of networks.
LIMPID_EXPORT(limpid_hashes) std::int32_t limpid_hashes(std::int32_t of_networks) {
  return answer([&](Answer& a) {
    const kernels::Isa isa = kernels::default_isa();
    ThreadPool pool({.threads = 1});
    a.text = to_markdown(of_networks != 0 ? network_hashes(isa, pool) : op_hashes(isa));
  });
}

}  // namespace limpid::wasm
