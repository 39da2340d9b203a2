// How cost grows: time against batch, width and depth on one and two threads, the memory of a plan
// against the sum of its tensors, and the time to compile against the number of ops. Tables, and
// plots as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "bench/arguments.h"
#include "bench/plot.h"
#include "bench/prepared.h"
#include "bench/report.h"
#include "bench/timing.h"

namespace bench {
namespace {

namespace lp = limpid;

struct Settings {
  bool quick = false;
  double milliseconds = 200;
  std::filesystem::path out;
};

// ---- what grows

lp::Function forward_pass(const std::vector<std::int64_t>& sizes, std::int64_t batch) {
  const lp::nn::Mlp net = lp::nn::mlp(sizes, lp::relu);
  return lp::vmap(lp::bind(net.function(), some_params(net)), {0}, batch);
}

lp::Function digits(std::int64_t batch) { return forward_pass({784, 256, 128, 10}, batch); }

lp::Function of_depth(std::int64_t layers, std::int64_t batch) {
  return forward_pass(std::vector<std::int64_t>(static_cast<std::size_t>(layers) + 1, 256), batch);
}

lp::Function training_step(std::int64_t layers, std::int64_t width, std::int64_t batch) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(layers) + 1, width);
  return lp::train::step_function(lp::train::mlp_problem(lp::nn::mlp(sizes, lp::relu)),
                                  {lp::optim::AdamW{}}, batch);
}

// A chain of element-wise ops.
lp::Function element_chain(int ops) {
  return lp::trace("elements", {{"x", {lp::Dtype::kF32, {64}}}},
                   [&](std::span<const lp::Value> in) {
                     lp::Value x = in[0];
                     for (int i = 0; i < ops; ++i) x = i % 2 ? lp::tanh(x) : x * in[0];
                     return std::vector<lp::Value>{x};
                   });
}

// A chain of products and ReLUs.
lp::Function product_chain(int ops) {
  const lp::Type square{lp::Dtype::kF32, {8, 8}};
  return lp::trace("products", {{"x", square}, {"w", square}}, [&](std::span<const lp::Value> in) {
    lp::Value x = in[0];
    for (int i = 0; i < ops; i += 2) x = lp::relu(lp::matmul(x, in[1]));
    return std::vector<lp::Value>{x};
  });
}

// One value that all ops read, and the sum of their results.
lp::Function fan(int ops) {
  return lp::trace("fan", {{"x", {lp::Dtype::kF32, {64}}}}, [&](std::span<const lp::Value> in) {
    std::vector<lp::Value> parts;
    for (int i = 0; i < ops; i += 5) parts.push_back(lp::exp(in[0] * (0.5 + i)));
    lp::Value sum = in[0];
    for (const lp::Value& part : parts) sum = sum + part;
    return std::vector<lp::Value>{sum};
  });
}

// ---- sections: a table, and a plot of the same figures

struct Section {
  std::string file;  // of the plot
  Plot plot;
  Table table;
};

std::vector<std::int64_t> powers(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = first; n <= last; n *= factor) all.push_back(n);
  return all;
}

// The exponent of growth since the previous point: y grows as x to this power.
std::string exponent(const Curve& curve) {
  if (curve.points.size() < 2) return "";
  const auto& [x1, y1] = curve.points.back();
  const auto& [x0, y0] = *(curve.points.end() - 2);
  return fmt::format("{:.2f}", std::log(y1 / y0) / std::log(x1 / x0));
}

struct Line {
  std::string name;
  int threads;
  std::function<lp::Function(std::int64_t)> function;
};

Section times(const std::string& file, const std::string& title, const std::string& what,
              const std::vector<std::int64_t>& sizes, const std::vector<Line>& lines,
              double milliseconds) {
  Section section{file,
                  {title, what, "microseconds a call", {}},
                  {title + ", microseconds a call", {}, {}, {}}};
  for (const Line& line : lines) {
    section.plot.curves.push_back({line.name, {}});
    section.table.columns.push_back(line.name);
    section.table.columns.emplace_back("grows as");
  }
  for (const std::int64_t size : sizes) {
    std::vector<std::string> row;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      Prepared prepared(lines[i].function(size), lines[i].threads);
      const double ns = time_calls([&] { prepared.run(); }, milliseconds).nanoseconds;
      section.plot.curves[i].points.emplace_back(size, ns / 1e3);
      row.push_back(number(ns / 1e3));
      row.push_back(exponent(section.plot.curves[i]));
    }
    section.table.add(fmt::format("{} {}", what, size), std::move(row));
  }
  return section;
}

// Of the results of all ops, except constants.
double tensor_bytes(const lp::Function& f) {
  double sum = 0;
  for (const lp::Node& node : f.nodes()) {
    if (node.op->name == "constant") continue;
    for (std::size_t i = 0; i < f.output_count(node); ++i)
      sum += static_cast<double>(f.type(node.first_output + static_cast<lp::ValueId>(i)).bytes());
  }
  return sum;
}

Section memory(const std::vector<std::int64_t>& depths) {
  const std::string title = "Memory of a plan, width 256, batch 32";
  Section section{"memory", {title, "layers", "KiB", {}}, {title + ", KiB", {}, {}, {}}};
  const std::vector<Line> lines = {
      {"forward pass", 1, [](std::int64_t layers) { return of_depth(layers, 32); }},
      {"AdamW step", 1, [](std::int64_t layers) { return training_step(layers, 256, 32); }}};
  for (const Line& line : lines)
    for (const char* what : {"sum of tensors", "workspace"}) {
      section.plot.curves.push_back({line.name + ", " + what, {}});
      section.table.columns.push_back(line.name + ", " + what);
    }
  for (const std::int64_t depth : depths) {
    std::vector<std::string> row;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const lp::Function f = lines[i].function(depth);
      const double values[] = {tensor_bytes(lp::expand(f)) / 1024,
                               static_cast<double>(lp::compile(f).workspace_bytes()) / 1024};
      for (std::size_t k = 0; k < 2; ++k) {
        row.push_back(number(values[k]));
        if (values[k] > 0) section.plot.curves[2 * i + k].points.emplace_back(depth, values[k]);
      }
    }
    section.table.add(fmt::format("{} layers", depth), std::move(row));
  }
  return section;
}

double milliseconds_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  double best = INFINITY;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

Section compiling(const std::vector<std::int64_t>& sizes) {
  const std::string title = "Time to compile, by ops";
  Section section{
      "compile", {title, "ops", "milliseconds", {}}, {title + ", milliseconds", {}, {}, {}}};
  struct Graph {
    std::string name;
    std::function<lp::Function(int)> make;
  };
  const std::vector<Graph> graphs = {{"element-wise chain", element_chain},
                                     {"products and ReLUs", product_chain},
                                     {"fan", fan},
                                     {"AdamW step of a deep network", [](int ops) {
                                        // 24 ops per layer and about 30 others.
                                        return training_step(std::max(1, (ops - 30) / 24), 8, 4);
                                      }}};
  section.table.columns = {"ops", "trace", "simplify", "compile", "compile grows as"};
  for (const Graph& graph : graphs) {
    Curve curve{graph.name, {}};
    for (const std::int64_t size : sizes) {
      const int wanted = static_cast<int>(size);
      lp::Function f;
      const double trace = milliseconds_of([&] { f = graph.make(wanted); });
      const double simplify = milliseconds_of([&] { lp::simplify(f); });
      const double compile = milliseconds_of([&] { lp::compile(f); });
      const std::size_t ops = f.nodes().size();
      curve.points.emplace_back(static_cast<double>(ops), compile);
      section.table.add(graph.name, {std::to_string(ops), number(trace), number(simplify),
                                     number(compile), exponent(curve)});
    }
    section.plot.curves.push_back(std::move(curve));
  }
  return section;
}

std::vector<Section> all_sections(const Settings& settings) {
  const auto one_and_two = [](const std::string& name, auto function) {
    return std::vector<Line>{{name + "1 thread", 1, function}, {name + "2 threads", 2, function}};
  };
  const auto by_batch = [&](const std::string& name, auto of_size_and_batch) {
    std::vector<Line> lines;
    for (const std::int64_t batch : {1, 32})
      for (const Line& line :
           one_and_two(fmt::format("{}batch {}, ", name, batch),
                       [=](std::int64_t n) { return of_size_and_batch(n, batch); }))
        lines.push_back(line);
    return lines;
  };
  const std::int64_t step = settings.quick ? 4 : 2;
  const double ms = settings.milliseconds;
  return {
      times("batch", "Forward pass of 784-256-128-10", "batch",
            powers(1, settings.quick ? 4096 : 65536, step), one_and_two("", digits), ms),
      times("width", "A linear layer", "width", powers(16, settings.quick ? 4096 : 16384, step),
            by_batch("",
                     [](std::int64_t width, std::int64_t batch) {
                       return forward_pass({width, width}, batch);
                     }),
            ms),
      times("depth", "Linear layers of 256 with ReLU", "layers", powers(1, 256, step),
            by_batch("", of_depth), ms),
      memory(powers(1, settings.quick ? 64 : 256, step)),
      compiling(settings.quick ? std::vector<std::int64_t>{100, 1000, 10000}
                               : std::vector<std::int64_t>{30, 100, 300, 1000, 3000, 10000}),
  };
}

void run(const Settings& settings) {
  const Machine machine = this_machine();
  std::string text = markdown(machine) + "\n";
  Json figures = {{"machine", json(machine)}, {"plots", Json::object()}};
  for (const Section& section : all_sections(settings)) {
    text += section.table.markdown() + "\n";
    for (const Curve& curve : section.plot.curves) {
      Json& points = figures["plots"][section.file][curve.name] = Json::array();
      for (const auto& [x, y] : curve.points) points.push_back(std::vector{x, y});
    }
    if (settings.out.empty()) continue;
    const std::filesystem::path plots = settings.out / "plots";
    std::filesystem::create_directories(plots);
    write(plots / (section.file + ".svg"), svg(section.plot));
    text += fmt::format("![{}](plots/{}.svg)\n\n", section.plot.title, section.file);
  }
  publish(settings.out, "growth", text, figures);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments("How limpid's cost grows with batch, width, depth, threads and ops.");
  bench::Settings settings;
  arguments.option("milliseconds", settings.milliseconds, 1, 1e4, "Time for each point");
  arguments.flag("quick", settings.quick, "Fewer and smaller sizes, 10 ms per point");
  arguments.option("out", settings.out,
                   "Write growth.md, growth.json and the plots into this folder");
  return arguments.run(argc, argv, [&] {
    if (settings.quick) settings.milliseconds = 10;
    bench::run(settings);
  });
}
