#include "limpid/compile/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "limpid/compile/packings.h"
#include "limpid/compile/plan_store.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/core/stop_check.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

using RowCount = std::int64_t;
using Axes = std::vector<std::optional<std::int64_t>>;

// The memory for one run of a plan at a time.
class PlanRun {
 public:
  PlanRun(const Executable& plan, const Axes& axes, RowCount rows, ThreadPool* pool)
      : workspace_(plan, pool), axes_(axes), rows_(rows), bytes_(workspace_.bytes()) {
    for (const Input& input : plan.inputs()) in_.push_back({input.type.bytes(), {}});
    for (const Type& type : plan.output_types()) out_.push_back({type.bytes(), {}});
    from_.resize(in_.size());
    to_.resize(out_.size());
  }

  // Computes `count` rows of `results` from the same rows of `inputs`, beginning with row `first`.
  // Returns false where `check` ended the run.
  bool run(std::span<const Tensor> inputs, std::span<void* const> results, RowCount first,
           RowCount count, StopCheck* check) {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const std::byte* const all = inputs[i].bytes().data();
      from_[i] = axes_[i] ? read(in_[i], all + bytes_of(in_[i], first), count) : all;
    }
    for (std::size_t o = 0; o < out_.size(); ++o)
      to_[o] = count == rows_ ? at(results[o], out_[o], first) : padded(out_[o]);
    if (!check)
      workspace_.run(from_, to_);
    else if (!workspace_.run(from_, to_, *check))
      return false;
    if (count == rows_) return true;
    for (std::size_t o = 0; o < out_.size(); ++o)
      copy(static_cast<const std::byte*>(to_[o]), bytes_of(out_[o], count),
           at(results[o], out_[o], first));
    return true;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  // An input or output of all the plan's rows, and padded memory for it if a call has fewer.
  struct Operand {
    std::size_t bytes;
    std::shared_ptr<std::byte> padded;
  };

  std::size_t bytes_of(const Operand& operand, RowCount rows) const {
    return operand.bytes / static_cast<std::size_t>(rows_) * static_cast<std::size_t>(rows);
  }
  std::byte* at(void* results, const Operand& operand, RowCount row) const {
    return static_cast<std::byte*>(results) + bytes_of(operand, row);
  }
  static void copy(const std::byte* from, std::size_t bytes, std::byte* to) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  std::byte* padded(Operand& operand) {
    if (!operand.padded) {
      operand.padded = allocate_aligned(operand.bytes);
      bytes_ += operand.bytes;
    }
    return operand.padded.get();
  }
  // Rows from `count` on are zeros: values of an earlier call, such as NaNs, might be slower to
  // compute.
  const std::byte* read(Operand& operand, const std::byte* rows, RowCount count) {
    if (count == rows_) return rows;
    std::byte* const memory = padded(operand);
    const std::size_t bytes = bytes_of(operand, count);
    copy(rows, bytes, memory);
    std::fill(memory + bytes, memory + operand.bytes, std::byte{0});
    return memory;
  }

  Workspace workspace_;
  const Axes& axes_;
  RowCount rows_;
  std::vector<Operand> in_, out_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::size_t bytes_;
};

}  // namespace

class Predictor::Plans {
 public:
  Plans(const Function& of_one, const Params& params, const Options& options)
      : function_(bind(of_one, params)), options_(options), axes_(function_.inputs().size(), 0) {
    if (options.most_rows < 1 || options.most_runs < 1 || !options.compile.donations.empty())
      refuse(fmt::format(
          "expected at least 1 row, at least 1 run at once and no donation, got {}, {} and {}",
          options.most_rows, options.most_runs, options.compile.donations.size()));
    for (const std::string& name : options.shared) axes_[function_.input_index(name)].reset();
    if (std::none_of(axes_.begin(), axes_.end(), [](const auto& axis) { return axis.has_value(); }))
      refuse("expected at least one input with rows, got none");
    if (!options_.compile.packings) options_.compile.packings = std::make_shared<Packings>();
    for_each_plan_rows(static_cast<std::size_t>(options_.most_rows),
                       [&](std::size_t rows) { sizes_.insert(static_cast<RowCount>(rows)); });
  }

  const std::vector<Input>& inputs() const { return function_.inputs(); }

  // Returns nothing where `check` ended the run.
  std::optional<std::vector<Tensor>> run(std::span<const Tensor> inputs, StopCheck* check) {
    const RowCount rows = rows_of(inputs);
    std::vector<Type> types;
    for (const Output& o : function_.outputs()) {
      const Type& one = function_.type(o.value);
      types.push_back({one.dtype, one.shape.insert(0, rows)});
    }
    const Turn turn(*this, check);
    if (!turn.granted()) return std::nullopt;
    bool whole = true;
    std::vector<Tensor> all = generate_together(types, [&](std::span<void* const> results) {
      for (RowCount first = 0; first < rows && whole;) {
        const RowCount plan = plan_for(rows - first);
        const RowCount count = std::min(plan, rows - first);
        whole = Lease(*this, plan)->run(inputs, results, first, count, check);
        first += count;
        if (check && first < rows && check->stops()) whole = false;
      }
    });
    if (!whole) return std::nullopt;
    return all;
  }

  void prepare(std::span<const std::int64_t> all) {
    for (const RowCount rows : all) {
      if (rows < 1 || rows > options_.most_rows)
        refuse(fmt::format("expected a plan of 1 to {1} rows, got {0}", rows, options_.most_rows));
      Lease(*this, rows);
      // Only a plan that could be made is one that calls may choose.
      const std::lock_guard lock(mutex_);
      sizes_.insert(rows);
    }
  }

  std::vector<Plan> plans() const {
    const std::lock_guard lock(mutex_);
    std::vector<Plan> plans;
    for (const auto& [rows, kept] : kept_)
      if (kept->workspaces > 0) plans.push_back({rows, kept->workspaces, kept->bytes});
    std::sort(plans.begin(), plans.end(),
              [](const Plan& a, const Plan& b) { return a.rows < b.rows; });
    return plans;
  }

  std::size_t bytes() const {
    std::size_t bytes = options_.compile.packings->bytes();
    for (const Plan& plan : plans()) bytes += plan.bytes;
    return bytes;
  }

 private:
  struct Kept {
    std::mutex compiling;
    std::optional<Executable> plan;
    std::vector<std::unique_ptr<PlanRun>> free;
    std::size_t made = 0;  // workspaces made; `workspaces` lacks those of calls that still run
    int workspaces = 0;
    std::size_t bytes = 0;
  };

  // One of several concurrent calls. While it waits for others, `check` may end it.
  class Turn {
   public:
    Turn(Plans& plans, StopCheck* check) : plans_(plans) {
      constexpr std::chrono::milliseconds kBetweenChecks{50};
      const auto is_free = [&] { return plans_.runs_ < plans_.options_.most_runs; };
      std::unique_lock lock(plans_.mutex_);
      if (!check) plans_.ended_.wait(lock, is_free);
      while (!is_free()) {
        plans_.ended_.wait_for(lock, kBetweenChecks, is_free);
        lock.unlock();
        const bool stops = check->stops();
        lock.lock();
        if (!stops) continue;
        if (is_free()) plans_.ended_.notify_one();  // it may have been told in vain
        return;
      }
      ++plans_.runs_;
      granted_ = true;
    }
    bool granted() const { return granted_; }
    ~Turn() {
      if (!granted_) return;
      {
        const std::lock_guard lock(plans_.mutex_);
        --plans_.runs_;
      }
      plans_.ended_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Plans& plans_;
    bool granted_ = false;
  };

  // A workspace for the plan of `rows` rows: a free one, or a new one.
  class Lease {
   public:
    Lease(Plans& plans, RowCount rows) : plans_(plans), kept_(plans.compiled(rows)) {
      {
        const std::lock_guard lock(plans_.mutex_);
        if (!kept_->free.empty()) {
          run_ = std::move(kept_->free.back());
          kept_->free.pop_back();
          bytes_ = run_->bytes();
          return;
        }
      }
      run_ = std::make_unique<PlanRun>(*kept_->plan, plans.axes_, rows, plans.options_.pool);
      // So that giving it back allocates nothing.
      const std::lock_guard lock(plans_.mutex_);
      kept_->free.reserve(++kept_->made);
    }
    ~Lease() {
      const std::lock_guard lock(plans_.mutex_);
      if (bytes_ == 0) ++kept_->workspaces;
      kept_->bytes += run_->bytes() - bytes_;
      kept_->free.push_back(std::move(run_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    PlanRun* operator->() const { return run_.get(); }

   private:
    Plans& plans_;
    std::shared_ptr<Kept> kept_;
    std::unique_ptr<PlanRun> run_;
    std::size_t bytes_ = 0;  // that are counted already
  };

  std::shared_ptr<Kept> compiled(RowCount rows) {
    std::shared_ptr<Kept> kept;
    {
      const std::lock_guard lock(mutex_);
      kept = kept_.get(rows, [] { return std::make_shared<Kept>(); });
    }
    const std::lock_guard lock(kept->compiling);
    if (!kept->plan) kept->plan = compile(vmap(function_, axes_, rows), options_.compile);
    return kept;
  }

  // The rows of the plan for the next part, with `left` rows still to compute.
  RowCount plan_for(RowCount left) const {
    const std::lock_guard lock(mutex_);
    const auto enough = sizes_.lower_bound(left);
    if (enough == sizes_.end()) return options_.most_rows;
    const bool mostly_full = left >= *enough - *enough / 3;
    return mostly_full ? *enough : *std::prev(enough);
  }

  std::string input_names() const {
    constexpr std::size_t kShown = 12;
    std::string names;
    for (std::size_t i = 0; i < std::min(axes_.size(), kShown); ++i)
      names += (i == 0 ? "" : ", ") + in_quotes(function_.inputs()[i].name);
    return axes_.size() > kShown ? names + ", ..." : names;
  }

  // "f32[N, 20]" for f32[20].
  static std::string rows_of_type(const Type& one) {
    std::string text = std::string(name(one.dtype)) + "[N";
    for (const std::int64_t size : one.shape) text += fmt::format(", {}", size);
    return text + "]";
  }

  RowCount rows_of(std::span<const Tensor> inputs) const {
    if (inputs.size() != axes_.size())
      refuse(fmt::format("expected {} ({}), got {}",
                         counted(static_cast<RowCount>(axes_.size()), "input"), input_names(),
                         inputs.size()));
    std::optional<RowCount> rows;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const Input& one = function_.inputs()[i];
      const Shape& shape = inputs[i].shape();
      if (axes_[i] && !rows) rows = shape.rank() == 0 ? 0 : shape[0];
      const Type expected{one.type.dtype,
                          axes_[i] ? one.type.shape.insert(0, *rows) : one.type.shape};
      if (inputs[i].type() == expected) continue;
      // Of an input without the dimension of rows, the first size says nothing about their number.
      const bool no_rows = axes_[i] && shape.rank() == one.type.shape.rank();
      throw Error(
          inputs[i].dtype() == expected.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
          fmt::format("predict with '{}': input '{}': expected {}, got {}", function_.name(),
                      one.name, no_rows ? rows_of_type(one.type) : to_string(expected),
                      to_string(inputs[i].type())));
    }
    return *rows;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("predict with '{}': {}", function_.name(), why));
  }

  Function function_;
  Options options_;
  Axes axes_;

  mutable std::mutex mutex_;  // of all below, but for what Kept::compiling guards
  std::condition_variable ended_;
  int runs_ = 0;
  std::set<RowCount> sizes_;  // that there may be plans of
  PlanStore<RowCount, std::shared_ptr<Kept>> kept_;
};

Predictor::Predictor(const Function& of_one, const Params& params, const Options& options)
    : plans_(std::make_unique<Plans>(of_one, params, options)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

const std::vector<Input>& Predictor::inputs() const { return plans_->inputs(); }
std::vector<Tensor> Predictor::operator()(std::span<const Tensor> inputs) const {
  std::optional<std::vector<Tensor>> results = plans_->run(inputs, StopScope::check());
  if (!results) throw Stopped();
  return *std::move(results);
}
std::optional<std::vector<Tensor>> Predictor::operator()(std::span<const Tensor> inputs,
                                                         StopCheck& check) const {
  return plans_->run(inputs, &check);
}
void Predictor::prepare(std::span<const std::int64_t> rows) { plans_->prepare(rows); }
std::vector<Predictor::Plan> Predictor::plans() const { return plans_->plans(); }
std::size_t Predictor::bytes() const { return plans_->bytes(); }

}  // namespace limpid
