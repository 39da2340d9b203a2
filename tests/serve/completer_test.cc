// Completer: what it holds of the texts that it was given.
#include "limpid/serve/completer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "limpid/nn/char_lm.h"

namespace limpid::serve {
namespace {

// As in a server: the functions of a text own its model, and the model owns its lane.
struct Owner {
  std::shared_ptr<Completer::Lane> lane;
};

TEST(Completer, LetsGoOfUnfinishedTextsWhenItEnds) {
  const nn::CharLm net{3, 2, 2, nn::Mlp{{4, 4, 3}}};
  std::weak_ptr<Owner> model;
  {
    Completer completer({});
    const auto owner = std::make_shared<Owner>();
    owner->lane =
        completer.lane(nn::LanguageModel(net, net.init(Key(1)), {.sequences = 1}), 64, nullptr);
    model = owner;
    const Completer::Text endless{.prompt = {0},
                                  .tokens = std::int64_t{1} << 40,
                                  .on_token = [owner](const Completer::Token&) { return true; }};
    ASSERT_TRUE(completer.submit(owner->lane, {endless, endless}));
    // The model has one place: the second text waits.
    while (completer.waiting() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(model.expired());
}

}  // namespace
}  // namespace limpid::serve
