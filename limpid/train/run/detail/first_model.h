// The model that a run begins with (`--from`): its network, its weights, and which of them stay as
// they are (`--freeze`). Depends on models/open_model.h and config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "limpid/formats/model.h"
#include "limpid/train/config/config.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {

// The model of config.from: a model file, a run folder or a Hugging Face folder; nullopt if the
// configuration names none. Throws what open_model throws.
std::optional<Model> first_model(const TrainConfig& config);

// The configuration with what the network of `first` says of it: the family, and the context and
// tokenizer of a language model. Throws kInvalidArgument, naming the key, for choices that the
// network makes, and for a network of no family.
TrainConfig with_network(TrainConfig config, const Model& first);

// The network of `first` for this data, with its weights as first values. A last layer of another
// size is drawn anew, as the notes of the training set say. The parameters that config.freeze names
// are non-trainable state. Throws kInvalidArgument, naming the key, if the network does not fit
// the data, and for names that are no parameters of `first`.
detail::FamilyModel go_on_with(const Model& first, const TrainConfig& config, Split& data);

// A hash of the weights and the network.
std::uint64_t hash_of(const Model& first);

}  // namespace limpid::train
