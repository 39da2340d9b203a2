#include "limpid/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/batches.h"

namespace limpid {
namespace {

[[noreturn]] void bad_split(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "split: " + what);
}

std::string to_text(const SplitRatio& shares) {
  if (shares.folds > 0) return fmt::format("fold:{}/{}", shares.fold, shares.folds);
  return fmt::format("{}/{}/{}", shares.train, shares.validation, shares.test);
}

void check_shares(const SplitRatio& shares) {
  for (const std::int64_t share : {shares.train, shares.validation, shares.test})
    if (share < 0 || share > kMostShare)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("expected shares of 0 to {}, got {}", kMostShare, to_text(shares)));
  if ((shares.folds != 0 || shares.fold != 0) &&
      !(shares.folds >= 2 && shares.folds <= kMostFolds && shares.fold >= 1 &&
        shares.fold <= shares.folds))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected fold:K/N with 2 to {} folds N and K of them, got {}",
                            kMostFolds, to_text(shares)));
  if (shares.train == 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected a training share above 0, got {}", to_text(shares)));
}

std::size_t part_size(std::int64_t rows, std::int64_t share, std::int64_t sum) {
  if (share == 0) return 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(1, rows * share / sum));
}

Dataset part_of(const Dataset& all, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> in_order(rows.begin(), rows.end());
  std::sort(in_order.begin(), in_order.end());
  return gather_rows(all, in_order);
}

}  // namespace

SplitRatio parse_split_ratio(std::string_view text) {
  constexpr std::string_view kFold = "fold:";
  const bool of_folds = text.starts_with(kFold);
  std::vector<std::int64_t> numbers;
  bool well_formed = true;
  for (std::string_view rest = text.substr(of_folds ? kFold.size() : 0); well_formed;) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    const char* const end = part.data() + part.size();
    const auto [behind, error] = std::from_chars(part.data(), end, numbers.emplace_back());
    well_formed = error == std::errc{} && behind == end;
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  if (!well_formed || numbers.size() < 2 || numbers.size() > (of_folds ? 2u : 3u))
    throw Error(ErrorCode::kParse,
                fmt::format("expected shares like 80/10/10 (training, validation, test) or 90/10 "
                            "(no test), or a fold like fold:2/5, got {}",
                            in_quotes(text)));
  SplitRatio shares{numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
  // A fold without a number would be none.
  if (of_folds)
    shares = {.train = 90, .fold = numbers[0], .folds = std::max<std::int64_t>(1, numbers[1])};
  check_shares(shares);
  return shares;
}

Split split_rows(const Dataset& all, const SplitRatio& shares, Key key) {
  check_shares(shares);
  std::vector<std::int32_t> rows = permutation(key, all.size());
  std::size_t test = 0, validation = 0;
  if (shares.folds > 0) {
    const auto begin = rows.begin() + (shares.fold - 1) * all.size() / shares.folds;
    const auto end = rows.begin() + shares.fold * all.size() / shares.folds;
    test = static_cast<std::size_t>(end - begin);
    if (test == 0)
      bad_split(fmt::format("expected a row for each fold of {}, got {} rows", to_text(shares),
                            rows.size()));
    std::rotate(begin, end, rows.end());
    validation = part_size(all.size() - static_cast<std::int64_t>(test), shares.validation,
                           shares.train + shares.validation);
  } else {
    const std::int64_t sum = shares.train + shares.validation + shares.test;
    validation = part_size(all.size(), shares.validation, sum);
    test = part_size(all.size(), shares.test, sum);
  }
  if (rows.size() <= validation + test)
    bad_split(fmt::format("expected enough rows for each set of {}, got {}", to_text(shares),
                          rows.size()));
  const std::size_t train = rows.size() - validation - test;
  const std::span<const std::int32_t> order(rows);
  return {.train = part_of(all, order.first(train)),
          .validation = part_of(all, order.subspan(train, validation)),
          .test = part_of(all, order.last(test))};
}

Split with_validation(Split data, const SplitRatio& shares, Key key) {
  check_shares(shares);
  if (shares.test != 0 || shares.folds > 0)
    bad_split(fmt::format("the data has its own test set: expected a test share of 0, got {}",
                          to_text(shares)));
  if (data.validation.size() != 0) bad_split("the data already has a validation set");
  if (shares.validation == 0) return data;
  Split parts = split_rows(data.train, shares, key);
  parts.test = std::move(data.test);
  return parts;
}

namespace {

// Calls see(hash) for each example of arrays.
template <class See>
void hash_examples(const Dataset& data, const See& see) {
  constexpr std::int64_t kAtOnce = 256;
  for (std::int64_t first = 0; first < data.size(); first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, data.size() - first);
    const Tensor inputs = data.inputs_of(first, count);
    const Tensor targets = data.targets_of(first, count);
    const auto row = [count](const Tensor& rows, std::int64_t i) {
      const std::size_t bytes = rows.bytes().size() / static_cast<std::size_t>(count);
      return rows.bytes().subspan(static_cast<std::size_t>(i) * bytes, bytes);
    };
    for (std::int64_t i = 0; i < count; ++i)
      see(limpid::hash(row(targets, i), limpid::hash(row(inputs, i))));
  }
}

}  // namespace

std::vector<std::uint64_t> drawn_examples(const Dataset& data) {
  constexpr std::size_t kDrawn = 64;
  std::set<std::uint64_t> smallest;
  hash_examples(data, [&](std::uint64_t hash) {
    if (smallest.size() == kDrawn && hash >= *smallest.rbegin()) return;
    smallest.insert(hash);
    if (smallest.size() > kDrawn) smallest.erase(std::prev(smallest.end()));
  });
  return {smallest.begin(), smallest.end()};
}

double share_of_drawn(const std::vector<std::uint64_t>& drawn, const Dataset& data) {
  constexpr std::size_t kByChance = 3;
  if (data.windows) return 0;
  std::set<std::uint64_t> missing(drawn.begin(), drawn.end());
  const std::size_t all = missing.size();
  hash_examples(data, [&](std::uint64_t hash) { missing.erase(hash); });
  const std::size_t found = all - missing.size();
  return found < kByChance ? 0 : static_cast<double>(found) / static_cast<double>(all);
}

SplitRecord record_of(Split split, const SplitRatio& shares, std::uint64_t seed) {
  if (shares.test == 0) split.test = {};
  std::int64_t rows = split.train.size() + split.validation.size();
  if (shares.test > 0) rows += split.test.size();
  return {.shares = shares, .seed = seed, .rows = rows, .hash = hash_of_parts(split)};
}

std::uint64_t hash_of_parts(const Split& split, ThreadPool* pool) {
  struct Hashed {
    const Tensor* tensor;
    std::uint64_t hash = 0;
  };
  std::vector<Hashed> all;
  for (const Dataset* part : {&split.train, &split.validation, &split.test}) {
    all.push_back({&part->inputs});
    all.push_back({&part->targets});
    if (part->windows) all.push_back({&part->windows->tokens});
  }
  const auto hash_one = [](void* context, std::size_t i, int) {
    Hashed& one = static_cast<Hashed*>(context)[i];
    one.hash = limpid::hash(*one.tensor);
  };
  if (pool)
    pool->run(all.size(), hash_one, all.data());
  else
    for (std::size_t i = 0; i < all.size(); ++i) hash_one(all.data(), i, 0);
  std::uint64_t h = 0;
  for (const Hashed& one : all) h = limpid::hash(std::as_bytes(std::span(&one.hash, 1)), h);
  return h;
}

}  // namespace limpid
