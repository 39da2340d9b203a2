// Scheduler: what it holds of the texts that it was given, and when it reads their prompts.
#include "limpid/serve/scheduler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "limpid/nn/char_lm.h"

namespace limpid::serve {
namespace {

// As in a server: the functions of a text own its model, and the model owns its lane.
struct Owner {
  std::shared_ptr<Scheduler::Lane> lane;
};

TEST(Scheduler, LetsGoOfUnfinishedTextsWhenItEnds) {
  const nn::CharLm net{3, 2, 2, nn::Mlp{{4, 4, 3}}};
  std::weak_ptr<Owner> model;
  {
    Scheduler scheduler({});
    const auto owner = std::make_shared<Owner>();
    owner->lane =
        scheduler.lane(nn::LanguageModel(net, net.init(Key(1)), {.sequences = 1}), 64, nullptr);
    model = owner;
    const Scheduler::Text endless{.prompt = {0},
                                  .tokens = std::int64_t{1} << 40,
                                  .on_token = [owner](const Scheduler::Token&) { return true; }};
    ASSERT_TRUE(scheduler.submit(owner->lane, {endless, endless}));
    // The model has one place: the second text waits.
    while (scheduler.waiting() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(model.expired());
}

TEST(Scheduler, WhatNobodyWaitsForFillsNoQueue) {
  const nn::CharLm net{3, 2, 2, nn::Mlp{{4, 4, 3}}};
  Scheduler scheduler({.max_queue = 1});
  const auto lane =
      scheduler.lane(nn::LanguageModel(net, net.init(Key(1)), {.sequences = 1}), 64, nullptr);
  const auto text_of = [](std::shared_ptr<const Ticket> ticket) {
    return Scheduler::Text{.prompt = {0},
                           .tokens = std::int64_t{1} << 40,
                           .ticket = std::move(ticket),
                           .on_token = [](const Scheduler::Token&) { return true; }};
  };
  ASSERT_TRUE(scheduler.submit(lane, {text_of(nullptr)}));
  while (scheduler.waiting() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto left = std::make_shared<Ticket>();
  ASSERT_TRUE(scheduler.submit(lane, {text_of(left)}));
  EXPECT_FALSE(scheduler.submit(lane, {text_of(nullptr)}));
  left->give_up();
  EXPECT_TRUE(scheduler.submit(lane, {text_of(nullptr)}));
}

// Other texts wait for the prompts that are read: those of one step are as long as one chunk.
TEST(Scheduler, ReadsTheirPromptsOneAfterTheOther) {
  constexpr std::int64_t kChunk = 4;
  const nn::CharLm net{3, 2, 2, nn::Mlp{{4, 4, 3}}};
  std::vector<std::size_t> waiting;  // at the first token of each text
  std::promise<void> ended;
  Scheduler scheduler({});
  const auto lane = scheduler.lane(
      nn::LanguageModel(net, net.init(Key(1)), {.sequences = 3, .chunk = kChunk}), kChunk, nullptr);
  const auto text_of = [&](std::vector<std::int32_t> prompt, bool last) {
    return Scheduler::Text{.prompt = std::move(prompt),
                           .tokens = 1,
                           .on_token =
                               [&](const Scheduler::Token&) {
                                 waiting.push_back(scheduler.waiting());
                                 return true;
                               },
                           .on_end =
                               [&, last](const Scheduler::End&) {
                                 if (last) ended.set_value();
                               }};
  };
  ASSERT_TRUE(scheduler.submit(
      lane, {text_of({0, 1, 2, 0}, false), text_of({0, 1}, false), text_of({0, 1}, true)}));
  ended.get_future().wait();
  EXPECT_EQ(waiting, (std::vector<std::size_t>{2, 0, 0}));
}

}  // namespace
}  // namespace limpid::serve
