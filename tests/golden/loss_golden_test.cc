// Every loss with every reduction, gates and what else has more than one input, beside PyTorch's:
// in f64, which holds the formula, and in f32, which holds the arithmetic.
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

using Losses = std::function<Value(const Args& in, Reduction reduction)>;

struct LossCase {
  std::string name;
  std::string up;  // of the unreduced loss
  std::vector<std::string> inputs;
  Losses loss;
};

LossCase classes(const std::string& name, const CrossEntropyOptions& options,
                 const std::string& target = "labels", bool weighted = false) {
  return {name, "up.n", {"logits", target, "weights"}, [=](const Args& in, Reduction reduction) {
            CrossEntropyOptions o = options;
            o.reduction = reduction;
            if (weighted) o.class_weights = in.at("weights");
            return cross_entropy(in.at("logits"), in.at(target), o);
          }};
}

template <class F>
LossCase pair(const std::string& name, const std::string& up, const std::string& a,
              const std::string& b, const F& f) {
  return {name, up, {a, b}, [=](const Args& in, Reduction r) { return f(in.at(a), in.at(b), r); }};
}

std::vector<LossCase> loss_cases() {
  std::vector<LossCase> all{
      classes("ce_plain", {}),
      classes("ce_smooth", {.label_smoothing = 0.1}),
      classes("ce_weights", {}, "labels", true),
      classes("ce_ignore", {.ignore_index = -100}, "ignoring"),
      classes("ce_ignore_class", {.ignore_index = 2}),
      classes("ce_smooth_ignore", {.label_smoothing = 0.2, .ignore_index = -100}, "ignoring"),
      classes("ce_all", {.label_smoothing = 0.2, .ignore_index = -100}, "ignoring", true),
      classes("ce_soft", {}, "probabilities"),
      classes("ce_soft_smooth", {.label_smoothing = 0.1}, "probabilities"),
      classes("ce_soft_all", {.label_smoothing = 0.1}, "probabilities", true),
      pair("nll", "up.n", "logits", "labels",
           [](Value p, Value l, Reduction r) { return nll_loss(p, l, {.reduction = r}); }),
      {"nll_all",
       "up.n",
       {"logits", "ignoring", "weights"},
       [](const Args& in, Reduction r) {
         return nll_loss(in.at("logits"), in.at("ignoring"), {r, -100, in.at("weights")});
       }},
      pair("bce", "up.x", "x", "t",
           [](Value x, Value t, Reduction r) { return binary_cross_entropy_with_logits(x, t, r); }),
      {"bce_weight",
       "up.x",
       {"x", "t", "positive_weight"},
       [](const Args& in, Reduction r) {
         return binary_cross_entropy_with_logits(in.at("x"), in.at("t"), r,
                                                 in.at("positive_weight"));
       }},
      pair("multi_label", "up.r", "x", "t",
           [](Value x, Value t, Reduction r) { return multi_label_loss(x, t, r); }),
      pair("kl", "up.x", "log_p", "t", kl_divergence),
      pair("hinge", "up.x", "x", "signs", hinge_loss),
      pair("mse", "up.x", "x", "t", mse_loss),
      pair("mae", "up.x", "x", "t", mae_loss),
      pair("huber", "up.x", "x", "t",
           [](Value x, Value t, Reduction r) { return huber_loss(x, t, 0.7, r); }),
      pair("smooth_l1", "up.x", "x", "t",
           [](Value x, Value t, Reduction r) { return smooth_l1_loss(x, t, 0.7, r); }),
      pair("info_nce", "up.u", "u", "v",
           [](Value u, Value v, Reduction r) {
             return info_nce_loss(u, v, {.temperature = 0.2, .reduction = r});
           }),
  };
  all.push_back({"triplet", "up.u", {"u", "v", "w"}, [](const Args& in, Reduction r) {
                   return triplet_margin_loss(in.at("u"), in.at("v"), in.at("w"), 0.5, r);
                 }});
  all.push_back({"cosine", "up.u", {"u", "v", "same"}, [](const Args& in, Reduction r) {
                   return cosine_embedding_loss(in.at("u"), in.at("v"), in.at("same"), 0.2, r);
                 }});
  return all;
}

TEST(Losses, ValuesAndGradientsAgreeForEveryReduction) {
  const Params golden = fixture("losses");
  const std::pair<std::string, Reduction> reductions[] = {
      {"mean", Reduction::kMean}, {"sum", Reduction::kSum}, {"none", Reduction::kNone}};
  for (const LossCase& c : loss_cases())
    for (const auto& [name, reduction] : reductions) {
      const auto code = [&, r = reduction](const Args& in) { return c.loss(in, r); };
      const std::string up = reduction == Reduction::kNone ? c.up : "";
      const std::string key = c.name + "." + name;
      expect_case<double>(golden, key, "", c.inputs, up, code, 1e-13);
      expect_case<float>(golden, key, "", c.inputs, up, code, 2e-6);
    }
}

// Nothing that the fixture holds is left out.
TEST(Losses, EveryRecordedCaseIsTried) {
  std::size_t tried = 0;
  for (const LossCase& c : loss_cases())
    tried += fixture("losses").find(c.name + ".none") != nullptr;
  std::size_t recorded = 0;
  for (const std::string& name : fixture("losses").names())
    recorded += name.size() > 5 && name.rfind(".none") == name.size() - 5;
  EXPECT_EQ(tried, recorded);
}

TEST(Gates, ValuesAndGradientsAgree) {
  const Params golden = fixture("gates");
  struct Gate {
    std::string name;
    std::vector<std::string> inputs;
    std::function<Value(const Args&)> code;
    std::string up = "up";
  };
  const auto two = [](Value (*f)(Value, Value), const std::string& second) {
    return [=](const Args& in) { return f(in.at("a"), in.at(second)); };
  };
  const Gate gates[] = {
      {"glu", {"a", "b"}, two(glu, "b")},
      {"swiglu", {"a", "b"}, two(swiglu, "b")},
      {"geglu", {"a", "b"}, two(geglu, "b")},
      {"prelu", {"a", "slope"}, two(prelu, "slope")},
      {"elu", {"a"}, [](const Args& in) { return elu(in.at("a"), 0.7); }},
      {"swish", {"a"}, [](const Args& in) { return swish(in.at("a"), 1.5); }},
      {"log_sum_exp", {"a"}, [](const Args& in) { return log_sum_exp(in.at("a")); }, "rows_up"}};
  for (const Gate& g : gates) {
    expect_case<double>(golden, g.name, ".y", g.inputs, g.up, g.code, 1e-13);
    expect_case<float>(golden, g.name, ".y", g.inputs, g.up, g.code, 2e-6);
  }
}

}  // namespace
}  // namespace limpid::golden
