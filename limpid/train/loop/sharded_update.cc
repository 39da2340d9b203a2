#include "limpid/train/loop/sharded_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/sums.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/step.h"

namespace limpid::train {
namespace {

using distribute::Communicator;
using distribute::ElementRange;

std::vector<std::size_t> element_offsets(const Buffers& params) {
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params.type(i).dtype != Dtype::kF32)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("train: {} is {}, but shards are added in f32 only",
                              params.names()[i], to_string(params.type(i))));
    offsets.push_back(params.offset(i) / sizeof(float));
  }
  return offsets;
}

// Parts of about the same size. Each begins where a block of a parameter does.
std::vector<ElementRange> equal_parts(const Buffers& params, int ranks) {
  std::vector<std::size_t> blocks;  // the first element of each block
  for (std::size_t i = 0; i < params.size(); ++i)
    for (std::size_t at = 0; at < params.type(i).bytes();
         at += arithmetic::kRowBlock * sizeof(float))
      blocks.push_back((params.offset(i) + at) / sizeof(float));
  const std::size_t all = params.bytes() / sizeof(float);
  const auto beginning = [&](int rank) {
    const std::size_t wanted =
        all * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
    const auto block = std::lower_bound(blocks.begin(), blocks.end(), wanted);
    return block == blocks.end() ? all : *block;
  };
  std::vector<ElementRange> parts;
  for (int r = 0; r < ranks; ++r)
    parts.push_back({beginning(r), r + 1 == ranks ? all : beginning(r + 1)});
  return parts;
}

std::size_t blocks_in(std::size_t elements) {
  return (elements + arithmetic::kRowBlock - 1) / arithmetic::kRowBlock;
}

// Appends the sum of squares of each block of a vector.
void add_squares(const Value& x, std::vector<Value>& sums) {
  const std::int64_t n = x.shape()[0];
  constexpr auto kBlock = static_cast<std::int64_t>(arithmetic::kRowBlock);
  const std::int64_t whole = n / kBlock;
  if (whole > 0) {
    const Value blocks = reshape(slice(x, 0, 0, whole * kBlock), {whole, kBlock});
    sums.push_back(sum(blocks * blocks, 1));
  }
  if (whole * kBlock == n) return;
  const Value rest = slice(x, 0, whole * kBlock, n);
  sums.push_back(reshape(sum(rest * rest), {1}));
}

// The global norm, as optim::global_norm adds it: `squares` has the sums of all blocks, in the
// order of the parameters.
float norm_of(std::span<const Input> parameters, std::span<const float> squares) {
  const DefaultFloatMode mode;
  float all = 0;
  auto next = squares.begin();
  for (const Input& p : parameters) {
    arithmetic::Tree<float> tree;
    for (std::size_t b = 0; b < blocks_in(p.type.bytes() / sizeof(float)); ++b) tree.add(*next++);
    all += tree.total();
  }
  return std::sqrt(all);
}

}  // namespace

ShardedUpdate::ShardedUpdate(const Problem& problem, const UpdateRule& rule, const Buffers& params,
                             std::int64_t shards, std::size_t tail, std::optional<bool> divided,
                             Communicator* ranks, ThreadPool* pool)
    : rule_(rule),
      parameters_(problem.parameters()),
      offsets_(element_offsets(params)),
      elements_(params.bytes() / sizeof(float)),
      ranks_(ranks),
      divided_(ranks && divided.value_or(!distribute::sum_whole(elements_, size()))),
      parts_(divided_
                 ? equal_parts(params, size())
                 : std::vector<ElementRange>(static_cast<std::size_t>(size()), {0, elements_})),
      pieces_(pieces_of(rank())),
      sum_(ranks, {shards, parts_, elements_, tail}, pool),
      own_squares_(2 * blocks_of(rank())) {
  place_state();
  if (pieces_.empty()) return;
  squares_.emplace(compile(squares_function()), pool);
  update_.emplace(compile(update_function()), pool);
}

std::vector<ShardedUpdate::Piece> ShardedUpdate::pieces_of(int rank) const {
  const ElementRange& part = parts_[static_cast<std::size_t>(rank)];
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::size_t first = offsets_[i];
    const std::size_t last = first + parameters_[i].type.bytes() / sizeof(float);
    const std::size_t begin = std::max(first, part.begin), end = std::min(last, part.end);
    if (begin < end) pieces.push_back({i, begin - first, end - first});
  }
  return pieces;
}

std::size_t ShardedUpdate::blocks_of(int rank) const {
  std::size_t blocks = 0;
  for (const Piece& p : pieces_of(rank)) blocks += blocks_in(p.end - p.begin);
  return blocks;
}

// Pieces of matrices stay matrices, since optimisers treat vectors differently (weight decay).
std::vector<Input> ShardedUpdate::inputs_of(const std::vector<Piece>& pieces) const {
  std::vector<Input> inputs;
  for (const Piece& p : pieces) {
    const auto elements = static_cast<std::int64_t>(p.end - p.begin);
    const bool is_matrix = parameters_[p.parameter].type.shape.rank() >= 2;
    inputs.push_back({parameters_[p.parameter].name,
                      {Dtype::kF32, is_matrix ? Shape{1, elements} : Shape{elements}}});
  }
  return inputs;
}

// A tensor of the state belongs to the parameter with the longest name that the tensor's name ends
// with, if it has the shape of the parameter.
void ShardedUpdate::place_state() {
  whole_state_ = optim::state_inputs(rule_.optimizer, parameters_);
  for (const Input& s : whole_state_) {
    Place place;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Input& p = parameters_[i];
      if (!s.name.ends_with("." + p.name) || !(s.type == p.type)) continue;
      if (!place.parameter || p.name.size() > parameters_[*place.parameter].name.size())
        place.parameter = i;
    }
    places_.push_back(place);
  }
}

// ---- the optimiser's state

Params ShardedUpdate::first_state() const {
  Params zeros;
  for (const Input& p : inputs_of(pieces_)) zeros.set(p.name, Tensor::zeros(p.type));
  return optim::init(rule_.optimizer, zeros);
}

Params ShardedUpdate::part_of(const Params& state) const {
  Params part = first_state();
  for (std::size_t i = 0; i < whole_state_.size(); ++i) {
    const std::string& name = whole_state_[i].name;
    const Tensor* const mine = part.find(name);
    if (!mine) continue;
    std::size_t begin = 0;
    for (const Piece& p : pieces_)
      if (places_[i].parameter == p.parameter) begin = p.begin * sizeof(float);
    part.set(name, Tensor::generate_bytes(mine->type(), [&](std::span<std::byte> out) {
               std::memcpy(out.data(), state.at(name).bytes().data() + begin, out.size());
             }));
  }
  return part;
}

Params ShardedUpdate::whole(const Buffers& state) const {
  if (rank() > 0 && !divided_) return state.values();
  if (rank() > 0) {
    std::vector<Communicator::Sent> sent;
    for (std::size_t i = 0; i < whole_state_.size(); ++i)
      for (const Piece& p : pieces_)
        if (places_[i].parameter == p.parameter)
          sent.push_back(
              {0,
               {state.now(state.index(whole_state_[i].name)), (p.end - p.begin) * sizeof(float)}});
    ranks_->exchange(sent, {});
    return state.values();
  }
  Params whole;
  std::vector<Communicator::Received> received;
  std::vector<std::vector<Piece>> pieces;
  const int owners = divided_ ? size() : 1;
  for (int r = 0; r < owners; ++r) pieces.push_back(pieces_of(r));
  std::vector<Type> types;
  for (const Input& s : whole_state_) types.push_back(s.type);
  const std::vector<Tensor> tensors = generate_together(types, [&](std::span<void* const> memory) {
    for (std::size_t i = 0; i < whole_state_.size(); ++i) {
      auto* const out = static_cast<std::byte*>(memory[i]);
      const std::size_t mine = state.index(whole_state_[i].name);
      if (!places_[i].parameter) {
        std::memcpy(out, state.now(mine), types[i].bytes());
        continue;
      }
      for (int r = 0; r < owners; ++r)
        for (const Piece& p : pieces[static_cast<std::size_t>(r)]) {
          if (places_[i].parameter != p.parameter) continue;
          std::byte* const at = out + p.begin * sizeof(float);
          const std::size_t bytes = (p.end - p.begin) * sizeof(float);
          if (r == 0)
            std::memcpy(at, state.now(mine), bytes);
          else
            received.push_back({r, {at, bytes}});
        }
    }
    if (divided_) ranks_->exchange({}, received);
  });
  for (std::size_t i = 0; i < whole_state_.size(); ++i) whole.set(whole_state_[i].name, tensors[i]);
  return whole;
}

// ---- the update

// Inputs: the pieces of the gradient. Outputs: the sums of squares of their blocks; and if values
// are clipped, those of the clipped gradient.
Function ShardedUpdate::squares_function() const {
  std::vector<Input> inputs = inputs_of(pieces_);
  for (Input& i : inputs) i.type.shape = {i.type.shape.elements()};
  return trace("gradient_squares", inputs, [&](std::span<const Value> in) {
    std::vector<Value> sums, clipped;
    Args gradients;
    for (std::size_t i = 0; i < in.size(); ++i) gradients.set(inputs[i].name, in[i]);
    for (const auto& [name, g] : gradients) add_squares(g, sums);
    std::vector<Value> outputs{concatenate(sums, 0)};
    if (rule_.clip.value) {
      for (const auto& [name, g] : optim::clip_by_value(gradients, *rule_.clip.value))
        add_squares(g, clipped);
      outputs.push_back(concatenate(clipped, 0));
    }
    return outputs;
  });
}

// Inputs: the pieces of parameters, gradient and state, "rate", and if the norm is clipped, "norm".
// Outputs: the next parameters and state.
Function ShardedUpdate::update_function() const {
  const std::vector<Input> params = inputs_of(pieces_);
  const std::vector<Input> state = optim::state_inputs(rule_.optimizer, params);
  std::vector<Input> inputs = params;
  for (const Input& p : params) inputs.push_back({Args::join("gradient", p.name), p.type});
  inputs.insert(inputs.end(), state.begin(), state.end());
  inputs.push_back({"rate", {Dtype::kF32, {}}});
  if (rule_.clip.norm) inputs.push_back({"norm", {Dtype::kF32, {}}});
  return trace("sharded_update", inputs, [&](std::span<const Value> in) {
    const std::size_t n = params.size();
    Args values, gradients, moments;
    for (std::size_t i = 0; i < n; ++i) {
      values.set(params[i].name, in[i]);
      gradients.set(params[i].name, in[n + i]);
    }
    for (std::size_t i = 0; i < state.size(); ++i) moments.set(state[i].name, in[2 * n + i]);
    const std::size_t rate = 2 * n + state.size();
    if (rule_.clip.value) gradients = optim::clip_by_value(gradients, *rule_.clip.value);
    Value scale;
    if (rule_.clip.norm) scale = optim::global_norm_scale(in[rate + 1], *rule_.clip.norm);
    const optim::Update next =
        optim::update(rule_.optimizer, values, gradients, moments, in[rate], scale);
    std::vector<Value> outputs = next.params.values();
    for (const Input& s : state) outputs.push_back(next.state.at(s.name));
    return outputs;
  });
}

// Finishes the sum. Wishes and hashes of all ranks come with the same messages.
distribute::Reduction::Sum ShardedUpdate::finish_sum(std::span<const std::uint64_t> hashes,
                                                     Made& made) {
  std::vector<std::vector<std::uint64_t>> notes;  // of each rank: wishes, hashes
  for (int r = 0; r < size(); ++r) {
    const auto shards = distribute::shards_of(sum_.all_shards(), size(), r).size();
    notes.emplace_back(1 + (hashes.empty() ? 0 : static_cast<std::size_t>(shards)));
  }
  std::vector<std::uint64_t>& own = notes[static_cast<std::size_t>(rank())];
  own[0] = made.wishes;
  std::copy(hashes.begin(), hashes.end(), own.begin() + 1);
  std::vector<std::span<std::byte>> memory;
  for (auto& note : notes) memory.push_back(std::as_writable_bytes(std::span(note)));
  const distribute::Reduction::Sum sum = sum_.finish(std::as_bytes(std::span(own)), memory);
  for (const auto& note : notes) {
    made.wishes |= static_cast<std::uint32_t>(note[0]);
    made.hashes.insert(made.hashes.end(), note.begin() + 1, note.end());
  }
  return sum;
}

// The sums of squares of all blocks, in the order of the parameters: of the gradient, and if values
// are clipped, of the clipped gradient.
std::vector<std::vector<float>> ShardedUpdate::gather_squares() {
  const std::size_t kinds = rule_.clip.value ? 2 : 1;
  const std::span<const float> own = std::span(own_squares_).first(kinds * blocks_of(rank()));
  std::vector<std::vector<float>> of_rank;
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  for (int r = 0; r < (divided_ ? size() : 1); ++r) of_rank.emplace_back(kinds * blocks_of(r));
  of_rank[divided_ ? static_cast<std::size_t>(rank()) : 0].assign(own.begin(), own.end());
  for (int r = 0; r < size() && divided_; ++r) {
    if (r == rank()) continue;
    sent.push_back({r, std::as_bytes(own)});
    received.push_back(
        {r, std::as_writable_bytes(std::span(of_rank[static_cast<std::size_t>(r)]))});
  }
  if (divided_) ranks_->exchange(sent, received);
  std::vector<std::vector<float>> sums(kinds);
  for (const std::vector<float>& squares : of_rank)
    for (std::size_t k = 0; k < kinds; ++k) {
      const auto from = squares.begin() + static_cast<std::ptrdiff_t>(k * (squares.size() / kinds));
      sums[k].insert(sums[k].end(), from,
                     from + static_cast<std::ptrdiff_t>(squares.size() / kinds));
    }
  return sums;
}

ShardedUpdate::Made ShardedUpdate::operator()(const Buffers& params, const Buffers& state,
                                              float rate, std::uint32_t wishes,
                                              std::span<const std::uint64_t> hashes) {
  Made made;
  made.wishes = wishes;
  const distribute::Reduction::Sum sum = finish_sum(hashes, made);
  made.tail = sum.tail;
  const std::size_t first = parts_[static_cast<std::size_t>(rank())].begin;
  std::vector<const void*> gradients;
  for (const Piece& p : pieces_)
    gradients.push_back(sum.part + (offsets_[p.parameter] + p.begin - first));
  if (squares_) {
    void* const outputs[] = {own_squares_.data(), own_squares_.data() + blocks_of(rank())};
    squares_->run(gradients, std::span(outputs).first(rule_.clip.value ? 2 : 1));
  }
  const std::vector<std::vector<float>> squares = gather_squares();
  made.gradient_norm = norm_of(parameters_, squares.front());
  made.finite = std::isfinite(sum.tail[0]) && std::isfinite(made.gradient_norm);
  if (!made.finite) return made;

  if (update_) {
    const float norm = norm_of(parameters_, squares.back());
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const Piece& p : pieces_) {
      inputs.push_back(params.now(p.parameter) + p.begin * sizeof(float));
      outputs.push_back(params.next(p.parameter) + p.begin * sizeof(float));
    }
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    for (std::size_t i = 0; i < state.size(); ++i) {
      inputs.push_back(state.now(i));
      outputs.push_back(state.next(i));
    }
    inputs.push_back(&rate);
    if (rule_.clip.norm) inputs.push_back(&norm);
    update_->run(inputs, outputs);
  }
  if (divided_) gather_parameters(params);
  return made;
}

void ShardedUpdate::gather_parameters(const Buffers& params) {
  const auto part = [&](int r) {
    const ElementRange& range = parts_[static_cast<std::size_t>(r)];
    return std::span(params.next() + range.begin * sizeof(float), range.size() * sizeof(float));
  };
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    sent.push_back({r, part(rank())});
    received.push_back({r, part(r)});
  }
  ranks_->exchange(sent, received);
}

bool ShardedUpdate::all_agree(bool here) {
  if (!ranks_) return here;
  const std::byte mine{here};
  bool all = here;
  for (const auto& theirs : distribute::all_gather(*ranks_, std::span(&mine, 1)))
    all = all && theirs.at(0) != std::byte{0};
  return all;
}

}  // namespace limpid::train
