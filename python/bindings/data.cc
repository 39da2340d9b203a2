// Data sets, files and models: limpid/data and limpid/formats, and what limpid/inspect says of a
// model. Depends on model.h.
#include <pybind11/stl.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <unordered_map>

#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/arrays.h"
#include "limpid/data/augment.h"
#include "limpid/data/batch_range.h"
#include "limpid/data/digits.h"
#include "limpid/data/load_data.h"
#include "limpid/data/synthetic.h"
#include "limpid/data/text/character_stream.h"
#include "limpid/data/text/tokenizer_files.h"
#include "limpid/formats/csv.h"
#include "limpid/formats/npy.h"
#include "limpid/formats/safetensors.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/gradcheck.h"
#include "limpid/inspect/neuron.h"
#include "limpid/inspect/summary.h"
#include "limpid/inspect/trace.h"
#include "limpid/models/generate.h"
#include "limpid/models/open_model.h"
#include "limpid/models/prompt.h"
#include "limpid/models/text_embedder.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/generation.h"
#include "limpid/nn/gpt.h"
#include "limpid/train/loop/metrics.h"
#include "lock.h"
#include "model.h"
#include "signals.h"
#ifdef LIMPID_PYTHON_ONNX
#include "limpid/formats/onnx/model_format.h"
#endif

namespace limpid::python {
namespace {

const ModelFormat* onnx_format() {
#ifdef LIMPID_PYTHON_ONNX
  return &onnx::model_format();
#else
  return nullptr;
#endif
}

py::dict summary_of(const Summary& s) {
  py::dict d;
  d["name"] = s.name;
  d["batch"] = s.batch;
  py::list rows;
  for (const SummaryRow& r : s.rows) {
    py::dict row;
    row["layer"] = r.layer;
    row["op"] = r.op;
    row["output"] = shape_tuple(r.output);
    row["parameters"] = r.parameters;
    row["multiply_adds"] = r.multiply_adds;
    rows.append(row);
  }
  d["rows"] = rows;
  d["parameters"] = s.parameters;
  d["trainable"] = s.trainable;
  d["statistics"] = s.statistics;
  d["multiply_adds"] = s.multiply_adds;
  d["parameter_bytes"] = s.parameter_bytes;
  d["forward_bytes"] = s.forward_bytes;
  d["text"] = to_text(s);
  return d;
}

py::dict trace_of(const Observation& run, const Params& params) {
  const std::vector<TraceRow> all = trace_rows(run, params);
  std::unordered_map<std::string, const Tensor*> arrays;
  for (std::size_t id = 0; id < run.values.size(); ++id)
    arrays.try_emplace(value_name(run.function, static_cast<ValueId>(id)), &run.values[id]);
  py::dict d;
  py::list rows;
  for (const TraceRow& r : all) {
    py::dict row;
    row["value"] = r.value;
    row["layer"] = r.layer;
    row["op"] = r.op;
    row["type"] = to_string(r.type);
    row["min"] = r.statistics.min;
    row["mean"] = r.statistics.mean;
    row["std"] = r.statistics.std;
    row["max"] = r.statistics.max;
    row["zero_share"] = r.statistics.zero_share;
    row["nans"] = r.statistics.nans;
    row["infs"] = r.statistics.infs;
    row["array"] = to_python(*arrays.at(r.value));
    rows.append(row);
  }
  d["rows"] = rows;
  d["text"] = to_text(all);
  return d;
}

Observation observed(const Function& f, const Params& inputs) {
  return interruptible_between(
      [&](const Observer& observer) { return observe(f, inputs, observer); });
}

// What a Function's inputs hold in one run: params, and data by name.
Params inputs_from(const py::object& params, const py::object& data) {
  Params all = params_from(params, "params");
  all.merge("", params_from(data, "an input"));
  return all;
}

py::dict result_of(const train::TestResult& r) {
  py::dict d, metrics;
  for (const auto& [name, value] : r.metrics) metrics[py::str(name)] = value;
  d["metrics"] = metrics;
  d["confusion"] = r.confusion;
  py::list classes;
  for (const train::ClassScores& c : r.per_class) {
    py::dict one;
    one["precision"] = c.precision;
    one["recall"] = c.recall;
    one["f1"] = c.f1;
    classes.append(one);
  }
  d["per_class"] = classes;
  py::list targets;
  for (const train::TargetScores& t : r.per_target) {
    py::dict one;
    one["rmse"] = t.rmse;
    one["mae"] = t.mae;
    one["r2"] = t.r2;
    targets.append(one);
  }
  d["per_target"] = targets;
  return d;
}

py::tuple parts_of(Split split) {
  return py::make_tuple(std::move(split.train), std::move(split.validation), std::move(split.test));
}

void add_models(py::module_& m) {
  py::class_<ModelObject>(
      m, "Model", py::is_final(),
      "A Function of one example with the parameters that it was trained to.\n\n"
      "``lp.load`` reads one; called on examples it gives its outputs.\n")
      .def(py::init([](const py::object& function, const py::object& params,
                       const std::string& config, const std::string& note) {
             Model model{function_of(function, "Model"), params_from(params, "params"), config,
                         note};
             try {
               check_model(model);
             } catch (const Error& e) {
               // It says this of a file, and here is none.
               if (e.code() != ErrorCode::kFormat) throw;
               throw Error(ErrorCode::kInvalidArgument, std::string("Model: ") + e.what());
             }
             return std::make_unique<ModelObject>(std::move(model));
           }),
           py::arg("function"), py::arg("params"), py::arg("config") = "", py::arg("note") = "")
      .def("__reduce__",
           [](const py::object& self) {
             const Model& model = py::cast<const ModelObject&>(self).model;
             return py::make_tuple(
                 py::type::of(self),
                 py::make_tuple(to_python(Function(model.function)), to_python(model.params),
                                model.config, model.note));
           })
      .def("_call",
           [](ModelObject& self, const py::object& x) {
             const Input input = data_inputs(self.model).front();
             const Leaf leaf = leaf_of(x, "a model");
             Tensor examples = tensor_of(leaf);
             const bool one = leaf.type == input.type;
             if (one) examples = examples.reshape(examples.shape().insert(0, 1));
             const std::shared_ptr<Predictor> predictor = self.predictor();
             std::vector<Tensor> results = interruptible([&](StopCheck& check) {
               return (*predictor)({&examples, 1}, check);
             });
             if (one)
               for (Tensor& t : results) t = t.reshape(t.shape().erase(0));
             return one_or_all(std::move(results));
           })
      .def("_call_named",
           [](ModelObject& self, const py::object& data) {
             return one_or_all(self.run(params_from(data, "a model")));
           })
      .def_property(
          "threads", [](const ModelObject& o) { return o.threads; },
          [](ModelObject& o, int threads) { o.use_threads(threads); },
          "That share the work of a call.")
      .def_property_readonly(
          "bytes", [](const ModelObject& o) { return o.bytes(); },
          "Bytes of packed weights and workspaces that calls have made so far.")
      .def_property_readonly(
          "function", [](const ModelObject& o) { return to_python(Function(o.model.function)); },
          "The Function of one example.")
      .def_property_readonly(
          "params", [](const ModelObject& o) { return to_python(o.model.params); },
          "Its parameters, by name.")
      .def_property_readonly(
          "config", [](const ModelObject& o) { return o.model.config; },
          "Hyper-parameters as JSON, or an empty text.")
      .def_property_readonly(
          "note", [](const ModelObject& o) { return o.model.note; },
          "What its reader could not keep or prove.")
      .def_property_readonly(
          "hash",
          [](const ModelObject& o) {
            return hex(unlocked([&] { return hash_of_model(o.model); }));
          },
          "Of the Function's text and the parameters, as `limpid hash` prints it.")
      .def_property_readonly(
          "inputs",
          [](const ModelObject& o) {
            py::list all;
            for (const Input& i : data_inputs(o.model))
              all.append(py::make_tuple(i.name, to_string(i.type)));
            return all;
          },
          "Names and types of what is no parameter, of one example.")
      .def("_save",
           [](const ModelObject& o, const py::object& path) {
             const std::string to = path_from(path);
             unlocked([&] { write_model(to, o.model, {.onnx = onnx_format()}); });
           })
      .def("_tokenizer", [](const ModelObject& o) { return tokenizer_of(o.model); })
      .def("_language_model",
           [](const ModelObject& o, std::int64_t sequences, std::int64_t capacity) {
             return std::make_unique<Writer>(unlocked([&] {
               return language_model_of(o.model, {.sequences = sequences, .capacity = capacity});
             }));
           })
      .def("_context", [](const ModelObject& o) -> py::object {
        const std::optional<nn::Gpt> net = gpt_of(o.model);
        return net ? py::object(py::int_(net->context)) : py::object(py::none());
      });
  m.def("open_model", [](const py::object& path, const std::map<std::string, std::int64_t>& sizes) {
    const std::string from = path_from(path);
    return std::make_unique<ModelObject>(
        unlocked([&] { return open_model(from, {.onnx = onnx_format(), .dimensions = sizes}); }));
  });
}

void add_files(py::module_& m) {
  m.def("load_npy", [](const py::object& path) {
    const std::string from = path_from(path);
    return to_python(unlocked([&] { return load_npy(from); }));
  });
  m.def("load_npz", [](const py::object& path) {
    const std::string from = path_from(path);
    return to_python(unlocked([&] { return load_npz(from); }));
  });
  m.def("save_npy", [](const py::object& path, const py::object& array) {
    const std::string to = path_from(path);
    const Tensor tensor = tensor_of(leaf_of(array, "save"));
    unlocked([&] { save_npy(to, tensor); });
  });
  m.def("save_npz", [](const py::object& path, const py::object& arrays) {
    const std::string to = path_from(path);
    const Params params = params_from(arrays, "save");
    unlocked([&] { save_npz(to, params); });
  });
  m.def("load_safetensors", [](const py::object& path) {
    const std::string from = path_from(path);
    const Safetensors content = unlocked([&] { return load_safetensors(from); });
    py::dict metadata;
    for (const auto& [key, value] : content.metadata) metadata[py::str(key)] = value;
    return py::make_tuple(to_python(content.tensors), metadata);
  });
  m.def("save_safetensors", [](const py::object& path, const py::object& arrays,
                               const std::map<std::string, std::string>& metadata) {
    const std::string to = path_from(path);
    Safetensors content{params_from(arrays, "save"), {}};
    for (const auto& [key, value] : metadata) content.metadata.emplace_back(key, value);
    unlocked([&] { save_safetensors(to, content); });
  });
}

// What draws tokens: a LanguageModel that one thread uses at a time, which is held against the
// others.
void add_language(py::module_& m) {
  py::class_<Tokenizer>(m, "Tokenizer", py::is_final(),
                        "A text as tokens, the numbers that a language model reads, and back.")
      .def(
          "encode",
          [](const Tokenizer& t, const std::string& text) { return to_python(t.encode(text)); },
          py::arg("text"), "The tokens of a text, i32 [n].")
      .def(
          "decode",
          [](const Tokenizer& t, const std::vector<std::int32_t>& tokens) {
            return py::bytes(t.decode(tokens));
          },
          py::arg("tokens"), "Back: bytes, of a single token perhaps a part of a character.")
      .def_static(
          "load",
          [](const py::object& path) {
            const std::string from = path_from(path);
            std::optional<Tokenizer> found = unlocked([&] { return load_tokenizer(from); });
            if (!found)
              throw Error(ErrorCode::kNotFound,
                          in_quotes(from) +
                              ": there is no tokenizer.json, no "
                              "tokenizer.model, and no vocab.json with merges.txt");
            return *found;
          },
          py::arg("folder"), "The tokenizer of a folder with tokenizer.json, or GPT-2's two files.")
      .def(
          "tokens",
          [](const Tokenizer& t, const std::string& text, bool special, bool whole) {
            const TextTokens all = unlocked([&] {
              return t.tokens(text, {.special = special, .whole = whole, .spans = true});
            });
            // Python counts characters.
            std::vector<std::size_t> characters(text.size() + 1);
            for (std::size_t i = 0; i < text.size(); ++i)
              characters[i + 1] =
                  characters[i] +
                  (i + 1 == text.size() || !continues_character(text[i + 1]) ? 1 : 0);
            std::vector<std::pair<std::size_t, std::size_t>> places;
            for (const TextTokens::Span& span : all.spans) {
              std::size_t end = span.end;
              while (end > span.begin && end < text.size() && continues_character(text[end])) ++end;
              places.emplace_back(characters[span.begin], characters[end]);
            }
            return std::pair(all.ids, places);
          },
          py::arg("text"), py::kw_only(), py::arg("special") = true, py::arg("whole") = true,
          "Numbers, and for each the characters [begin, end) of the text: two lists. With special, "
          "the text of a special token becomes it; with whole, BOS and the like are added.")
      .def(
          "encode_batch",
          [](const Tokenizer& t, const std::vector<std::string>& texts, bool special, bool whole) {
            return unlocked([&] {
              std::vector<std::vector<std::int32_t>> all;
              for (const std::string& text : texts)
                all.push_back(t.tokens(text, {.special = special, .whole = whole}).ids);
              return all;
            });
          },
          py::arg("texts"), py::kw_only(), py::arg("special") = true, py::arg("whole") = true,
          "The numbers of each text, as tokens().")
      .def(
          "text",
          [](const Tokenizer& t, const std::vector<std::int32_t>& tokens, bool skip_special) {
            return t.text(tokens, skip_special);
          },
          py::arg("tokens"), py::kw_only(), py::arg("skip_special") = false,
          "The text of a whole text's tokens.")
      .def_property_readonly(
          "ends",
          [](const Tokenizer& t) {
            std::vector<std::int32_t> ends = t.marks().more_ends;
            if (t.marks().end) ends.insert(ends.begin(), *t.marks().end);
            return ends;
          },
          "All tokens that end a text: a list.")
      .def_property_readonly("kind", [](const Tokenizer& t) { return std::string(t.kind()); })
      .def_property_readonly(
          "end", [](const Tokenizer& t) { return t.marks().end; },
          "The token after every text, if the model was trained with one.")
      .def("_prompt",
           [](const Tokenizer& t, const py::object& text) {
             return text.is_none() ? start_tokens(t)
                                   : prompt_tokens(t, py::cast<std::string>(text));
           })
      .def("__len__", method(&Tokenizer::size));
  py::class_<TextEmbedder>(m, "TextEmbedder", py::is_final())
      .def(py::init([](const ModelObject& o, int threads) {
        ThreadPool* const pool = pool_of(threads);
        return std::make_unique<TextEmbedder>(
            unlocked([&] { return TextEmbedder(o.model, {.pool = pool}); }));
      }))
      .def("tokens",
           [](const TextEmbedder& t, const std::string& text, bool truncate) {
             return unlocked([&] { return t.tokens(text, truncate); });
           })
      .def("of_texts",
           [](const TextEmbedder& t, const std::vector<std::string>& texts, bool truncate) {
             return to_python(unlocked([&] { return t(texts, truncate); }));
           })
      .def("of_tokens",
           [](const TextEmbedder& t, const std::vector<std::vector<std::int32_t>>& texts) {
             return to_python(unlocked([&] { return t(texts); }));
           })
      .def("of_pairs",
           [](const TextEmbedder& t, const std::string& query,
              const std::vector<std::string>& documents, bool truncate) {
             return to_python(unlocked([&] { return t(t.pairs(query, documents, truncate)); }));
           })
      .def_property_readonly("labels", &TextEmbedder::labels)
      .def_property_readonly("size", &TextEmbedder::size)
      .def_property_readonly("context", [](const TextEmbedder& t) { return t.net().context; });
  py::class_<CharacterStream>(m, "CharacterStream", py::is_final())
      .def(py::init<>())
      .def("take",
           [](CharacterStream& s, const py::bytes& bytes) { return s.take(std::string(bytes)); })
      .def("rest", method(&CharacterStream::rest));
  py::class_<Written>(m, "Written", py::is_final(), "A text that a language model goes on with.")
      .def("draw", [](Written& w) { return w.draw(); });
  py::class_<Joined>(m, "Joined", py::is_final(),
                     "A sequence of a language model, which it leaves when nobody holds it.")
      .def_property_readonly("tokens", method(&Joined::tokens),
                             "All tokens so far, those that no step has read yet included: a list.")
      .def_property_readonly("ready", method(&Joined::ready),
                             "Whether there are tokens, and steps have read them all.")
      .def_property_readonly(
          "logits", [](const Joined& j) { return to_python(j.logits()); },
          "Of what follows the last token, f32 [vocabulary]; where it is ready.")
      .def(
          "append", [](Joined& j, std::int32_t token) { j.append({token}); }, py::arg("tokens"),
          "The next step reads it.")
      .def("append", method(&Joined::append), py::arg("tokens"))
      .def("truncate", method(&Joined::truncate), py::arg("length"),
           "Keeps the first `length` tokens.");
  py::class_<Writer>(m, "Writer", py::is_final(), "A language model with its sequences.")
      .def("prepare", [](Writer& w) { w.prepare(); })
      .def("step", method(&Writer::step))
      .def("join", method(&Writer::join))
      .def_property_readonly("vocabulary", [](const Writer& w) { return w.model().vocabulary(); })
      .def_property_readonly("capacity", [](const Writer& w) { return w.model().capacity(); })
      .def_property_readonly("places", [](const Writer& w) { return w.model().places(); })
      .def("begin", method(&Writer::begin));
  const auto sizes = [](std::int64_t sequences, std::int64_t capacity) {
    return nn::LanguageModel::Options{.sequences = sequences, .capacity = capacity};
  };
  m.def("gpt_writer", [sizes](const std::string& config, const py::object& params,
                              std::int64_t sequences, std::int64_t capacity) {
    const Params p = params_from(params, "params");
    return std::make_unique<Writer>(unlocked([&] {
      return nn::LanguageModel(nn::Gpt::from_config(config), p, sizes(sequences, capacity));
    }));
  });
  m.def("recurrent_lm_writer", [sizes](const std::string& config, const py::object& params,
                                       std::int64_t sequences, std::int64_t capacity) {
    const Params p = params_from(params, "params");
    return std::make_unique<Writer>(unlocked([&] {
      return nn::LanguageModel(nn::RecurrentLm::from_config(config), p, sizes(sequences, capacity));
    }));
  });
  m.def("char_lm_writer", [sizes](const std::string& config, const py::object& params,
                                  std::int64_t sequences, std::int64_t capacity) {
    const Params p = params_from(params, "params");
    return std::make_unique<Writer>(unlocked([&] {
      return nn::LanguageModel(nn::CharLm::from_config(config), p, sizes(sequences, capacity));
    }));
  });
}

}  // namespace

std::string path_from(const py::object& path) {
  std::string bytes = py::cast<std::string>(py::module_::import("os").attr("fsencode")(path));
  if (bytes.find('\0') != std::string::npos)
    throw py::value_error("a path has no null character in it, and this one does");
  return bytes;
}

std::shared_ptr<Predictor> ModelObject::predictor(const std::vector<std::string>& shared) {
  const auto found = predictors_.find(shared);
  if (found != predictors_.end()) return found->second;
  Predictor::Options options;
  options.pool = pool_of(threads);
  options.shared = shared;
  // As predict() bounds the memory of a run.
  options.most_rows = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kMaxExampleBytes /
                                std::max<std::uint64_t>(1, example_bytes(model))),
      1, options.most_rows);
  const auto made =
      unlocked([&] { return std::make_shared<Predictor>(model.function, model.params, options); });
  // Each predictor has its own packed weights, so only a few are kept.
  constexpr std::size_t kMost = 8;
  if (predictors_.size() >= kMost) predictors_.clear();
  return predictors_[shared] = made;
}

std::shared_ptr<Plan> ModelObject::plan() {
  if (!plan_) {
    const Function function = unlocked([&] { return bound(model); });
    plan_ = std::make_shared<Plan>(function, threads);
  }
  return plan_;
}

std::vector<Tensor> ModelObject::run(const Params& inputs) {
  const std::vector<Input> wanted = data_inputs(model);
  std::vector<Tensor> arguments;
  std::vector<std::string> shared;
  for (const Input& input : wanted) {
    const Tensor* const tensor = inputs.find(input.name);
    if (!tensor) break;
    arguments.push_back(*tensor);
    if (tensor->type() == input.type) shared.push_back(input.name);
  }
  if (arguments.size() != wanted.size() || inputs.size() != wanted.size())
    return predict(model, inputs);  // throws: it names what is missing or unknown
  if (shared.size() < wanted.size()) {
    const std::shared_ptr<Predictor> predictor = this->predictor(shared);
    return interruptible([&](StopCheck& check) { return (*predictor)(arguments, check); });
  }
  std::vector<const void*> pointers;
  for (const Tensor& argument : arguments) pointers.push_back(argument.bytes().data());
  return plan()->run(pointers);
}

void ModelObject::use_threads(int count) {
  static_cast<void>(pool_of(count));
  if (count == threads) return;
  threads = count;
  predictors_.clear();
  plan_.reset();
}

std::size_t ModelObject::bytes() const {
  std::size_t all = plan_ ? plan_->executable().workspace_bytes() : 0;
  for (const auto& [shared, predictor] : predictors_) all += predictor->bytes();
  return all;
}

Writer::Writer(nn::LanguageModel model) : state_(std::make_shared<State>(std::move(model))) {}

void Writer::prepare() {
  const Use use(*state_);
  unlocked([&] { state_->model.prepare(); });
}

std::unique_ptr<Written> Writer::begin(const std::vector<std::int32_t>& prompt, double temperature,
                                       std::int64_t top_k, double top_p, const Key& key,
                                       std::int64_t vocabulary) {
  const Use use(*state_);
  return std::make_unique<Written>(
      state_, nn::Generation(
                  state_->model, prompt,
                  {.sampling = {temperature, top_k, top_p}, .key = key, .vocabulary = vocabulary}));
}

std::int32_t Written::draw() {
  const Writer::Use use(*state_);
  return interruptible([&](StopCheck& check) -> std::optional<std::int32_t> {
    while (!sequence_->ready()) {
      const StopScope whole(nullptr);
      state_->model.step();
      if (check.stops()) return std::nullopt;
    }
    return sequence_->draw();
  });
}

void Writer::step() {
  const Use use(*state_);
  const Unlocked release;
  state_->model.step();
}

std::unique_ptr<Joined> Writer::join(const std::vector<std::int32_t>& tokens) {
  const Use use(*state_);
  return std::make_unique<Joined>(state_, state_->model.join(tokens));
}

std::vector<std::int32_t> Joined::tokens() const {
  const Writer::Use use(*state_);
  const std::span<const std::int32_t> all = sequence_->tokens();
  return {all.begin(), all.end()};
}
bool Joined::ready() const {
  const Writer::Use use(*state_);
  return sequence_->ready();
}
void Joined::append(const std::vector<std::int32_t>& tokens) {
  const Writer::Use use(*state_);
  sequence_->append(tokens);
}
void Joined::truncate(std::int64_t length) {
  const Writer::Use use(*state_);
  sequence_->truncate(length);
}
Tensor Joined::logits() const {
  const Writer::Use use(*state_);
  const std::span<const float> all = sequence_->logits();
  return Tensor::from({static_cast<std::int64_t>(all.size())}, all);
}

Writer::Use::Use(State& state, Busy busy) : state_(state) {
  while (state_.used.exchange(true)) {
    if (busy == Busy::kThrow)
      throw py::value_error(
          "a language model is used by one thread at a time; another one is at it");
    const Unlocked release;
    std::this_thread::yield();
  }
  state_.user = std::this_thread::get_id();
}
Writer::Use::~Use() {
  state_.ended.clear();
  state_.user = std::thread::id();
  state_.used = false;
}

void add_data(py::module_& m) {
  py::class_<Dataset>(m, "Dataset", py::is_final(), "Examples with their targets in memory.")
      .def(made_by<Dataset>("Dataset", "lp.data.from_arrays and lp.data.load make one"))
      .def_property_readonly(
          "inputs",
          [](const Dataset& d) {
            return to_python(d.windows ? d.inputs_of(0, d.size()) : d.inputs);
          },
          "[N, ...]; of a text every window.")
      .def_property_readonly(
          "targets",
          [](const Dataset& d) {
            return to_python(d.windows ? d.targets_of(0, d.size()) : d.targets);
          },
          "[N], or [N, outputs].")
      .def_readonly("classes", &Dataset::classes, "How many classes or tokens there are.")
      .def_readonly("name", &Dataset::name)
      .def_property_readonly(
          "task", [](const Dataset& d) { return std::string(name(d.task)); },
          "'classification', 'multilabel', 'regression' or 'next_token'.")
      .def_property_readonly("feature_names", [](const Dataset& d) { return d.feature_names; })
      .def_property_readonly("class_names", [](const Dataset& d) { return d.class_names; })
      .def(
          "rows",
          [](const Dataset& d, std::int64_t first, std::int64_t count) {
            return d.rows(first, count);
          },
          py::arg("first"), py::arg("count"), "These examples, and everything else of the data.")
      .def("__len__", method(&Dataset::size))
      .def("__repr__",
           [](const Dataset& d) {
             return "limpid.data.Dataset(" + d.name + ": " + std::to_string(d.size()) + " of " +
                    std::string(name(d.task)) + ")";
           })
      .def("_batch_rows",
           [](const Dataset& d, std::int64_t size, bool shuffle, bool keep_partial, const Key& key,
              std::int64_t epoch) {
             return Batches(d.size(), {size, shuffle, keep_partial}, key, epoch);
           })
      .def("_batch", [](const Dataset& d, const Batches& batches, std::int64_t i) {
        const std::span<const std::int32_t> rows = batches[i];
        if (d.windows)
          throw Error(ErrorCode::kUnsupported,
                      "batches: the windows of a text are not rows; train.Run trains on them");
        std::pair<Tensor, Tensor> batch = unlocked([&] {
          return std::pair{gather_rows(d.inputs, rows), gather_rows(d.targets, rows)};
        });
        return py::make_tuple(to_python(std::move(batch.first)),
                              to_python(std::move(batch.second)));
      });
  py::class_<Batches>(m, "Batches", py::is_final()).def("__len__", method(&Batches::size));
  m.def("load_data", [](const std::string& spec) {
    return parts_of(interruptible_between([&](const std::function<void()>& between) {
      return load_data(spec, {.between = between});
    }));
  });
  m.def(
      "digits",
      [](const Key& key, std::int64_t count) {
        return interruptible_between(
            [&](const std::function<void()>& between) { return digits(key, count, between); });
      },
      py::arg("key"), py::arg("count"));
  m.def("synthetic", [](const std::string& name, const Key& key, std::optional<std::int64_t> count,
                        std::optional<double> noise) {
    return unlocked([&] { return synthetic(name, key, {.count = count, .noise = noise}); });
  });
  m.def("synthetic_names", [] {
    py::list all;
    for (const std::string_view name : synthetic_names()) all.append(std::string(name));
    return all;
  });
  m.def("from_arrays", [](const py::object& arrays, const std::string& name,
                          const std::optional<std::string>& task) {
    const Params params = params_from(arrays, "from_arrays");
    std::optional<Task> wanted;
    if (task) {
      for (const Task t : {Task::kClassification, Task::kMultiLabel, Task::kRegression})
        if (limpid::name(t) == *task) wanted = t;
      if (!wanted)
        throw py::value_error("task: expected classification, multilabel or regression, not '" +
                              *task + "'");
    }
    return parts_of(unlocked([&] { return arrays_split(params, name, wanted); }));
  });
  m.def("metrics_of", [](const std::string& task, const py::object& outputs,
                         const py::object& targets) {
    const Tensor o = tensor_of(leaf_of(outputs, "outputs")),
                 t = tensor_of(leaf_of(targets, "targets"));
    for (const Task one :
         {Task::kClassification, Task::kMultiLabel, Task::kRegression, Task::kNextToken})
      if (limpid::name(one) == task) return result_of(train::metrics_of(one, o, t));
    throw py::value_error(
        "task: expected classification, multilabel, regression or next_token, not '" + task + "'");
  });
  m.def("augment", [](const py::object& images, const std::string& steps, const Key& key) {
    const Augmentation augmentation = parse_augmentation(steps);
    const Tensor pictures = tensor_of(leaf_of(images, "augment"));
    return to_python(interruptible_between([&](const std::function<void()>& between) {
      return augment(augmentation, pictures, key, between);
    }));
  });
  m.def("permutation", [](const Key& key, std::int64_t n) {
    const std::vector<std::int32_t> order = permutation(key, n);
    return to_python(Tensor::from<std::int32_t>({n}, order));
  });
}

void add_formats(py::module_& m) {
  add_models(m);
  add_files(m);
  add_language(m);
}

void add_inspection(py::module_& m) {
  // Of several arrays that of their hashes, as docs/hashes.md has it.
  m.def("hash_of", [](const py::sequence& arrays) {
    std::vector<Tensor> tensors;
    for (const py::object& a : items_of(arrays))
      tensors.push_back(tensor_of(leaf_of(a, "hash_of")));
    return hex(hash_of_numbers(tensors));
  });
  m.def("summarize", [](const py::object& function, const py::object& params, std::int64_t batch) {
    return summary_of(
        summarize(function_of(function, "summary"), params_from(params, "params"), batch));
  });
  m.def("trace_rows",
        [](const py::object& function, const py::object& params, const py::object& data) {
          const Function& f = function_of(function, "trace");
          const Params p = params_from(params, "params"), all = inputs_from(params, data);
          const Observation run = observed(f, all);
          return trace_of(run, p);
        });
  m.def("neuron", [](const py::object& function, const py::object& params, const py::object& data,
                     const std::string& layer, std::int64_t index, std::int64_t row) {
    const Function& f = function_of(function, "neuron");
    const Params all = inputs_from(params, data);
    const Neuron n = explain_neuron(observed(f, all), layer, index, row);
    py::dict d;
    d["layer"] = n.layer;
    d["index"] = n.index;
    py::list terms;
    for (const Neuron::Term& t : n.terms) terms.append(py::make_tuple(t.index, t.weight, t.input));
    d["terms"] = terms;
    d["bias"] = n.bias;
    d["z"] = n.z;
    d["activation"] = n.activation;
    d["activated"] = n.activated;
    d["text"] = to_text(n);
    return d;
  });
  m.def("gradcheck", [](const py::object& function, const py::object& inputs, const Key& key) {
    const Function& f = function_of(function, "gradcheck");
    const Params all = params_from(inputs, "an input");
    const auto rows = interruptible_between([&](const std::function<void()>& between) {
      return gradcheck(f, all, key, {.between = between});
    });
    py::list list;
    for (const GradcheckRow& r : rows)
      list.append(py::make_tuple(r.name, r.relative_error, r.agrees));
    return py::make_tuple(list, to_text(rows));
  });
}

}  // namespace limpid::python
