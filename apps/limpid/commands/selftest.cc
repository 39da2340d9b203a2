// limpid selftest: checks the results of this machine against the published hashes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/published_hashes.h"
#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/bit_hashes.h"

namespace limpid::tool {
namespace {

struct SelftestArguments {
  std::string against;
  bool every_float = false;
  bool print = false;
  bool json = false;
};

constexpr int kThreads[] = {1, 2, 3, 5};

// Compares hashes with the published ones and counts the results. Prints each check when it ends,
// or all of them as JSON at the end.
class Comparison {
 public:
  Comparison(std::string_view table, bool json) : json_(json) {
    for (HashLine& line : parse_hashes(table)) published_.emplace(std::move(line.name), line.hash);
    if (published_.empty())
      throw Error(ErrorCode::kFormat,
                  "--against: expected lines \"| name | 0123456789abcdef |\", got none");
  }

  void add(const std::vector<HashLine>& lines, const std::string& how) {
    for (const HashLine& line : lines) {
      const auto found = published_.find(line.name);
      names_.insert(line.name);
      const bool same = found != published_.end() && found->second == line.hash;
      ++compared_;
      differing_ += !same;
      if (same) continue;
      const std::string published =
          found == published_.end() ? "nothing" : fmt::format("{:016x}", found->second);
      Json difference{
          {"name", line.name}, {"hash", fmt::format("{:016x}", line.hash)}, {"how", how}};
      if (found != published_.end()) difference["published"] = published;
      differences_.push_back(std::move(difference));
      if (!json_)
        print(fmt::format("DIFFERS  {:<28} {:016x}, published {}  ({})\n", line.name, line.hash,
                          published, how));
    }
  }

  void say(std::string_view isa, std::string_view what, bool well) {
    checks_.push_back({{"isa", std::string(isa)}, {"what", std::string(what)}, {"ok", well}});
    if (json_) return;
    print(fmt::format("{:<7}  {:<66} {}\n", isa, what, well ? "ok" : "FAILED"));
    flush();
  }

  Json json() const {
    return Json{{"compared", compared_},
                {"differing", differing_},
                {"published", names_.size()},
                {"checks", checks_},
                {"differences", differences_}};
  }

  std::size_t names() const { return names_.size(); }
  std::int64_t compared() const { return compared_; }
  std::int64_t differing() const { return differing_; }

 private:
  bool json_;
  Json checks_ = Json::array(), differences_ = Json::array();
  std::map<std::string, std::uint64_t> published_;
  std::set<std::string> names_;
  std::int64_t compared_ = 0;
  std::int64_t differing_ = 0;
};

// Runs all checks on one instruction set; true if all pass.
bool test(kernels::Isa isa, Comparison& comparison) {
  const std::int64_t before = comparison.differing();
  comparison.add(op_hashes(isa), std::string(name(isa)));
  const std::int64_t after_ops = comparison.differing();
  comparison.say(name(isa), "every op, its gradient and elementary function", after_ops == before);
  for (int threads : kThreads) {
    const std::int64_t start = comparison.differing();
    ThreadPool pool({.threads = threads});
    comparison.add(network_hashes(isa, pool), fmt::format("{}, {} threads", name(isa), threads));
    comparison.say(name(isa),
                   fmt::format("networks forward, gradients, 20 steps of training, {} thread{}",
                               threads, threads == 1 ? "" : "s"),
                   comparison.differing() == start);
    // The same code on every CPU: once is enough.
    if (isa == kernels::Isa::kExact) break;
  }
  const std::int64_t rows = isa == kernels::Isa::kExact ? 0 : rows_that_differ_in_batches(isa);
  if (isa != kernels::Isa::kExact)
    comparison.say(name(isa), "each row alone and in batches of 1 to 70", rows == 0);
  return comparison.differing() == before && rows == 0;
}

HashLine at_every_float(const Op& function, kernels::Isa isa, ThreadPool& pool) {
  constexpr std::uint64_t kFloats = std::uint64_t{1} << 32;
  return {fmt::format("every float {}", function.name),
          hash_at_floats(function, 0, kFloats, isa, pool)};
}

ThreadPool::Options all_cpus() {
  return {.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u))};
}

bool test_every_float(kernels::Isa isa, Comparison& comparison) {
  ThreadPool pool(all_cpus());
  const std::int64_t before = comparison.differing();
  for (const Op* function : elementary_functions()) {
    const std::int64_t start = comparison.differing();
    comparison.add({at_every_float(*function, isa, pool)}, std::string(name(isa)));
    comparison.say(name(isa), fmt::format("{} at every float", function->name),
                   comparison.differing() == start);
  }
  return comparison.differing() == before;
}

std::string text_of(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const Tensor bytes = read_file(path, kMostBytes);
  return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()};
}

void print_every_float() {
  ThreadPool pool(all_cpus());
  std::vector<HashLine> lines;
  for (const Op* function : elementary_functions())
    lines.push_back(at_every_float(*function, kernels::default_isa(), pool));
  print(to_markdown(lines));
}

void print_published() {
  ThreadPool pool({.threads = 1});
  const kernels::Isa isa = kernels::default_isa();
  std::vector<HashLine> lines = op_hashes(isa);
  for (HashLine& line : network_hashes(isa, pool)) lines.push_back(std::move(line));
  print(to_markdown(lines));
}

void selftest(const SelftestArguments& options) {
  const auto start = std::chrono::steady_clock::now();
  Comparison comparison(
      options.against.empty() ? std::string(kPublishedHashes) : text_of(options.against),
      options.json);
  bool well = true;
  for (kernels::Isa isa : kernels::available_isas())
    well =
        (options.every_float ? test_every_float(isa, comparison) : test(isa, comparison)) && well;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (options.json) print_json(comparison.json());
  if (!well)
    throw Error(ErrorCode::kInternal,
                fmt::format("selftest: {} of {} results differ from the published ones",
                            comparison.differing(), comparison.compared()));
  if (options.json) return;
  print(
      fmt::format("\n{} results equal the {} published hashes, in {:.1f} s: this machine computes "
                  "the same bits.\n",
                  comparison.compared(), comparison.names(), time.count()));
}

}  // namespace

void add_selftest(Command& app) {
  auto options = std::make_shared<SelftestArguments>();
  Command command = app.command(
      "selftest", "Check that this machine reproduces the published hashes bit for bit");
  command
      .option("--against", options->against,
              "Table of hashes to compare with; default: the built-in table")
      .path("FILE");
  command.flag("--every-float", options->every_float,
               "Check each elementary function at all 2^32 floats instead, on all CPUs; takes "
               "minutes per instruction set, and hours for the last one, exact");
  const Option json = command.flag("--json", options->json, "Print JSON, once all is compared");
  command
      .flag("--print", options->print,
            "Print this machine's hashes in the format of docs/hashes.md, and exit")
      .excludes(json);
  command.run([options] {
    if (!options->print) return selftest(*options);
    options->every_float ? print_every_float() : print_published();
  });
}

}  // namespace limpid::tool
