// limpid receipt: whether this machine computes what a server answered.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/formats/file.h"
#include "limpid/serve/check_answer.h"
#include "limpid/serve/receipt.h"
#include "limpid/serve/replay.h"

namespace limpid::tool {
namespace {

struct ReceiptArguments {
  ModelOptions model;
  std::string request, answer, receipt;
  std::optional<std::int64_t> request_json, answer_json;
  int threads = 1;
  bool json = false;
};

std::string contents(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  const Tensor file = read_file(path, kMostBytes);
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The request as JSON if it is one for texts or embeddings; tensors may exceed the limits of Json.
std::optional<Json> text_request(const std::string& body) {
  try {
    std::optional<Json> json = Json::try_parse(body);
    if (json && serve::is_text_request(*json)) return json;
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::optional<std::size_t> size_of(const std::optional<std::int64_t>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<std::size_t>(*bytes);
}

// Compares the given receipt, and the part of the answer that check_body() reads.
template <class CheckBody>
void compare_with(const serve::Receipt& again, const ReceiptArguments& options,
                  const CheckBody& check_body) {
  if (!options.receipt.empty()) {
    const serve::Receipt given = serve::parse_receipt(options.receipt);
    const auto compare = [](const char* what, std::uint64_t expected, std::uint64_t got) {
      if (expected != got)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("no: the receipt's {} has the hash {:016x}, this {} has {:016x}",
                                what, expected, what, got));
    };
    compare("model", given.model, again.model);
    compare("input", given.input, again.input);
    if (options.answer.empty()) compare("output", given.output, again.output);
  }
  if (!options.answer.empty()) check_body(contents(options.answer));
  if (!options.receipt.empty() && serve::parse_receipt(options.receipt) != again)
    throw Error(ErrorCode::kInvalidArgument,
                "no: the answer has the bits computed here, but the receipt has others");
  const auto hex = [](std::uint64_t hash) { return fmt::format("{:016x}", hash); };
  if (options.json)
    return print_json(Json{
        {"model", hex(again.model)}, {"input", hex(again.input)}, {"output", hex(again.output)}});
  print(fmt::format("yes: {}\n", serve::to_text(again)));
}

// Generates the text again from its seed: that of the request, else that of the answer.
void check_completion(const ReceiptArguments& options, const Model& model, Json request,
                      ThreadPool& pool) {
  const Json* const seed = request.find("seed");
  if ((!seed || seed->is_null()) && !request.contains("input") &&
      !request.contains("query")) {  // embeddings and ranks have none
    if (options.answer.empty())
      throw UsageError("the request has no seed: expected --answer, which has it");
    request["seed"] = Json::parse(contents(options.answer), serve::kWholeResponse).at("seed");
  }
  const serve::Replayed again = serve::replay(model, std::move(request), &pool);
  compare_with(again.receipt, options, [&](const std::string& answer) {
    serve::check_text(again, Json::parse(answer, serve::kWholeResponse));
  });
}

void check(const ReceiptArguments& options) {
  if (options.receipt.empty() && options.answer.empty())
    throw UsageError("one of --receipt and --answer is required");
  const Model model = open_model(options.model);
  ThreadPool pool({.threads = options.threads});
  const std::string request = contents(options.request);
  if (!options.request_json)
    if (std::optional<Json> json = text_request(request))
      return check_completion(options, model, std::move(*json), pool);
  const serve::Recomputed again =
      serve::recompute(model, request, size_of(options.request_json), &pool);
  compare_with(again.receipt, options, [&](const std::string& answer) {
    serve::check_answer(again, answer, size_of(options.answer_json));
  });
}

}  // namespace

void add_receipt(Command& app) {
  auto options = std::make_shared<ReceiptArguments>();
  Command command = app.command(
      "receipt", "Recompute a server's answer and check that it has the same bits here");
  add_model_option(command, options->model);
  command
      .option("--request", options->request,
              "Body of the request that was sent to .../infer, or to /v1/...")
      .required()
      .type("FILE");
  command.option("--receipt", options->receipt, "The answer's header Limpid-Receipt").type("TEXT");
  command.option("--answer", options->answer, "Body of the answer, to compare number by number")
      .type("FILE");
  command
      .option("--request-json", options->request_json,
              "Bytes of JSON at the start of the request, if tensors followed")
      .check(not_negative());
  command
      .option("--answer-json", options->answer_json,
              "Bytes of JSON at the start of the answer, if tensors followed")
      .check(not_negative());
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { check(*options); });
}

}  // namespace limpid::tool
