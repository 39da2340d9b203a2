// Digits from data to answers: load, train, save, load, evaluate.
//
//   digits            a few thousand digits that Limpid draws itself
//   digits DIR        MNIST's four files
#include <limpid/limpid.h>

#include <cstdio>
#include <exception>
#include <thread>

namespace lp = limpid;

constexpr const char* kFile = "digits.safetensors";

lp::Split load(int argc, char** argv) {
  lp::Split data = argc > 1 ? lp::load_idx_folder(argv[1]) : lp::digits_split(0, 6000, 1000);
  // A tenth of the training part decides which epoch was the best; the test part is for the end.
  return lp::with_validation(std::move(data), {.train = 90, .validation = 10, .test = 0},
                             lp::Key{0});
}

void train(const lp::Split& data, lp::ThreadPool& pool) {
  const std::int64_t pixels = data.train.inputs.shape().back();
  const auto net = lp::nn::mlp({pixels, 128, data.train.classes}, lp::relu, /*dropout=*/0.1);
  const lp::train::TrainOptions options{
      .epochs = 4,
      .batch = 64,
      .schedule = {.kind = lp::optim::Schedule::Kind::kCosine, .rate = 0.002},
      .rule = {.optimizer = lp::optim::AdamW{}},
      .seed = 1,
  };
  lp::train::Trainer trainer(lp::train::mlp_problem(net), data, options, &pool);
  while (trainer.ending() == lp::train::Ending::kNone) {
    const auto epoch = trainer.step().epoch;
    if (epoch)
      std::printf("epoch %d  loss %.4f\n", static_cast<int>(epoch->epoch), epoch->train.at("loss"));
  }
  lp::save_model(kFile, {trainer.problem().inference, trainer.model(), net.config()});
}

void evaluate(const lp::Dataset& test, lp::ThreadPool& pool) {
  const lp::Model model = lp::load_model(kFile);
  const lp::Tensor logits = lp::predict(model, test.inputs, &pool);
  const lp::train::TestResult result = lp::train::classification_metrics(logits, test.targets);
  for (const auto& [name, value] : result.metrics) std::printf("%s %.4f\n", name.c_str(), value);

  // One answer, with its probabilities.
  const lp::Function softmax = lp::trace("probabilities", {{"logits", logits.rows(0, 1).type()}},
                                         [](auto in) { return std::vector{lp::softmax(in[0])}; });
  const lp::Tensor first = lp::interpret(softmax, std::vector{logits.rows(0, 1)}).front();
  std::printf("the first image is a %d:", test.targets.values<std::int32_t>()[0]);
  for (const float p : first.values<float>()) std::printf(" %.3f", static_cast<double>(p));
  std::printf("\n");
}

int main(int argc, char** argv) {
  try {
    lp::ThreadPool pool({.threads = static_cast<int>(std::thread::hardware_concurrency())});
    const lp::Split data = load(argc, argv);
    train(data, pool);
    evaluate(data.test, pool);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 1;
  }
}
