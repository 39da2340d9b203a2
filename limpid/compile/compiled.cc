#include "limpid/compile/compiled.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "limpid/compile/packings.h"
#include "limpid/function/arguments.h"
#include "limpid/transforms/bind.h"

namespace limpid {
namespace detail {

namespace {

// An Executable and the memory for one run.
class Ready {
 public:
  explicit Ready(const Executable& executable, ThreadPool* pool = nullptr,
                 std::shared_ptr<SharedMemory> memory = nullptr,
                 std::vector<std::size_t> inputs = {})
      : workspace_(executable, pool, std::move(memory)),
        types_(executable.output_types()),
        inputs_(std::move(inputs)) {
    if (inputs_.empty())
      for (std::size_t i = 0; i < executable.inputs().size(); ++i) inputs_.push_back(i);
  }
  std::vector<Tensor> run(std::span<const Tensor> tensors) {
    pointers_.clear();
    for (const std::size_t i : inputs_) pointers_.push_back(tensors[i].bytes().data());
    return generate_together(types_,
                             [&](std::span<void* const> out) { workspace_.run(pointers_, out); });
  }

 private:
  Workspace workspace_;
  std::vector<Type> types_;
  std::vector<std::size_t> inputs_;  // which of the arguments it takes
  std::vector<const void*> pointers_;
};

}  // namespace

struct Plans::Signature {
  explicit Signature(const Arguments& arguments)
      : form(arguments.form), names(arguments.names.begin(), arguments.names.end()) {
    for (const Tensor& t : arguments.tensors) types.push_back(t.type());
  }
  bool operator==(const Arguments& arguments) const {
    return form == arguments.form &&
           std::equal(names.begin(), names.end(), arguments.names.begin(), arguments.names.end()) &&
           std::equal(types.begin(), types.end(), arguments.tensors.begin(),
                      [](const Type& type, const Tensor& t) { return type == t.type(); });
  }

  std::string form;
  std::vector<std::string> names;
  std::vector<Type> types;
};

class Plans::Plan {
 public:
  Plan(const Arguments& arguments, Traced traced, const How& how)
      : function_(std::move(traced.function)),
        result_(std::move(traced.result)),
        all_(compile(function_, {.packings = how.packings}), how.pool, how.memory),
        seen_(arguments.tensors.size()) {}

  std::vector<Tensor> run(const Arguments& arguments, const How& how) {
    if (!same_groups(arguments)) {
      if (bound_) calls_until_bound_ *= 2;
      bound_.reset();
      same_ = 0;
    } else if (!bound_ && ++same_ >= calls_until_bound_) {
      bind_groups(arguments, how);
    }
    return bound_ ? bound_->run(arguments.tensors) : all_.run(arguments.tensors);
  }

  const std::any& result() const { return result_; }

 private:
  // A buffer that this does not keep alive.
  struct Buffer {
    const void* identity = nullptr;
    std::weak_ptr<const void> owner;

    bool is(const Tensor& t) const {
      const auto other = t.owner();
      return identity == t.identity() && !owner.owner_before(other) && !other.owner_before(owner) &&
             !owner.expired();
    }
  };

  // Whether the groups hold the same tensors as in the last call. Keeps them for the next call.
  bool same_groups(const Arguments& arguments) {
    bool any = false, same = true;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (arguments.names[i].empty()) continue;
      any = true;
      if (seen_[i].is(arguments.tensors[i])) continue;
      same = false;
      seen_[i] = {arguments.tensors[i].identity(), arguments.tensors[i].owner()};
    }
    return any && same;
  }

  void bind_groups(const Arguments& arguments, const How& how) {
    Params values;
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (arguments.names[i].empty())
        free.push_back(i);
      else
        values.set(function_.inputs()[i].name, arguments.tensors[i]);
    bound_.emplace(compile(bind(function_, values), {.packings = how.packings}), how.pool,
                   how.memory, std::move(free));
  }

  Function function_;
  std::any result_;
  Ready all_;
  std::vector<Buffer> seen_;
  std::optional<Ready> bound_;
  std::int64_t same_ = 0;
  std::int64_t calls_until_bound_ = 1;
};

Plans::Plans(ThreadPool* pool)
    : plans_(std::make_unique<PlanStore<Signature, Plan>>()),
      how_{pool, std::make_shared<Packings>(), std::make_shared<SharedMemory>()} {}
Plans::Plans(Plans&&) noexcept = default;
Plans& Plans::operator=(Plans&&) noexcept = default;
Plans::~Plans() = default;

std::vector<Tensor> Plans::run(const Arguments& arguments, const std::function<Traced()>& trace,
                               const std::any*& result) {
  Plan& plan = plans_->get(arguments, [&] { return Plan(arguments, trace(), how_); });
  result = &plan.result();
  return plan.run(arguments, how_);
}

namespace {

// Cached with a Function: its plan, and memory for as many concurrent runs as there have been.
class KeptPlan {
 public:
  explicit KeptPlan(const Function& f) : executable_(compile(f)) {}

  std::vector<Tensor> run(std::span<const Tensor> arguments) const {
    std::unique_ptr<Ready> ready;
    if (const std::lock_guard lock(mutex_); !idle_.empty()) {
      ready = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!ready) ready = std::make_unique<Ready>(executable_);
    std::vector<Tensor> results = ready->run(arguments);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(ready));
    return results;
  }

 private:
  Executable executable_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Ready>> idle_;
};

}  // namespace
}  // namespace detail

std::vector<Tensor> run(const Function& f, std::span<const Tensor> arguments) {
  const auto plan =
      f.keep<detail::KeptPlan>([&] { return std::make_shared<const detail::KeptPlan>(f); });
  check_arguments(f.name(), f.inputs(), arguments);
  return plan->run(arguments);
}

}  // namespace limpid
