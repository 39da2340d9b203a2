// Inference by the Open Inference Protocol v2: reads tensors from request bodies and writes them to
// responses, as JSON or by the binary tensor extension. Depends on models.h, receipt.h and http.h.
//
// In JSON, floating-point numbers have the fewest digits that give the same bits when read as f64
// and rounded. "NaN", "Infinity" and "-Infinity" are strings.
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
  std::string neuron;  // "LAYER:INDEX", for a trace; may be empty
  std::int64_t rows = 0;
  std::vector<Tensor> inputs;  // [rows, ...], in the order of the signature
  struct Wanted {
    std::size_t output = 0;  // index in the signature
    bool binary = false;
  };
  std::vector<Wanted> outputs;
  std::size_t output_bytes = 0;  // of all outputs of the model, wanted or not
};

// Parses a body: the first `json_bytes` bytes are JSON, the rest is tensors; without a value, all
// of it is JSON. Throws HttpError for an invalid request, one that does not match the signature, or
// beyond the limits.
InferRequest parse_infer(const Signature& model, std::string_view body,
                         std::optional<std::size_t> json_bytes, const Limits& limits);
// A request for all outputs of one example, whose body is a PNG or JPEG picture. Throws HttpError
// if the model takes none or the outputs are beyond the limits, and what read_picture throws.
InferRequest parse_picture(const Signature& model, const std::optional<PictureShape>& shape,
                           std::string_view body, const Limits& limits);
// The size of the JSON part, from the request's header; nullopt if it has none. Throws HttpError
// for an invalid number.
std::optional<std::size_t> json_bytes_of(const Request& request);

// The response, given all outputs of the model and the hash of the inputs.
Response infer_response(const Signature& model, const InferRequest& request,
                        std::span<const Tensor> outputs, std::uint64_t input_hash);

// The outputs in the body of a response, parsed like a request; nullopt for missing ones. Throws
// HttpError for an invalid response.
std::vector<std::optional<Tensor>> parse_outputs(const Signature& model, std::string_view body,
                                                 std::optional<std::size_t> json_bytes);

// Appends the numbers of a tensor, with commas between them.
void write_numbers(std::string& json, const Tensor& tensor);

// "FP32" for f32.
std::string_view v2_name(Dtype dtype);
// The metadata of a model, as JSON.
std::string metadata_json(const Signature& model, std::span<const std::int64_t> versions);

}  // namespace limpid::serve
