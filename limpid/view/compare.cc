#include "limpid/view/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "limpid/core/error.h"
#include "limpid/function/text.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::view {
namespace {

// The distance of two floating-point numbers in units in the last place, also across zero. Counted
// in integers: the bits of an f64 do not fit into a double.
double ulps_between(const Exact& x, const Exact& y) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(x.dtype) - 1);
  const std::uint64_t a = x.bits & (sign - 1), b = y.bits & (sign - 1);
  const bool same_sign = (x.bits & sign) == (y.bits & sign);
  return static_cast<double>(same_sign ? std::max(a, b) - std::min(a, b) : a + b);
}

FirstDifference first_of(const Tensor& a, const Tensor& b) {
  FirstDifference first;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    first.a = exact_at(a, i);
    first.b = exact_at(b, i);
    if (first.a.bits == first.b.bits) continue;
    first.index = place_of(i, a.shape());
    first.bit = static_cast<int>(std::bit_width(first.a.bits ^ first.b.bits)) - 1;
    break;
  }
  return first;
}

// One side of a comparison: values by name. Both sides give the same name to the same computation.
struct Side {
  std::shared_ptr<const OpenModel> open;
  std::optional<Computed> computed;

  const Function& function() const {
    return computed ? computed->run.function : open->model.function;
  }
};

Side side_of(Session& session, const Subject& subject) {
  Side side{.open = session.model(subject.model), .computed = {}};
  if (subject.input) side.computed = compute(session, subject);
  return side;
}

// Names values by layer, op, and the number of earlier calls of that op in the layer. So equal
// computations have equal names in two models, even if one has more ops elsewhere.
std::map<std::string, ValueId> values_by_place(const Function& f) {
  std::map<std::string, ValueId> places;
  std::map<std::string, int> count;
  for (const Node& node : f.nodes())
    for (std::size_t r = 0; r < f.output_count(node); ++r) {
      const std::string key = node.scope + "\n" + std::string(node.op->name);
      places[key + "\n" + std::to_string(count[key]++)] =
          node.first_output + static_cast<ValueId>(r);
    }
  return places;
}

class Comparer {
 public:
  Comparer(const Side& a, const Side& b, std::size_t most) : a_(a), b_(b), most_(most) {}

  Compared operator()() {
    const Params &pa = a_.open->model.params, &pb = b_.open->model.params;
    for (const auto& [name, tensor] : pa) parameter(name, tensor, pb.find(name));
    for (const auto& [name, tensor] : pb)
      if (!pa.find(name)) list(result_.only_b, name);
    if (a_.computed && b_.computed) values();
    // Without a forward pass, the first difference is that of the first parameter.
    if (!result_.first && !parameters_.empty()) result_.first = parameters_.begin()->second;
    return std::move(result_);
  }

 private:
  void list(std::vector<std::string>& names, const std::string& name) {
    result_.same = false;
    if (names.size() < most_) names.push_back(name);
  }

  void parameter(const std::string& name, const Tensor& tensor, const Tensor* other) {
    if (!other) return list(result_.only_a, name);
    if (!(tensor.type() == other->type())) {
      list(result_.only_a, name + ": " + to_string(tensor.type()));
      return list(result_.only_b, name + ": " + to_string(other->type()));
    }
    std::optional<Difference> d = difference_of(tensor, *other);
    if (!d) return;
    result_.same = false;
    d->name = name;
    FirstDifference first = first_of(tensor, *other);
    first.parameter = true;
    first.name = name;
    parameters_.emplace_back(name, first);
    if (result_.parameters.size() < most_) result_.parameters.push_back(std::move(*d));
  }

  void value(const std::string& name, const Node* node, const Tensor& x, const Tensor& y) {
    if (!(x.type() == y.type())) {
      list(result_.only_a, name + ": " + to_string(x.type()));
      return list(result_.only_b, name + ": " + to_string(y.type()));
    }
    std::optional<Difference> d = difference_of(x, y);
    if (!d) return;
    result_.same = false;
    d->name = name;
    if (node) d->op = node->op->name, d->layer = node->scope;
    if (!result_.first) {
      result_.first = first_of(x, y);
      result_.first->name = name;
      result_.first->op = d->op.empty() ? "input" : d->op;
    }
    if (result_.values.size() < most_) result_.values.push_back(std::move(*d));
  }

  // In the order of a's ops; a parameter is compared with the first op that takes it.
  void values() {
    const Function &f = a_.function(), &g = b_.function();
    const auto at_a = values_by_place(f), at_b = values_by_place(g);
    for (std::size_t i = 0; i < f.inputs().size(); ++i) {
      const std::string& name = f.inputs()[i].name;
      if (a_.open->model.params.find(name)) continue;
      for (std::size_t j = 0; j < g.inputs().size(); ++j)
        if (g.inputs()[j].name == name)
          value("%" + quoted_name(name), nullptr, a_.computed->run.values[i],
                b_.computed->run.values[j]);
    }
    std::map<ValueId, std::string> key_of;
    for (const auto& [key, id] : at_a) key_of[id] = key;
    for (const Node& node : f.nodes()) {
      for (const ValueId id : node.inputs)
        if (static_cast<std::size_t>(id) < f.inputs().size() && !result_.first)
          for (const auto& [name, first] : parameters_)
            if (name == f.inputs()[static_cast<std::size_t>(id)].name) result_.first = first;
      for (std::size_t r = 0; r < f.output_count(node); ++r) {
        const ValueId id = node.first_output + static_cast<ValueId>(r);
        const auto other = at_b.find(key_of[id]);
        if (other == at_b.end())
          list(result_.only_a, value_name(f, id));
        else
          value(value_name(f, id), &node, a_.computed->run[id], b_.computed->run[other->second]);
      }
    }
    for (const auto& [key, id] : at_b)
      if (!at_a.contains(key)) list(result_.only_b, value_name(g, id));
  }

  const Side &a_, &b_;
  std::size_t most_;
  Compared result_;
  std::vector<std::pair<std::string, FirstDifference>> parameters_;
};

Json difference_json(const Difference& d) {
  return {{"name", d.name},
          {"op", d.op},
          {"layer", d.layer},
          {"shape", to_json(d.shape)},
          {"differ", d.differ},
          {"count", d.count},
          {"largest", number_json(d.largest)},
          {"largest_ulp", number_json(d.largest_ulp)}};
}

// ---- runs

std::map<std::int64_t, train::StepEvent> steps_of(Session& session, const std::string& run) {
  constexpr std::int64_t kAll = 10'000'000;
  std::map<std::int64_t, train::StepEvent> steps;
  for (const train::StepEvent& s : session.runs().log({.run = run, .most = kAll}).steps)
    steps[s.step] = s;
  return steps;
}

bool same_number(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Where the configurations differ, except in how a run is logged and stored.
std::vector<std::string> keys_that_differ(Session& session, const std::string& a,
                                          const std::string& b) {
  const auto config = [&](const std::string& run) {
    return train::to_json(train::RunFolder(session.runs().folder(run)).read_config());
  };
  std::vector<std::string> keys;
  // Those of a section, such as schedule.decay_every, say how a run is trained.
  const auto is_of_keeping = [](const std::string& key) {
    return key.starts_with("log") ||
           (key.ends_with("_every") && key.find('.') == std::string::npos);
  };
  for (const ConfigRow& row : config_diff({config(a), config(b)}))
    if (!is_of_keeping(row.key)) keys.push_back(row.key);
  return keys;
}

bool same_after(Session& session, const std::string& a, const std::string& b, std::int64_t step) {
  const StepAgain x = session.runs().at(a, step), y = session.runs().at(b, step);
  return x.model->hash() == y.model->hash();
}

}  // namespace

std::optional<Difference> difference_of(const Tensor& a, const Tensor& b) {
  if (a.same_bits(b)) return {};
  Difference d{.shape = a.shape(), .count = a.elements()};
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const Exact x = exact_at(a, i), y = exact_at(b, i);
    if (x.bits == y.bits) continue;
    ++d.differ;
    const double size = std::abs(x.value - y.value);
    if (std::isfinite(size)) d.largest = std::max(d.largest, size);
    if (is_floating(x.dtype) && !std::isnan(x.value) && !std::isnan(y.value))
      d.largest_ulp = std::max(d.largest_ulp, ulps_between(x, y));
  }
  return d;
}

Compared compare(Session& session, const Subject& a, const Subject& b, std::int64_t most) {
  const Side first = side_of(session, a), second = side_of(session, b);
  return Comparer(first, second, static_cast<std::size_t>(std::max<std::int64_t>(0, most)))();
}

Json to_json(const Compared& c) {
  Json parameters = Json::array(), values = Json::array(), first;
  for (const Difference& d : c.parameters) parameters.push_back(difference_json(d));
  for (const Difference& d : c.values) values.push_back(difference_json(d));
  if (c.first)
    first = Json{{"where", c.first->parameter ? "parameter" : "value"},
                 {"name", c.first->name},
                 {"op", c.first->op},
                 {"index", Json(c.first->index)},
                 {"bit", c.first->bit},
                 {"dtype", name(c.first->a.dtype)},
                 {"a", to_json(c.first->a)},
                 {"b", to_json(c.first->b)}};
  return {{"same", c.same},           {"parameters", parameters}, {"only_a", Json(c.only_a)},
          {"only_b", Json(c.only_b)}, {"values", values},         {"first", first}};
}

ComparedRuns compare_runs(Session& session, const std::string& a, const std::string& b,
                          bool recompute) {
  ComparedRuns result;
  const auto at_a = steps_of(session, a), at_b = steps_of(session, b);
  std::int64_t common = 0;
  for (const auto& [step, event] : at_a) {
    const auto found = at_b.find(step);
    if (found == at_b.end()) continue;
    const train::StepEvent& other = found->second;
    common = step;
    ++result.compared;
    const bool same = same_number(event.loss, other.loss) &&
                      same_number(event.gradient_norm, other.gradient_norm);
    if (!same) result.growth.push_back({step, std::abs(event.loss - other.loss)});
    if (same || result.first_step) continue;
    result.first_step = step;
    const bool loss = !same_number(event.loss, other.loss);
    result.what = loss ? "loss" : "gradient_norm";
    result.a = exact_of(loss ? event.loss : event.gradient_norm, Dtype::kF64);
    result.b = exact_of(loss ? other.loss : other.gradient_norm, Dtype::kF64);
  }
  constexpr std::size_t kMostGrowth = 512;
  if (result.growth.size() > kMostGrowth) {
    std::vector<ComparedRuns::Growth> fewer;
    for (std::size_t i = 0; i < kMostGrowth; ++i)
      fewer.push_back(result.growth[i * result.growth.size() / kMostGrowth]);
    result.growth = std::move(fewer);
  }
  result.keys = keys_that_differ(session, a, b);
  if (!recompute) return result;

  // Runs that differ once stay different, so bisection finds the first step. A loss belongs to the
  // state before its step.
  std::int64_t high = result.first_step ? *result.first_step : common;
  if (same_after(session, a, b, high)) return result;
  std::int64_t low = -1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (same_after(session, a, b, middle) ? low : high) = middle;
  }
  result.first_step = high;
  const Subject x{.model = session.runs().at(a, high).model->id};
  const Subject y{.model = session.runs().at(b, high).model->id};
  result.detail = compare(session, x, y);
  if (result.detail->first) {
    result.what = result.detail->first->name;
    result.a = result.detail->first->a;
    result.b = result.detail->first->b;
  }
  return result;
}

Json to_json(const ComparedRuns& c) {
  Json growth = Json::array();
  for (const auto& g : c.growth)
    growth.push_back({{"step", g.step}, {"difference", number_json(g.difference)}});
  return {{"same", !c.first_step},
          {"first_step", c.first_step ? Json(*c.first_step) : Json()},
          {"what", c.what},
          {"keys", Json(c.keys)},
          {"compared", c.compared},
          {"a", c.a ? to_json(*c.a) : Json()},
          {"b", c.b ? to_json(*c.b) : Json()},
          {"growth", growth},
          {"detail", c.detail ? to_json(*c.detail) : Json()}};
}

}  // namespace limpid::view
