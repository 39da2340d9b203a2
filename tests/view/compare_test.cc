#include "limpid/view/compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/view/api.h"
#include "limpid/view/whatif.h"
#include "tests/refusals.h"
#include "tests/view/trained.h"

namespace limpid::view {
namespace {

using ViewCompare = Trained;

Subject subject_of(const std::string& model, std::int64_t index) {
  Subject subject{.model = model};
  subject.input = InputSpec{InputSpec::Example{.data = "moons:3,count=200", .index = index}};
  return subject;
}

// The model of r0 with bits of one weight flipped.
std::string planted(Session& session, std::uint32_t bits) {
  OpenModel other{.name = "planted"};
  other.model = session.model("r0")->model;
  const Tensor& weight = other.model.params.at("layers.1.weight");
  std::vector<float> values(weight.values<float>().begin(), weight.values<float>().end());
  float& x = values[11];
  x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ bits);
  other.model.params.set("layers.1.weight", Tensor::from<float>(weight.shape(), values));
  return session.add(std::move(other))->id;
}

TEST_F(ViewCompare, APlantedBitIsFound) {
  const std::string other = planted(*session_, 8);
  for (const bool with_input : {false, true}) {
    Subject a = subject_of("r0", 4), b = subject_of(other, 4);
    if (!with_input) a.input.reset(), b.input.reset();
    const Compared c = compare(*session_, a, b);
    EXPECT_FALSE(c.same);
    EXPECT_FALSE(compare(*session_, a, b, 0).same);
    ASSERT_TRUE(c.first);
    EXPECT_TRUE(c.first->parameter);
    EXPECT_EQ(c.first->name, "layers.1.weight");
    EXPECT_EQ(c.first->index, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(c.first->bit, 3);
    EXPECT_EQ(c.first->a.bits ^ c.first->b.bits, 8u);
    ASSERT_EQ(c.parameters.size(), 1u);
    EXPECT_EQ(c.parameters[0].differ, 1);
    EXPECT_EQ(c.parameters[0].largest_ulp, 8);
  }
  // Of several bits it is the highest.
  EXPECT_EQ(
      compare(*session_, subject_of("r0", 4), subject_of(planted(*session_, 13), 4)).first->bit, 3);
}

TEST_F(ViewCompare, OfSeveralParametersTheFirstIsNamed) {
  OpenModel other{.name = "other"};
  other.model = session_->model("r0")->model;
  for (const auto& [name, tensor] : session_->model("r0")->model.params)
    if (name.starts_with("layers.")) other.model.params.set(name, Tensor::zeros(tensor.type()));
  const Subject a{.model = "r0"}, b{.model = session_->add(std::move(other))->id};
  const Compared all = compare(*session_, a, b), few = compare(*session_, a, b, 2);
  ASSERT_GT(all.parameters.size(), 2u);
  EXPECT_EQ(all.first->name, all.parameters.front().name);
  EXPECT_EQ(few.parameters.size(), 2u);
  const auto listed = [&](const std::string& most) {
    return asked("compare",
                 R"({"a": {"model": "r0"}, "b": {"model": ")" + b.model + "\"}" + most + "}")
        .at("parameters")
        .size();
  };
  EXPECT_EQ(listed(R"(, "most": 1)"), 1u);
  EXPECT_EQ(listed(""), all.parameters.size());
}

TEST_F(ViewCompare, WhatOneModelHasAloneIsSaid) {
  OpenModel more{.name = "more"};
  more.model = session_->model("r0")->model;
  more.model.params.set("extra", Tensor::scalar(1.0f));
  const std::string id = session_->add(std::move(more))->id;
  const Compared c = compare(*session_, {.model = "r0"}, {.model = id});
  EXPECT_FALSE(c.same);
  EXPECT_TRUE(c.only_a.empty());
  EXPECT_EQ(c.only_b, std::vector<std::string>{"extra"});
  const Compared back = compare(*session_, {.model = id}, {.model = "r0"});
  EXPECT_EQ(back.only_a, std::vector<std::string>{"extra"});
  EXPECT_TRUE(back.only_b.empty());
}

TEST_F(ViewCompare, ValuesOfOneModelAreNotComparedWithOthers) {
  const auto added = [&](std::int64_t size, bool twice) {
    OpenModel open{.name = "f"};
    open.model.function = trace("f", {{"x", f32({size})}}, [&](std::span<const Value> in) {
      return std::vector<Value>{twice ? tanh(negate(in[0])) : negate(in[0])};
    });
    return Subject{.model = session_->add(std::move(open))->id,
                   .input = InputSpec{
                       InputSpec::Numbers{std::vector<double>(static_cast<std::size_t>(size), 1)}}};
  };
  const Subject two = added(2, false), three = added(3, false), more = added(2, true);
  const Compared sizes = compare(*session_, two, three);
  EXPECT_EQ(sizes.only_a, (std::vector<std::string>{"%x: f32[2]", "%0: f32[2]"}));
  EXPECT_EQ(sizes.only_b, (std::vector<std::string>{"%x: f32[3]", "%0: f32[3]"}));
  EXPECT_FALSE(sizes.first);
  EXPECT_EQ(compare(*session_, two, three, 1).only_a.size(), 1u);
  EXPECT_EQ(compare(*session_, more, two).only_a, std::vector<std::string>{"%1"});
  EXPECT_EQ(compare(*session_, two, more).only_b, std::vector<std::string>{"%1"});
  EXPECT_EQ(to_json(sizes).at("only_a").dump(), R"(["%x: f32[2]","%0: f32[2]"])");
  EXPECT_EQ(to_json(sizes).at("only_b").dump(), R"(["%x: f32[3]","%0: f32[3]"])");
  EXPECT_FALSE(compare(*session_, two, more, 0).same);
  Subject other = two;
  other.input = InputSpec{InputSpec::Numbers{{1, 2}}};
  const Compared inputs = compare(*session_, two, other, 1);
  EXPECT_EQ(inputs.values.size(), 1u);
  const Json first = to_json(inputs).at("first");
  EXPECT_EQ(first.at("where").as_string(), "value");
  EXPECT_EQ(first.at("op").as_string(), "input");
  EXPECT_EQ(first.at("index").dump(), "[1]");
  EXPECT_EQ(first.at("b").at("value").as_number(), 2);
  EXPECT_FALSE(to_json(inputs).at("same").as_bool());
}

TEST_F(ViewCompare, AModelIsItself) {
  EXPECT_TRUE(compare(*session_, subject_of("r0", 4), subject_of("r0", 4)).same);
  const Compared other = compare(*session_, subject_of("r0", 4), subject_of("r0", 5));
  EXPECT_TRUE(other.parameters.empty());
  ASSERT_TRUE(other.first);
  EXPECT_EQ(other.first->name, "%x");
  EXPECT_FALSE(compare(*session_, subject_of("r0", 4), subject_of("r0", 5), 0).same);
}

TEST_F(ViewCompare, AnEditPartsWhereItIs) {
  Subject edited = subject_of("r0", 4);
  edited.changes.push_back({.edit = parse_edit("%1 += 1")});
  const Compared c = compare(*session_, subject_of("r0", 4), edited);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->name, "%1");
  EXPECT_EQ(c.first->op, "relu");
  ASSERT_EQ(c.values.size(), 2u);
  EXPECT_EQ(c.values[0].differ, 8);
  EXPECT_EQ(c.values[0].layer, "layers.0");
  const Json value = to_json(c).at("values").at(0);
  EXPECT_EQ(value.at("layer").as_string(), "layers.0");
  EXPECT_EQ(value.at("op").as_string(), "relu");
  EXPECT_EQ(value.at("count").as_integer(), 8);
}

TEST(ViewDifference, UnitsInTheLastPlaceCrossZero) {
  const float least = std::numeric_limits<float>::denorm_min();
  const auto d = difference_of(Tensor::from<float>({3}, {-least, 1, 2}),
                               Tensor::from<float>({3}, {least, 1, std::nextafter(2.0f, 3.0f)}));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->differ, 2);
  EXPECT_EQ(d->largest_ulp, 2);
  const auto wide = difference_of(Tensor::scalar(1.0), Tensor::scalar(std::nextafter(1.0, 2.0)));
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->largest_ulp, 1);
  EXPECT_FALSE(difference_of(Tensor::scalar(1.0f), Tensor::scalar(1.0f)));
  const auto several =
      difference_of(Tensor::from<float>({3}, {1, 2, 3}), Tensor::from<float>({3}, {5, 2, 4}));
  ASSERT_TRUE(several);
  EXPECT_EQ(several->largest, 4);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto odd = difference_of(Tensor::from<float>({3}, {kInf, 1, std::nanf("")}),
                                 Tensor::from<float>({3}, {1, 3, 1}));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->differ, 3);
  EXPECT_EQ(odd->largest, 2);
  EXPECT_EQ(odd->largest_ulp, 0x40000000);
  const auto whole =
      difference_of(Tensor::from<std::int32_t>({1}, {7}), Tensor::from<std::int32_t>({1}, {-2}));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->largest, 9);
  EXPECT_EQ(whole->largest_ulp, 0);
  const auto zeros = difference_of(Tensor::scalar(0.0f), Tensor::scalar(-0.0f));
  ASSERT_TRUE(zeros);
  EXPECT_EQ(zeros->largest, 0);
}

TEST_F(ViewCompare, RunsPartAtTheStepWhereTheyDo) {
  // The learning rate drops from step 14 on in one of them, so the weights first differ after step
  // 15.
  train::TrainConfig a = moons_config(), b = moons_config();
  a.schedule = b.schedule = "step";
  a.decay_every = b.decay_every = 2;
  a.decay_factor = 0.5;
  b.decay_factor = 0.25;
  add("a", a), add("b", b);
  const ComparedRuns by_log = compare_runs(*session_, "r1", "r2", false);
  ASSERT_TRUE(by_log.first_step);
  const ComparedRuns again = compare_runs(*session_, "r1", "r2", true);
  ASSERT_TRUE(again.first_step);
  // A step's loss is computed with the weights before it.
  EXPECT_EQ(*by_log.first_step, *again.first_step + 1);
  EXPECT_GT(*again.first_step, 1);
  ASSERT_TRUE(again.detail);
  EXPECT_FALSE(again.detail->same);
  EXPECT_EQ(again.keys, std::vector<std::string>{"schedule.decay_factor"});
  EXPECT_EQ(by_log.compared, 28);
  const auto loss = [&](const char* run, std::int64_t step) {
    return session_->runs().log({.run = run}).steps.at(static_cast<std::size_t>(step - 1)).loss;
  };
  ASSERT_FALSE(by_log.growth.empty());
  for (const ComparedRuns::Growth& g : by_log.growth)
    EXPECT_EQ(g.difference, std::abs(loss("r1", g.step) - loss("r2", g.step)));
  EXPECT_GT(by_log.growth.back().difference, 0);
  EXPECT_FALSE(compare_runs(*session_, "r1", "r1", true).first_step);
  // Models may differ even if the logs do not.
  std::filesystem::copy_file(folder_ / "a/log.jsonl", folder_ / "b/log.jsonl",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(compare_runs(*session_, "r1", "r2", false).first_step);
  EXPECT_EQ(compare_runs(*session_, "r1", "r2", true).first_step, again.first_step);
}

TEST_F(ViewCompare, RunsOfOtherSeedsPartBeforeTheirFirstStep) {
  train::TrainConfig other = moons_config();
  other.seed = 5;
  add("other", other);
  EXPECT_EQ(compare_runs(*session_, "r0", "r1", true).first_step, 0);
}

// As the page shows them: some of many, and whether the gradients part before the losses.
TEST_F(ViewCompare, StepsThatDifferAreShown) {
  const auto logged = [&](const char* name, double norm, double loss) {
    std::filesystem::copy(folder_ / "moons", folder_ / name,
                          std::filesystem::copy_options::recursive);
    std::ofstream file(folder_ / name / "log.jsonl", std::ios::app);
    file << train::to_json_line(train::StepEvent{29, 5, 0.5, 0.1, norm});
    for (std::int64_t step = 30; step < 630; ++step)
      file << train::to_json_line(train::StepEvent{step, 5, loss, 0.1, 1});
    file.close();
    return session_->runs().add(folder_ / name);
  };
  const std::string a = logged("a", 3, 1), b = logged("b", 4, 1.5);
  const ComparedRuns c = compare_runs(*session_, a, b, false);
  EXPECT_EQ(c.compared, 629);
  EXPECT_EQ(c.first_step, 29);
  EXPECT_EQ(c.what, "gradient_norm");
  EXPECT_EQ(c.a->value, 3);
  EXPECT_EQ(c.b->value, 4);
  ASSERT_EQ(c.growth.size(), 512u);
  EXPECT_EQ(c.growth[0].step, 29);
  EXPECT_EQ(c.growth[0].difference, 0);
  EXPECT_GT(c.growth.back().step, 620);
  EXPECT_EQ(c.growth.back().difference, 0.5);
  const Json json = to_json(c);
  EXPECT_FALSE(json.at("same").as_bool());
  EXPECT_EQ(json.at("first_step").as_integer(), 29);
  EXPECT_EQ(json.at("b").at("value").as_number(), 4);
  const Json same = to_json(compare_runs(*session_, a, a, false));
  EXPECT_TRUE(same.at("same").as_bool());
  EXPECT_TRUE(same.at("first_step").is_null());
  EXPECT_TRUE(same.at("a").is_null());
}

// Other keys say how a run is kept.
TEST_F(ViewCompare, RunsOfOtherSchedulesDiffer) {
  train::TrainConfig a = moons_config(), b = moons_config();
  a.schedule = b.schedule = "step";
  a.decay_every = 2;
  b.decay_every = 3;
  b.checkpoint_every = 2;
  b.probe_every = 3;
  add("a", a), add("b", b);
  EXPECT_EQ(compare_runs(*session_, "r1", "r2", false).keys,
            std::vector<std::string>{"schedule.decay_every"});
}

TEST_F(ViewCompare, RunsMayHaveNoStepInBothLogs) {
  train::TrainConfig a = moons_config(), b = moons_config();
  a.log_every = 2;
  b.log_every = 7;
  b.rate = 0.5;
  b.epochs = 5;
  add("a", a), add("b", b);
  const ComparedRuns both = compare_runs(*session_, "r1", "r2", false);
  EXPECT_EQ(both.keys, (std::vector<std::string>{"epochs", "optimizer.lr"}));
  std::int64_t common = 0;
  for (const train::StepEvent& x : session_->runs().log({.run = "r1"}).steps)
    for (const train::StepEvent& y : session_->runs().log({.run = "r2"}).steps)
      common += x.step == y.step;
  EXPECT_EQ(both.compared, common);
}

TEST_F(ViewCompare, EditsAreGivenAsTextAndAsAModel) {
  Subject edited = subject_of("r0", 4);
  edited.changes.push_back({.edit = parse_edit("%1[5] = 0")});
  EXPECT_EQ(edit_text(*session_, edited).function,
            limpid::to_text(
                edit(session_->model("r0")->model.function, {parse_edit("%1[5] = 0")}).function,
                {.max_elements = 16}));
  const auto kept = keep(*session_, edited, "without 5");
  const Compared c = compare(*session_, edited, subject_of(kept->id, 4));
  EXPECT_TRUE(c.values.empty() || c.values.back().name != "%2");
  EXPECT_EQ(kept->origin, Origin::kVariant);
  EXPECT_EQ(kept->data, "moons:3,count=200");
  // A model that is no file has no command.
  EXPECT_FALSE(edit_text(*session_, subject_of(kept->id, 4)).command);
  edited.changes.push_back({.edit = {.at = "%1", .change = Edit::Patch{}}, .patch = edited.input});
  EXPECT_FALSE(edit_text(*session_, edited).command);
  EXPECT_NE(keep(*session_, edited, "patched")->hash(), kept->hash());
  EXPECT_THROW(edit_text(*session_, {"r0", {}, edited.changes}), Error);
  EXPECT_THROW(keep(*session_, edited, ""), Error);
  EXPECT_THROW(keep(*session_, edited, std::string(201, 'a')), Error);
  EXPECT_EQ(keep(*session_, edited, std::string(200, 'a'))->name.size(), 200u);
}

// Of the data of its example or, for those that the tool does not have, of its numbers.
TEST_F(ViewCompare, AnEditHasItsCommandAndItsProgram) {
  add(R"(a "b"\c'd)", moons_config());
  OpenModel open{.name = "my net.safetensors", .origin = Origin::kDropped};
  open.model = session_->model("r0")->model;
  const std::string dropped = session_->add(std::move(open))->id;
  const auto text = [&](const std::string& model, std::optional<InputSpec> input) {
    Subject edited{.model = model, .input = std::move(input)};
    edited.changes.push_back({.edit = parse_edit("%1[5] = 0")});
    return edit_text(*session_, edited);
  };
  using Example = InputSpec::Example;
  for (const Example& example :
       {Example{.index = 2}, Example{.data = "moons:5,count=50", .index = 2},
        Example{.part = "train", .index = 4}})
    expect_message(*text("r0", InputSpec{example}).command);
  expect_message(*text("r0", {}).command);
  for (const std::string& model : {std::string("r0"), std::string("r1"), dropped})
    expect_message(*text(model, InputSpec{InputSpec::Numbers{{0.5, -2}}}).command);
  Subject patched{.model = "r1", .input = InputSpec{Example{.index = 2}}};
  patched.changes = {{.edit = parse_edit("%1[5] = 0")},
                     {.edit = {.at = "%1", .change = Edit::Patch{}}, .patch = patched.input}};
  expect_message(edit_text(*session_, patched).cpp);
}

TEST_F(ViewCompare, AVariantOfTensorsAloneIsNoModel) {
  OpenModel tensors{.name = "tensors", .has_function = false};
  tensors.model.params.set("w", Tensor::from<float>({2}, {1, 2}));
  const auto open = session_->add(std::move(tensors));
  const auto kept = keep(*session_, {.model = open->id}, "variant");
  EXPECT_FALSE(kept->has_function);
  EXPECT_EQ(kept->hash(), open->hash());
}

}  // namespace
}  // namespace limpid::view
