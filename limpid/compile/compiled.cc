#include "limpid/compile/compiled.h"

#include <algorithm>
#include <optional>

#include "limpid/compile/packings.h"
#include "limpid/transforms/bind.h"

namespace limpid {
namespace detail {

class Plans::Plan {
 public:
  Plan(const Arguments& arguments, Traced traced, const How& how)
      : function_(std::move(traced.function)),
        result_(std::move(traced.result)),
        all_(function_, how) {
    for (const std::string_view name : arguments.names) names_.emplace_back(name);
    seen_.resize(names_.size());
  }

  bool fits(const Arguments& arguments) const {
    if (arguments.names.size() != names_.size()) return false;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!(function_.inputs()[i].type == arguments.tensors[i].type()) ||
          names_[i] != arguments.names[i])
        return false;
    return true;
  }

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
  // A buffer, which this does not keep alive.
  struct Buffer {
    const std::byte* data = nullptr;
    std::weak_ptr<const void> owner;

    bool is(const Tensor& t) const {
      const auto other = t.owner();
      return data == t.bytes().data() && !owner.owner_before(other) && !other.owner_before(owner) &&
             !owner.expired();
    }
  };

  // An Executable with the memory for its runs.
  class Ready {
   public:
    Ready(const Function& f, const How& how, std::vector<std::size_t> inputs = {})
        : executable_(compile(f, {.packings = how.packings})),
          workspace_(executable_, how.pool),
          types_(executable_.output_types()),
          inputs_(std::move(inputs)) {
      if (inputs_.empty())
        for (std::size_t i = 0; i < f.inputs().size(); ++i) inputs_.push_back(i);
    }
    std::vector<Tensor> run(const std::vector<Tensor>& tensors) {
      pointers_.clear();
      for (const std::size_t i : inputs_) pointers_.push_back(tensors[i].bytes().data());
      return generate_together(types_,
                               [&](std::span<void* const> out) { workspace_.run(pointers_, out); });
    }

   private:
    Executable executable_;
    Workspace workspace_;
    std::vector<Type> types_;
    std::vector<std::size_t> inputs_;  // which of the arguments it takes
    std::vector<const void*> pointers_;
  };

  // Whether the groups hold the same tensors as in the last call. Keeps them for the next call.
  bool same_groups(const Arguments& arguments) {
    bool any = false, same = true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].empty()) continue;
      any = true;
      if (seen_[i].is(arguments.tensors[i])) continue;
      same = false;
      seen_[i] = {arguments.tensors[i].bytes().data(), arguments.tensors[i].owner()};
    }
    return any && same;
  }

  void bind_groups(const Arguments& arguments, const How& how) {
    Params values;
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i].empty())
        free.push_back(i);
      else
        values.set(function_.inputs()[i].name, arguments.tensors[i]);
    bound_.emplace(bind(function_, values), how, std::move(free));
  }

  Function function_;
  std::any result_;
  std::vector<std::string> names_;
  Ready all_;
  std::vector<Buffer> seen_;
  std::optional<Ready> bound_;
  std::int64_t same_ = 0;
  std::int64_t calls_until_bound_ = 1;
};

Plans::Plans(ThreadPool* pool) : how_{pool, std::make_shared<Packings>()} {}
Plans::Plans(Plans&&) noexcept = default;
Plans& Plans::operator=(Plans&&) noexcept = default;
Plans::~Plans() = default;

Plans::Plan& Plans::plan_for(const Arguments& arguments, const std::function<Traced()>& trace) {
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& plan) { return plan->fits(arguments); });
  if (found == plans_.end())
    plans_.insert(plans_.begin(), std::make_unique<Plan>(arguments, trace(), how_));
  else
    std::rotate(plans_.begin(), found, found + 1);
  return *plans_.front();
}

std::vector<Tensor> Plans::run(const Arguments& arguments, const std::function<Traced()>& trace,
                               const std::any*& result) {
  Plan& plan = plan_for(arguments, trace);
  result = &plan.result();
  return plan.run(arguments, how_);
}

}  // namespace detail

std::vector<Tensor> run(const Function& f, std::span<const Tensor> arguments) {
  const auto executable = f.keep([&] { return std::make_shared<const Executable>(compile(f)); });
  return (*std::static_pointer_cast<const Executable>(executable))(arguments);
}

}  // namespace limpid
