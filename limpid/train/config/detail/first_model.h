// The model that a run begins with (`--from`): its network, its weights, and which of them stay as
// they are (`--freeze`). Depends on formats/model.h and complete.h.
#pragma once

#include <cstdint>
#include <optional>

#include "limpid/formats/model.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train::detail {

// The model of config.from: a model file, a run folder or a Hugging Face folder; nullopt if the
// configuration names none. Throws what open_model throws.
std::optional<Model> first_model(const TrainConfig& config);

// The configuration with what the network of config.from says of it: the family, and the context
// and tokenizer of a language model; unchanged if it names none. Throws kInvalidArgument, naming
// the key, for choices that the network makes, and for a network of no family; and what first_model
// throws.
TrainConfig with_first_network(TrainConfig config);

// The network of `first` for this data, with its weights as first values. A last layer of another
// size is drawn anew, as the notes of the training set say. The parameters that config.freeze names
// are non-trainable state; with config.lora_rank all that do not begin anew are, and the adapters
// of lora_of(config) are trained. Throws kInvalidArgument, naming the key, if the network does not
// fit the data, and for names that are no parameters of `first`.
FamilyModel go_on_with(const Model& first, const TrainConfig& config, Split& data);

// A hash of the weights and the network.
std::uint64_t hash_of(const Model& first);

}  // namespace limpid::train::detail
