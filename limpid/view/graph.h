// The graph of a model as columns, with the layers and blocks that it folds into; its parameters;
// and any value as numbers. Leans on subject.h and numbers.h.
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
    std::int64_t node = -1;  // that makes it
  };
  struct GraphNode {
    std::string op, note;                                 // "reduce", "axis = 1"
    std::int64_t group = -1;                              // the innermost it belongs to
    std::vector<std::int64_t> inputs = {}, outputs = {};  // values
    std::int64_t parameters = 0;  // elements of those it is the first to use
    std::int64_t multiply_adds = 0;
    bool body = false;  // whether it is a composition
  };
  // What was written in one scope, "layers.0", or in those below it.
  struct Group {
    std::string name = {};
    std::int64_t parent = -1;  // before it
    bool layer = true;         // has ops of its own
    std::int64_t nodes = 0, parameters = 0;
  };
  // From a node, or from value -1 - from, an input.
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

// Of a Function; values named in `params` are parameters. Throws kUnsupported for more nodes than
// `most`.
Graph graph_of(const Function& function, const Params& params, std::int64_t most);
// Of the body of node `node`, a composition. Throws kInvalidArgument for another node.
Graph graph_of_body(const Function& function, std::int64_t node, std::int64_t most);
Json to_json(const Graph& graph);

// A parameter, and how its elements are spread.
struct Parameter {
  std::string name = {};
  Type type = {};
  Statistics statistics = {};
  Histogram histogram = {};
};
std::vector<Parameter> parameters_of(const Params& params, std::int64_t bins);
Json to_json(const Parameter& parameter);

// A value of a run, or a parameter, as numbers.
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
// Throws kNotFound for a value that there is not, and what compute() throws.
Looked look(Session& session, const Look& request);

}  // namespace limpid::view
