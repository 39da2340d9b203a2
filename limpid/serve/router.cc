#include "limpid/serve/router.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/inspect/neuron.h"
#include "limpid/serve/completions.h"
#include "limpid/serve/embeddings.h"
#include "limpid/serve/infer_v2.h"
#include "limpid/serve/rank.h"

namespace limpid::serve {
namespace {

using Path = std::span<const std::string>;

Response json_response(const Json& json) { return {.body = json.dump({.replace_invalid = true})}; }

[[noreturn]] void not_found() { throw HttpError(404, "there is no such resource"); }

// GET includes HEAD.
void expect_method(const Request& request, std::string_view method) {
  if (request.method == method || (method == "GET" && request.method == "HEAD")) return;
  throw HttpError(405, fmt::format("expected the method {}", method),
                  {{"Allow", method == "GET" ? "GET, HEAD" : std::string(method)}});
}

bool is(Path path, std::initializer_list<std::string_view> names) {
  return path.size() == names.size() && std::equal(path.begin(), path.end(), names.begin());
}

// Sends what `make` returns, or its exception as an error response. If there is no memory for the
// error, destroying the answer closes the connection.
template <typename Make>
void send_from(const std::shared_ptr<Answer>& answer, const Make& make) noexcept {
  try {
    try {
      answer->send(make());
    } catch (...) {
      answer->send(error_response(to_http_error(std::current_exception())));
    }
  } catch (...) {
  }
}

void name_model(Ticket& ticket, const std::shared_ptr<const ServedModel>& model) {
  ticket.set_model({model, &model->signature.name});
}

// The body of a request for the index: nothing, or {"ready": true}.
bool asks_for_ready_models(const std::string& body) {
  if (body.empty()) return false;
  const Json request = Json::parse(body);
  const std::optional<JsonView> ready = JsonView(request, "").find("ready");
  return ready && ready->as_bool();
}

std::int64_t version_of(const std::string& text) {
  std::int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc{} || end != text.data() + text.size() || version < 1)
    throw HttpError(404, fmt::format("there is no version {}", in_quotes(text)));
  return version;
}

}  // namespace

bool is_public(const Request& head) {
  if (head.method != "GET" && head.method != "HEAD") return false;
  const Path path = head.segments;
  return is(path, {"health"}) || is(path, {"v2", "health", "live"}) ||
         is(path, {"v2", "health", "ready"});
}

void Router::operator()(Request request, const std::shared_ptr<Answer>& answer) {
  const Path path = request.segments;
  if (path.empty()) {
    expect_method(request, "GET");
    return answer->send(json_response({{"name", "limpid"}, {"version", parts_.version}}));
  }
  if (is(path, {"health"})) {
    expect_method(request, "GET");
    return answer->send(json_response({{"status", parts_.draining() ? "draining" : "ok"}}));
  }
  if (is(path, {"metrics"})) {
    expect_method(request, "GET");
    Metrics::Gauges gauges = parts_.gauges();
    gauges.queue = parts_.batcher.waiting() + parts_.scheduler.waiting();
    gauges.answer_bytes = answer_bytes_.taken();
    gauges.log_lines_lost = parts_.log.lost();
    parts_.models.measure(gauges);
    return answer->send({.body = parts_.metrics.text(gauges),
                         .content_type = "text/plain; version=0.0.4; charset=utf-8"});
  }
  if (is(path, {"rerank"})) return rerank(request, answer);
  if (path[0] == "v1") return v1(std::move(request), answer);
  if (path[0] == "v2") return v2(std::move(request), answer);
  not_found();
}

Response error_of(const HttpError& error, std::string_view target) {
  return target.starts_with("/v1/") || target == "/rerank" ? openai_error(error)
                                                           : error_response(error);
}

// ---- OpenAI's protocol

void Router::v1(Request request, const std::shared_ptr<Answer>& answer) {
  const Path path = Path(request.segments).subspan(1);
  const auto described = [](const std::string& name) {
    return Json{{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "limpid"}};
  };
  const auto language_model = [&](const std::string& name) {
    std::shared_ptr<const ServedModel> model = parts_.models.find(name);
    if (!model || !model->language)
      throw HttpError(404, fmt::format("there is no {} {}", model ? "language model" : "model",
                                       in_quotes(name)));
    return model;
  };
  // A model that writes texts, embeds or ranks them; nullptr for any other.
  const auto text_model = [&](const std::string& name) {
    std::shared_ptr<const ServedModel> model = parts_.models.find(name);
    return model && (model->language || model->embedding || model->ranking) ? model : nullptr;
  };
  if (is(path, {"models"})) {
    expect_method(request, "GET");
    Json all = Json::array();
    for (const std::string& name : parts_.models.names())
      if (text_model(name)) all.push_back(described(name));
    return answer->send(json_response({{"object", "list"}, {"data", std::move(all)}}));
  }
  if (path.size() == 2 && path[0] == "models") {
    expect_method(request, "GET");
    if (!text_model(path[1]))
      throw HttpError(404, fmt::format("there is no model of texts {}", in_quotes(path[1])));
    return answer->send(json_response(described(path[1])));
  }
  if (is(path, {"embeddings"})) return embeddings(request, answer);
  if (is(path, {"rerank"})) return rerank(request, answer);
  const bool chat = is(path, {"chat", "completions"});
  if (!chat && !is(path, {"completions"})) not_found();
  expect_method(request, "POST");
  const Json body = Json::parse(request.body, {.bytes = parts_.limits.body});
  std::shared_ptr<const ServedModel> model = language_model(model_of_completion(body));
  name_model(*request.ticket, model);
  CompletionRequest asked = chat ? parse_chat(body, *model->language, parts_.limits)
                                 : parse_completion(body, *model->language, parts_.limits);
  complete(std::move(asked), std::move(model), request.ticket, answer, parts_.scheduler,
           parts_.metrics);
}

// The model that the body names, which has this service.
std::shared_ptr<const ServedModel> Router::encoder(const Request& request, const Json& body,
                                                   EncoderOf service,
                                                   std::string_view without) const {
  const std::string name = model_of_completion(body);
  std::shared_ptr<const ServedModel> model = parts_.models.find(name);
  if (!model) throw HttpError(404, fmt::format("there is no model {}", in_quotes(name)));
  if (!((*model).*service))
    throw HttpError(404, fmt::format("the model {} {}", in_quotes(name), without));
  name_model(*request.ticket, model);
  return model;
}

void Router::embeddings(const Request& request, const std::shared_ptr<Answer>& answer) {
  expect_method(request, "POST");
  const Json body = Json::parse(request.body, {.bytes = parts_.limits.body});
  std::shared_ptr<const ServedModel> model =
      encoder(request, body, &ServedModel::embedding, "gives no embeddings");
  EmbeddingRequest asked = parse_embeddings(body, *model->embedding, parts_.limits);
  std::shared_ptr<const void> share = answer_bytes_.take(
      asked.texts.size() * static_cast<std::size_t>(model->embedding->embedder->net().width) *
      sizeof(float));
  if (!share)
    throw HttpError(503, "the server holds too many bytes of answers", {{"Retry-After", "1"}});
  request.ticket->keep(std::move(share));
  embed(std::move(asked), std::move(model), request.ticket, answer, parts_.batcher);
}

void Router::rerank(const Request& request, const std::shared_ptr<Answer>& answer) {
  expect_method(request, "POST");
  const Json body = Json::parse(request.body, {.bytes = parts_.limits.body});
  std::shared_ptr<const ServedModel> model =
      encoder(request, body, &ServedModel::ranking,
              "does not rank texts: expected a cross-encoder with one class");
  RankRequest asked = parse_rank(body, *model->ranking, parts_.limits);
  rank(std::move(asked), std::move(model), request.ticket, answer, parts_.batcher);
}

// ---- the Open Inference Protocol

void Router::v2(Request request, const std::shared_ptr<Answer>& answer) {
  const Path path = Path(request.segments).subspan(1);
  if (path.empty()) {
    expect_method(request, "GET");
    return answer->send(
        json_response({{"name", "limpid"},
                       {"version", parts_.version},
                       {"extensions", Json::array({"binary_tensor_data", "model_repository"})}}));
  }
  if (is(path, {"health", "live"})) {
    expect_method(request, "GET");
    return answer->send(json_response({{"live", true}}));
  }
  if (is(path, {"health", "ready"})) {
    expect_method(request, "GET");
    const bool ready = parts_.models.ready() && !parts_.draining();
    Response response = json_response({{"ready", ready}});
    if (!ready) response.status = 503;
    return answer->send(std::move(response));
  }
  if (path[0] == "models" && path.size() > 1) return v2_model(std::move(request), answer);
  if (is(path, {"models"})) {
    expect_method(request, "GET");
    Json names = Json::array();
    for (const std::string& name : parts_.models.names()) names.push_back(name);
    return answer->send(json_response({{"models", names}}));
  }
  if (path[0] == "repository") return repository(request, answer);
  not_found();
}

// models/NAME[/versions/VERSION][/ready|/infer|/trace]
void Router::v2_model(Request request, const std::shared_ptr<Answer>& answer) {
  Path path = Path(request.segments).subspan(2);
  const std::string name = path[0];
  path = path.subspan(1);
  std::optional<std::int64_t> version;
  if (path.size() >= 2 && path[0] == "versions") {
    version = version_of(path[1]);
    path = path.subspan(2);
  }
  const bool metadata = path.empty(), ready = is(path, {"ready"}), infer_it = is(path, {"infer"});
  const bool trace_it = is(path, {"trace"});
  if (!metadata && !ready && !infer_it && !trace_it) not_found();
  std::shared_ptr<const ServedModel> model = parts_.models.find(name, version);
  if (!model)
    throw HttpError(404, version ? fmt::format("there is no version {} of a model {}", *version,
                                               in_quotes(name))
                                 : fmt::format("there is no model {}", in_quotes(name)));
  if (infer_it || trace_it) name_model(*request.ticket, model);
  if (infer_it) return infer(std::move(request), std::move(model), answer);
  if (trace_it) return trace(request, std::move(model), answer);
  expect_method(request, "GET");
  if (ready) {
    answer->send(json_response({{"name", name}, {"ready", true}}));
  } else {
    answer->send({.body = metadata_json(model->signature, parts_.models.versions(name))});
  }
}

InferRequest Router::asked_of(const Request& request, const ServedModel& model) const {
  if (has_picture(request))
    return parse_picture(model.signature, model.pictures, request.body, parts_.limits);
  return parse_infer(model.signature, request.body, json_bytes_of(request), parts_.limits);
}

void Router::infer(Request request, std::shared_ptr<const ServedModel> model,
                   const std::shared_ptr<Answer>& answer) {
  expect_method(request, "POST");
  // Made once, sent before the body is parsed, and without an exception: under overload, refusals
  // take CPU time from the requests that are answered.
  static const Response kFull = error_response({503, "the queue is full", {{"Retry-After", "1"}}});
  const auto refuse = [&] { answer->send(kFull); };
  if (parts_.batcher.full()) return refuse();
  auto asked = std::make_shared<InferRequest>(asked_of(request, *model));
  // A few bytes may ask for a large answer, and its client may read it slowly.
  std::shared_ptr<const void> share = answer_bytes_.take(asked->output_bytes);
  if (!share)
    throw HttpError(503, "the server holds too many bytes of answers", {{"Retry-After", "1"}});
  request.ticket->keep(std::move(share));
  const auto lane = model->lane;
  const std::int64_t rows = asked->rows;
  std::vector<Tensor> inputs = asked->inputs;
  const bool taken =
      parts_.batcher.submit(lane, std::move(inputs), rows, request.ticket,
                            [asked, model, answer, rows](Batcher::Result result) {
                              send_from(answer, [&] {
                                if (result.error) std::rethrow_exception(result.error);
                                Response response = infer_response(
                                    model->signature, *asked, result.outputs, result.input_hash);
                                response.facts = {.queue_seconds = result.queue_seconds,
                                                  .compute_seconds = result.compute_seconds,
                                                  .rows = rows};
                                return response;
                              });
                            });
  if (!taken) refuse();
}

// The output of `limpid trace` for one example: op by op, by the interpreter.
void Router::trace(const Request& request, std::shared_ptr<const ServedModel> model,
                   const std::shared_ptr<Answer>& answer) {
  expect_method(request, "POST");
  if (!parts_.may_inspect || !model->source)
    throw HttpError(403, "the server allows no traces: expected --inspect");
  auto asked = std::make_shared<const InferRequest>(asked_of(request, *model));
  if (asked->rows != 1)
    throw HttpError(400, fmt::format("trace: expected one row, got {}", asked->rows));
  std::optional<NeuronPlace> place;
  if (!asked->neuron.empty()) place = parse_neuron_place(asked->neuron);
  const auto task = [asked, model, answer, place] {
    send_from(answer, [&] {
      Params inputs = model->source->params;
      for (std::size_t i = 0; i < asked->inputs.size(); ++i) {
        const Input& input = model->signature.inputs[i];
        inputs.set(input.name, asked->inputs[i].reshape(input.type.shape));
      }
      const Observation run = observe(model->source->function, inputs);
      Json ops = Json::array();
      for (const TraceRow& row : trace_rows(run, model->source->params))
        ops.push_back(to_json(row));
      Json document{{"model_name", model->signature.name},
                    {"model_version", std::to_string(model->signature.version)},
                    {"ops", std::move(ops)}};
      if (place) document["neuron"] = to_json(explain_neuron(run, place->layer, place->index));
      Response response = json_response(document);
      response.facts.rows = 1;
      return response;
    });
  };
  if (!tracer_.post(task, request.ticket))
    throw HttpError(503, "other traces are being computed", {{"Retry-After", "1"}});
}

// ---- the repository

void Router::repository(const Request& request, const std::shared_ptr<Answer>& answer) {
  const Path path = Path(request.segments).subspan(2);
  if (is(path, {"index"})) {
    expect_method(request, "POST");
    const bool only_ready = asks_for_ready_models(request.body);
    Json all = Json::array();
    for (const Models::Entry& entry : parts_.models.index()) {
      if (only_ready && !entry.ready) continue;
      all.push_back(Json{{"name", entry.name},
                         {"version", std::to_string(entry.version)},
                         {"state", entry.ready ? "READY" : "UNAVAILABLE"},
                         {"reason", entry.reason}});
    }
    return answer->send(json_response(all));
  }
  if (path.size() != 3 || path[0] != "models" || (path[2] != "load" && path[2] != "unload"))
    not_found();
  expect_method(request, "POST");
  if (!parts_.may_load) throw HttpError(403, "the server allows no loading: expected --allow-load");
  const std::string name = path[1];
  const bool load = path[2] == "load";
  const bool posted = loader_.post([this, name, load, answer] {
    send_from(answer, [&]() -> Response {
      try {
        if (load)
          parts_.models.load(name);
        else
          parts_.models.unload(name);
      } catch (const Error& error) {
        parts_.log.event("load failed", fmt::format("{}: {}", name, error.what()));
        if (error.code() == ErrorCode::kNotFound)
          throw HttpError(404, fmt::format("there is no model {}", in_quotes(name)));
        throw HttpError(400, fmt::format("the model could not be read: {}; the log says more",
                                         limpid::name(error.code())));
      }
      parts_.log.event(load ? "load" : "unload", name);
      return {.body = "{}"};
    });
  });
  if (!posted) throw HttpError(503, "other models are being loaded", {{"Retry-After", "1"}});
}

}  // namespace limpid::serve
