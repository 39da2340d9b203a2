// The graph of a model with its layers and blocks; its parameters; and any value as numbers.
// Depends on subject.h and numbers.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/view/numbers.h"
#include "limpid/view/subject.h"

namespace limpid::view {

struct Graph {
  enum class Kind : std::uint8_t { kInput, kParameter, kResult };
  struct GraphValue {
    std::string name = {};  // "%3"
    Type type = {};
    Kind kind = Kind::kResult;
    std::int64_t node = -1;  // the node that computes it; -1: none
  };
  struct GraphNode {
    std::string op, note;                                 // "reduce", "axis = 1"
    std::int64_t group = -1;                              // its innermost group; -1: none
    std::vector<std::int64_t> inputs = {}, outputs = {};  // value indices
    std::int64_t parameters = 0;  // elements of the parameters that it is the first to use
    std::int64_t multiply_adds = 0;
    bool body = false;  // it is a composition
  };
  // The nodes of a scope, "layers.0", and of the scopes below it.
  struct Group {
    std::string name = {};
    std::int64_t parent = -1;  // index of the parent, which is before it; -1: none
    bool layer = true;         // it has ops of its own
    std::int64_t nodes = 0, parameters = 0;
  };
  // `from` is a node index; if negative, it stands for the value -1 - from, an input.
  struct Edge {
    std::int64_t from = 0, to = 0, value = 0;
  };

  std::string name = {};
  std::vector<GraphValue> values = {};
  std::vector<GraphNode> nodes = {};
  std::vector<Group> groups = {};
  std::vector<Edge> edges = {};
  std::vector<Output> outputs = {};
};

// The graph of a Function; inputs named in `params` are parameters. Throws kUnsupported for more
// than `most` nodes.
Graph graph_of(const Function& function, const Params& params, std::int64_t most);
// The graph of the body of a composition, node `node`. Throws kInvalidArgument for another node.
Graph graph_of_body(const Function& function, std::int64_t node, std::int64_t most);
Json to_json(const Graph& graph);

// A parameter, with the distribution of its elements.
struct Parameter {
  std::string name = {};
  Type type = {};
  Statistics statistics = {};
  Histogram histogram = {};
};
std::vector<Parameter> parameters_of(const Params& params, std::int64_t bins);
Json to_json(const Parameter& parameter);

// A value of a run, or a parameter, with its elements.
struct Looked {
  std::string name = {};
  Statistics statistics = {};
  Histogram histogram = {};
  Values values = {};
};
struct Look {
  Subject subject = {};
  std::string value = {};  // "%3"
  std::optional<Box> box = {};
  std::int64_t bins = 30;
};
// Throws kNotFound for an unknown value, and what compute() throws.
Looked look(Session& session, const Look& request);

}  // namespace limpid::view
