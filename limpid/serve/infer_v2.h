// Inference of the Open Inference Protocol v2: tensors out of a request's body, and into an
// answer's, as JSON or as the binary tensor extension has them. Leans on models.h, receipt.h and
// http.h.
//
// In JSON, numbers of f32, f64, f16 and bf16 are the shortest that read back as the same bits where
// they are read as f64 and rounded, which JSON's readers do; "NaN", "Infinity" and "-Infinity" are
// strings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/serve/http.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/models.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {

struct InferRequest {
  std::string id;
  std::string neuron;  // "LAYER:INDEX", of a trace; may be empty
  std::int64_t rows = 0;
  std::vector<Tensor> inputs;  // [rows, ...], in the order of the signature
  struct Wanted {
    std::size_t output = 0;  // of the signature
    bool binary = false;
  };
  std::vector<Wanted> outputs;
};

// Reads a body, of which the first `json_bytes` are JSON and the rest are tensors; without a number
// all of it is JSON. Throws HttpError for what is no such request, does not fit the signature, or
// is beyond the limits.
InferRequest parse_infer(const Signature& model, std::string_view body,
                         std::optional<std::size_t> json_bytes, const Limits& limits);
// The bytes of JSON that a request says it begins with. Throws HttpError for what is no number.
std::optional<std::size_t> json_bytes_of(const Request& request);

// The answer, all outputs of the model and the hash of the inputs being given.
Response infer_response(const Signature& model, const InferRequest& request,
                        std::span<const Tensor> outputs, std::uint64_t input_hash);

// Of an answer's body, taken apart as a request's: the outputs that it has. Throws HttpError for
// what is no such answer.
std::vector<std::optional<Tensor>> parse_outputs(const Signature& model, std::string_view body,
                                                 std::optional<std::size_t> json_bytes);

// "FP32" for f32.
std::string_view v2_name(Dtype dtype);
// A model as its metadata, in JSON.
std::string metadata_json(const Signature& model, std::span<const std::int64_t> versions);

}  // namespace limpid::serve
