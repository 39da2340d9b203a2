#include "tests/hosts/everything.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "limpid/core/half.h"
#include "limpid/core/json.h"
#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"
#include "limpid/data/arrays.h"
#include "limpid/distribute/reduction.h"
#include "limpid/emit/emit.h"
#include "limpid/inspect/gradcheck.h"
#include "limpid/inspect/neuron.h"
#include "limpid/limpid.h"
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/train/diagnostics/ngram.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/transforms/widen.h"
#include "tests/formats/helpers.h"

namespace limpid::hosts {
namespace {

std::string bytes_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size()};
}

std::string bytes_of(double number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string bytes_of(const Params& params) {
  std::string all;
  for (const auto& [name, tensor] : params) all += name + bytes_of(tensor);
  return all;
}

std::string bytes_of(const train::Numbers& numbers) {
  std::string all;
  for (const auto& [name, number] : numbers) all += name + bytes_of(number);
  return all;
}

std::string bytes_of(const Split& split) {
  std::string all;
  for (const Dataset* part : {&split.train, &split.validation, &split.test})
    all += bytes_of(part->inputs) + bytes_of(part->targets);
  return all;
}

// Numbers between two neighbours in f32, of which every other one is rounded up, and very small
// ones.
std::vector<double> awkward_numbers() {
  std::vector<double> all{0.1, 0.3, 1e-20, 1.7, 1e-310, 1e-42, 2e-38, 5e-324, 1e22};
  for (int i = 0; i < 40; ++i) all.push_back(std::ldexp(1.0 + 0x1p-24 * i + 0x1p-30, -100 + 5 * i));
  return all;
}

// Of numbers that are beyond f32's precision: converted at once, and whenever a row is read; and
// why one that is not zero is no label.
void add_arrays(Parts& parts) {
  const std::vector<double> numbers = awkward_numbers();
  const auto rows = static_cast<std::int64_t>(numbers.size());
  const Tensor x = Tensor::from<double>({rows, 1}, numbers);
  for (const Arrays memory : {Arrays::kMayChange, Arrays::kConstant})
    parts.emplace_back("arrays", bytes_of(arrays_split({{"x", x}, {"y", x}}, "arrays", {},
                                                       Targets::kRequired, memory)));
  const std::vector<double> small(numbers.size(), 1e-310);
  try {
    arrays_split({{"x", x}, {"y", Tensor::from({rows}, small)}}, "arrays", Task::kClassification);
    parts.emplace_back("labels", "accepted");
  } catch (const Error& error) {
    parts.emplace_back("labels", error.what());
  }
}

// A table with a hole, which is filled with a mean; pixels, which are divided.
void add_files(Parts& parts) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.csv", testing::bytes_of("x,y\n0.1,1\n,2\n0.7,3.3\n1.3,4.1\n"));
  parts.emplace_back("a table", bytes_of(load_table(folder / "t.csv",
                                                    {.targets = {"y"}, .missing = Missing::kImpute},
                                                    SplitRatio{1, 0, 0}, Key(0))));
  std::string pixels;
  for (int byte = 0; byte < 256; ++byte) pixels.push_back(static_cast<char>(byte));
  using namespace std::string_literals;
  for (const std::string part : {"train", "t10k"}) {
    testing::write(folder / (part + "-images-idx3-ubyte"),
                   testing::bytes_of("\0\0\x08\3\0\0\0\1\0\0\0\x10\0\0\0\x10"s + pixels));
    testing::write(folder / (part + "-labels-idx1-ubyte"),
                   testing::bytes_of("\0\0\x08\1\0\0\0\1\0"s));
  }
  parts.emplace_back("pixels", bytes_of(load_idx_folder(folder.path())));
}

}  // namespace

Parts data() {
  Parts parts{{"digits", bytes_of(digits(Key(1), 20).inputs)}};
  for (const std::string_view name : synthetic_names())
    parts.emplace_back(name, bytes_of(synthetic_split(name, 3, {.count = 60, .noise = 0.1})));
  for (const std::string_view spec :
       {"digits,count=60,standardize=zscore", "moons,count=60,standardize=minmax"}) {
    const Split split = load_data(spec);
    const Scaling scaling = scaling_of(parse_data_spec(spec));
    parts.emplace_back(spec,
                       bytes_of(standardize(split, fit_standardization(split.train, scaling))));
  }
  add_arrays(parts);
  add_files(parts);
  return parts;
}

Parts models() {
  Parts parts;
  for (const std::string& name : nn::init_names())
    parts.emplace_back("init " + name,
                       bytes_of(nn::init_from_name(name, 1.4)(Key(2), Shape{7, 11})));
  const auto net = nn::mlp({5, 7, 3}, gelu, 0.3);
  const Params params = net.init(Key(0));
  parts.emplace_back("mlp", bytes_of(params));
  auto loss = [&](const Args& p, Value x, Value y, Value key) {
    return mean(softmax_cross_entropy(net(p, x, key) * 0.1, y)) / 3.0;
  };
  std::vector<Input> inputs;
  for (const auto& [name, p] : params) inputs.push_back({name, p.type()});
  for (const std::string& name : optim::optimizer_names()) {
    const Function step = optim::update_function(optim::optimizer_from_name(name), inputs);
    parts.emplace_back("text of " + name, to_text(step));
    parts.emplace_back("header of " + name, emit_cpp(step));
  }
  const Tensor x = synthetic("moons", Key(3), {.count = 4}).inputs.reshape({8, 1});
  const Tensor wide = Tensor::generate<float>({4, 5}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(5).uniform(i);
  });
  const Tensor y = Tensor::from<std::int32_t>({4}, {0, 1, 2, 1});
  auto step = compile(optim::step(loss, optim::AdamW{.weight_decay = 0.013}, {.norm = 0.7}));
  Params now = params, state = optim::AdamW{}.init(params);
  Tensor value;
  for (int i = 0; i < 5; ++i)
    std::tie(now, state, value) = step(now, state, 0.0123, wide, y, Key(9));
  parts.emplace_back("steps of AdamW", bytes_of(now) + bytes_of(state) + bytes_of(value));
  for (const std::string& name : all_names<optim::Schedule::Kind>()) {
    const optim::Schedule schedule{from_name<optim::Schedule::Kind>(name), 0.3, 100, 7, 3, 0.7};
    std::string rates;
    for (int i = 0; i <= 100; ++i) rates += bytes_of(schedule.at(i));
    parts.emplace_back("schedule " + name, rates);
  }
  const nn::Gpt gpt{.vocabulary = 13,
                    .context = 8,
                    .layers = 1,
                    .width = 16,
                    .heads = 2,
                    .positions = nn::GptPositions::kRotary};
  const Params weights = gpt.init(Key(4));
  parts.emplace_back("gpt", to_text(gpt.function()) + bytes_of(weights));
  const std::vector<float> frequencies = nn::rotary_frequencies(64, 10'000, nn::RotaryScaling{});
  parts.emplace_back(
      "rotary frequencies",
      bytes_of(Tensor::from({static_cast<std::int64_t>(frequencies.size())}, frequencies)));
  for (const Dtype to : {Dtype::kI8, Dtype::kBf16}) {
    const Quantized quantized = quantize(gpt.function(), weights, {.to = to});
    parts.emplace_back(std::string("quantized to ") + std::string(name(to)),
                       to_text(quantized.function) + bytes_of(quantized.params));
  }
  std::string drawn;
  for (const double temperature : {0.3, 0.7, 1.1})
    for (const nn::Choice& choice :
         nn::choices(wide.values<float>(), {.temperature = temperature, .top_p = 0.77}))
      drawn += bytes_of(choice.weight) + std::to_string(choice.token);
  parts.emplace_back("choices", drawn);
  return parts;
}

Parts numbers() {
  Parts parts;
  std::string text, short_text, exact, halves, printed, csv = "x\n", function = "function f() {\n";
  Json json = Json::array();
  std::vector<float> narrow;
  for (const double number : awkward_numbers()) {
    const auto f32 = std::bit_cast<float>(
        static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(number) >> 29));
    short_text += short_number(number) + " ";
    exact += exact_number(number, Dtype::kF64) + " " + exact_number(number, Dtype::kF32) + " ";
    halves += std::to_string(to_bf16(number).bits) + " " + std::to_string(to_f16(number).bits) +
              " " + std::to_string(to_f16(static_cast<float>(f32)).bits) + " ";
    json.push_back(number);
    narrow.push_back(f32);
  }
  for (const float number : {0.1f, 0.3f, -1.7f, 0.0123f, 123.456f})
    printed += bytes_of(as_printed(number));
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const F16 half{static_cast<std::uint16_t>(i * 31)};
    halves += std::to_string(std::bit_cast<std::uint32_t>(to_f32(half))) + " " +
              std::to_string(to_f16(std::bit_cast<float>(i * 1'000'003u)).bits) + " ";
    const Bf16 other{half.bits};
    if (std::isfinite(to_f32(half))) printed += bytes_of(as_printed(half));
    if (std::isfinite(to_f32(other))) printed += bytes_of(as_printed(other));
  }
  parts.insert(parts.end(), {{"short numbers", short_text},
                             {"exact numbers", exact},
                             {"halves", halves},
                             {"as printed", printed},
                             {"JSON", json.dump()}});
  constexpr const char* kTexts[] = {"0.1",     "1.7e-3",     "3.3333333333333333",
                                    "1e-45",   "16777217.0", "-2e-40",
                                    "123.456", "8.9e-308",   "1e-320"};
  std::string list;
  for (const char* one : kTexts) {
    csv += std::string(one) + "\n";
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  std::string read;
  const CsvTable table = parse_csv(csv, "a text");
  for (const float number : table.columns.at(0).numbers)
    read += bytes_of(
        std::bit_cast<double>(static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(number))));
  parts.emplace_back("CSV", read);
  read.clear();
  const Json parsed = Json::parse("[" + list + "]");
  for (const Json& number : parsed.elements()) read += bytes_of(number.as_number());
  parts.emplace_back("JSON read", read);
  const Tensor t = Tensor::from<float>({static_cast<std::int64_t>(narrow.size())}, narrow);
  parts.emplace_back("widened", bytes_of(widen(t)));
  parts.emplace_back("an edit",
                     bytes_of(std::get<Edit::Set>(parse_edit("%x = 0.3").change).number));
  parts.emplace_back("text of a tensor", to_text(t));
  const Function f = trace("f", {{"x", t.type()}}, [&](std::span<const Value> in) {
    return std::vector<Value>{in[0] * constant(in[0].builder(), t)};
  });
  parts.emplace_back("text of a Function", to_text(f));
  parts.emplace_back("a Function read", to_text(parse_function(to_text(f))));
  parts.emplace_back("header", emit_cpp(f));
  std::string numbers;
  for (const double number : to_doubles(t)) numbers += bytes_of(number);
  const Statistics s = statistics(t);
  for (const double number : {s.min, s.mean, s.std, s.max, s.zero_share})
    numbers += bytes_of(number);
  parts.emplace_back("statistics", numbers);
  train::TrainConfig config;
  for (const train::ConfigKey& key : train::config_keys())
    if (key.flag == "--lr") train::set_from_text(config, key, "0.00123");
  parts.emplace_back("configuration", to_text(train::parse_train_config(to_text(config), "text")));
  return parts;
}

Parts training() {
  Parts parts;
  for (const std::string_view data : {"moons,count=60,split=3/1", "sine,count=60,split=3/1"}) {
    train::TrainConfig config;
    config.data = data;
    config.hidden = {5};
    config.epochs = 3;
    config.batch = 16;
    config.dropout = 0.1;
    config.optimizer = "adamw";
    train::Run run(config);
    run.train();
    parts.emplace_back("run on " + std::string(data), bytes_of(run.model().params));
    std::string log;
    for (const train::StepEvent& step : run.log().steps)
      log += bytes_of(step.loss) + bytes_of(step.learning_rate) + bytes_of(step.gradient_norm);
    for (const train::EpochEvent& epoch : run.log().epochs)
      log += bytes_of(epoch.train) + bytes_of(epoch.validation);
    parts.emplace_back("log of " + std::string(data), log);
    parts.emplace_back("configuration for " + std::string(data), to_text(run.config()));
    std::string findings;
    for (const train::Finding& finding : train::diagnose(run.log()))
      findings += finding.rule + finding.symptom + "\n";
    parts.emplace_back("findings on " + std::string(data), findings);
  }
  const Tensor logits = Tensor::generate<float>({30, 3}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 4 * Key(7).uniform(i) - 1;
  });
  const Tensor labels = Tensor::generate<std::int32_t>({30}, [&](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int32_t>(Key(8).below(3, i));
  });
  const Tensor other = Tensor::generate<float>({30, 3}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(6).uniform(i);
  });
  parts.insert(parts.end(),
               {{"classification", bytes_of(train::classification_metrics(logits, labels).metrics)},
                {"regression", bytes_of(train::regression_metrics(logits, other).metrics)},
                {"several labels", bytes_of(train::multilabel_metrics(logits, other).metrics)},
                {"next token", bytes_of(train::next_token_metrics(logits, labels).metrics)}});
  const Function f = trace("f", {{"x", {Dtype::kF32, {5}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{mean(exp(in[0]) * in[0])};
  });
  Params inputs;
  inputs.set("x", Tensor::from<float>({5}, {0.1f, 0.2f, 0.3f, -0.4f, 0.7f}));
  std::string errors;
  for (const GradcheckRow& row : gradcheck(f, inputs, Key(0)))
    errors += bytes_of(row.absolute_error) + bytes_of(row.relative_error);
  parts.emplace_back("gradient check", errors);
  const Function layer =
      trace("layer", {{"x", {Dtype::kF32, {1, 2}}}, {"w", {Dtype::kF32, {1, 2}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[0], in[1])}; });
  const Tensor small = Tensor::from<float>({1, 2}, {1e-40f, 0.3f});
  const Neuron neuron = explain_neuron(observe(layer, {{"x", small}, {"w", small}}), "%0", 0);
  std::string terms = bytes_of(neuron.z);
  for (const Neuron::Term& term : neuron.terms)
    terms += bytes_of(term.weight) + bytes_of(term.input);
  parts.emplace_back("a neuron", terms);
  return parts;
}

// The parts of a run, by themselves.
Parts parts_of_a_run() {
  train::TrainConfig config;
  config.data = "sine,count=60,split=3/1";
  config.hidden = {5};
  config.epochs = 2;
  config.batch = 15;
  config.shards = 3;
  config.clip_norm = 0.1;
  const train::RunSetup setup(config, train::load_data(config));
  train::Trainer trainer(setup.problem, setup.data, train::options_of(setup.config, setup.data));
  std::string steps = std::to_string(trainer.hash_of_shard(1));
  while (trainer.ending() == train::Ending::kNone) {
    const train::StepResult result = trainer.step();
    steps += bytes_of(result.step.loss) + bytes_of(result.step.gradient_norm);
    if (result.epoch) steps += bytes_of(result.epoch->train) + bytes_of(result.epoch->validation);
  }
  Parts parts{{"steps by hand", steps + bytes_of(trainer.model())}};
  train::Evaluator evaluate(setup.problem, setup.data.validation);
  parts.emplace_back("scores", bytes_of(evaluate(trainer.model()).metrics));

  const Tensor text = Tensor::generate<std::int32_t>({200}, [](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int32_t>(Key(5).below(3, i));
  });
  const train::NGram ngram(text, 3, 2);
  std::string scores = bytes_of(ngram.loss(text, 1));
  for (const std::int32_t before : {0, 1, 2})
    scores += bytes_of(ngram.probability({&before, 1}, 0));
  parts.emplace_back("n-grams", scores);

  // Numbers that any mode leaves alone. Their sums are rounded, or subnormal.
  constexpr std::size_t kElements = 45;
  distribute::Reduction sum(nullptr, {5, {{0, kElements}}, kElements, 0});
  sum.begin();
  for (int shard = 0; shard < 5; ++shard) {
    float* const values = sum.take();
    for (std::size_t i = 0; i < kElements; ++i) {
      const auto part = static_cast<float>(Key(static_cast<std::uint64_t>(shard)).below(1024, i));
      values[i] = std::ldexp(shard % 2 == 0 ? 1024 + part : -1024 - part,
                             -136 + (static_cast<int>(i) + 1) / 2 * shard);
    }
    sum.add(shard, values);
  }
  parts.emplace_back(
      "a sum over shards",
      std::string(reinterpret_cast<const char*>(sum.finish().part), kElements * sizeof(float)));
  return parts;
}

Parts everything() {
  Parts all;
  for (const Parts& some : {data(), models(), numbers(), training(), parts_of_a_run()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace limpid::hosts
