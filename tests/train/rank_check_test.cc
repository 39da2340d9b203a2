// The facts that ranks compare before they train.
#include "limpid/train/run/rank_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/distribute/in_process.h"

namespace limpid::train {
namespace {

// The errors of three ranks, the last of which has other facts.
std::vector<std::string> errors_with(const std::function<void(RankFacts&)>& change,
                                     const std::string& config = "\"seed\": 0,\n\"batch\": 8") {
  std::vector<std::string> errors;
  std::mutex mutex;
  distribute::run_in_process(3, [&](distribute::Communicator& ranks) {
    RankFacts facts = rank_facts(config, 7);
    if (ranks.rank() == 2) change(facts);
    try {
      require_alike(ranks, facts);
    } catch (const Error& e) {
      const std::lock_guard lock(mutex);
      errors.emplace_back(e.what());
    }
  });
  return errors;
}

void expect_named(const std::function<void(RankFacts&)>& change, const std::string& difference) {
  const std::vector<std::string> errors = errors_with(change);
  EXPECT_EQ(errors.size(), 3) << "every rank ends";
  for (const std::string& error : errors) {
    EXPECT_TRUE(error.starts_with("rank 2 " + difference)) << error;
    EXPECT_TRUE(error.ends_with(" as rank 0 has")) << error;
  }
}

TEST(RankCheck, RanksThatAreAlikePass) {
  EXPECT_TRUE(errors_with([](RankFacts&) {}).empty());
}

// A file may have any name.
TEST(RankCheck, AConfigurationMayBeNoUtf8) {
  EXPECT_TRUE(errors_with([](RankFacts&) {}, "\"data\": \"csv:\xff\"").empty());
}

TEST(RankCheck, NamesTheRankAndWhatDiffers) {
  expect_named([](RankFacts& f) { f.version = "9.8.7"; }, "is version 9.8.7, not ");
  expect_named([](RankFacts& f) { f.config = "\"seed\": 0,\n\"batch\": 9"; },
               "has another configuration: \"batch\": 9, not \"batch\": 8");
  expect_named([](RankFacts& f) { f.data_hash = 8; },
               "has other data: hash 0000000000000008, not 0000000000000007");
  expect_named([](RankFacts& f) { f.bits ^= 1; }, "computes other bits: hash ");
}

}  // namespace
}  // namespace limpid::train
