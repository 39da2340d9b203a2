// limpid receipt: whether this machine computes what a server answered.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/serve/check_answer.h"
#include "limpid/serve/receipt.h"

namespace limpid::tool {
namespace {

struct ReceiptArguments {
  ModelOptions model;
  std::string request, answer, receipt;
  std::optional<std::int64_t> request_json, answer_json;
  int threads = 1;
};

std::string contents(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  const Tensor file = read_file(path, kMostBytes);
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<std::size_t> size_of(const std::optional<std::int64_t>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<std::size_t>(*bytes);
}

void check(const ReceiptArguments& options) {
  if (options.receipt.empty() && options.answer.empty())
    throw UsageError("one of --receipt and --answer is required");
  const Model model = open_model(options.model);
  ThreadPool pool({.threads = options.threads});
  const serve::Recomputed again =
      serve::recompute(model, contents(options.request), size_of(options.request_json), &pool);
  if (!options.receipt.empty()) {
    const serve::Receipt given = serve::parse_receipt(options.receipt);
    const auto compare = [](const char* what, std::uint64_t expected, std::uint64_t got) {
      if (expected != got)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("no: the receipt's {} has the hash {:016x}, this {} has {:016x}",
                                what, expected, what, got));
    };
    compare("model", given.model, again.receipt.model);
    compare("input", given.input, again.receipt.input);
    if (options.answer.empty()) compare("output", given.output, again.receipt.output);
  }
  if (!options.answer.empty())
    serve::check_answer(again, contents(options.answer), size_of(options.answer_json));
  if (!options.receipt.empty() && serve::parse_receipt(options.receipt) != again.receipt)
    throw Error(ErrorCode::kInvalidArgument,
                "no: the answer has the bits computed here, the receipt has others");
  print(fmt::format("yes: {}\n", serve::to_text(again.receipt)));
}

}  // namespace

void add_receipt(Command& app) {
  auto options = std::make_shared<ReceiptArguments>();
  Command command =
      app.command("receipt", "Compute a server's answer again: whether it has the same bits here");
  add_model_option(command, options->model);
  command.option("--request", options->request, "Body of the request that was sent to .../infer")
      .required()
      .type("FILE");
  command.option("--receipt", options->receipt, "The answer's header Limpid-Receipt").type("TEXT");
  command.option("--answer", options->answer, "Body of the answer, to compare number by number")
      .type("FILE");
  command
      .option("--request-json", options->request_json,
              "Bytes of JSON that the request began with, where tensors followed")
      .check(positive(true));
  command
      .option("--answer-json", options->answer_json,
              "Bytes of JSON that the answer began with, where tensors followed")
      .check(positive(true));
  add_threads_option(command, options->threads);
  command.run([options] { check(*options); });
}

}  // namespace limpid::tool
