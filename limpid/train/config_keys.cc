// The table of keys of config.h: names, ranges, what happens by default; and its reference page.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/optim/optimizer.h"
#include "limpid/train/config.h"

namespace limpid::train {
namespace {

constexpr double kMostSteps = 1e12;
constexpr double kMostRows = 1 << 24;

constexpr Task kAllTasks[] = {Task::kClassification, Task::kMultiLabel, Task::kRegression,
                              Task::kNextToken};

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task task : kAllTasks) names.emplace_back(limpid::name(task));
  return names;
}
std::vector<std::string> model_names() { return {"mlp", "charlm", "gpt"}; }
std::vector<std::string> preset_names() { return {"gpt2", "llama"}; }
std::vector<std::string> all_metric_names() {
  std::vector<std::string> names;
  for (const Task task : kAllTasks)
    for (const std::string& name : metric_names(task, 1000))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

using C = TrainConfig;

constexpr ConfigKey kKeys[] = {
    {"data", "--data", &C::data,
     "Examples to train on: digits, moons, csv:FILE,target=COLUMN, npz:FILE, ...: docs/data.md",
     "digits"},
    {.path = "task",
     .flag = "--task",
     .member = &C::task,
     .help = "What is to be learnt of the targets, where tables and arrays leave that open",
     .otherwise = "what the targets look like",
     .choices = task_names},

    {.path = "tokenizer",
     .flag = "--tokenizer",
     .member = &C::tokenizer,
     .help =
         "The tokens of a text: characters, those that it has; bytes, all 256; bpe:DIR, the byte "
         "pairs of a folder with vocab.json and merges.txt, or with tokenizer.json",
     .otherwise = "characters"},

    {.path = "model.name",
     .flag = "--model",
     .member = &C::model,
     .help = "mlp: layers from features to outputs; charlm: the next token of a text from those "
             "before it, by embeddings and layers; gpt: the same by a transformer",
     .otherwise = "mlp; text: charlm",
     .choices = model_names},
    {.path = "model.preset",
     .flag = "--preset",
     .member = &C::preset,
     .help = "The choices of GPT-2 (norm layer, feed_forward gelu_tanh, learned positions, biases) "
             "or of Llama (rms, swiglu, rotary, no biases, not tied) where nothing else is said "
             "(gpt)",
     .otherwise = "layer, gelu, learned, no biases, tied",
     .choices = preset_names},
    {.path = "model.context",
     .flag = "--context",
     .member = &C::context,
     .help = "Tokens that the model sees (charlm, gpt)",
     .otherwise = "charlm 8, gpt 64",
     .low = 1,
     .high = kMostRows},
    {.path = "model.embedding",
     .flag = "--embedding",
     .member = &C::embedding,
     .help = "Numbers that stand for each of them (charlm)",
     .otherwise = "32",
     .low = 1,
     .high = kMostRows},
    {.path = "model.hidden",
     .flag = "--hidden",
     .member = &C::hidden,
     .help = "Widths of the hidden layers; an empty list (--hidden none) is linear or logistic "
             "regression. gpt: the one of the feed-forward",
     .otherwise =
         "256,128; small recipe: 64,64; charlm: 128,128; gpt: 4 times the width, of swiglu "
         "8/3 times",
     .low = 1,
     .high = kMostRows},
    {.path = "model.layers",
     .flag = "--layers",
     .member = &C::layers,
     .help = "The same with the features in before and the outputs behind them. gpt: how many "
             "blocks",
     .otherwise = "from model.hidden and the data; gpt: 4",
     .low = 1,
     .high = kMostRows},
    {.path = "model.width",
     .flag = "--width",
     .member = &C::width,
     .help = "Numbers for each token between the blocks (gpt)",
     .otherwise = "128",
     .low = 1,
     .high = kMostRows},
    {.path = "model.heads",
     .flag = "--heads",
     .member = &C::heads,
     .help = "Heads of attention, which divide the width (gpt)",
     .otherwise = "4",
     .low = 1,
     .high = kMostRows},
    {.path = "model.kv_heads",
     .flag = "--kv-heads",
     .member = &C::kv_heads,
     .help = "Heads of keys and values, which divide the heads: fewer are grouped-query attention "
             "(gpt)",
     .otherwise = "as many as heads",
     .low = 1,
     .high = kMostRows},
    {.path = "model.activation",
     .flag = "--activation",
     .member = &C::activation,
     .help = "Between the layers",
     .otherwise = "relu",
     .choices = nn::activation_names},
    {.path = "model.norm",
     .flag = "--norm",
     .member = &C::norm,
     .help = "What normalises the values of a hidden layer, before its activation; gpt: layer or "
             "rms, before each part of a block",
     .otherwise = "none; gpt: layer",
     .choices = nn::mlp_norm_names},
    {.path = "model.feed_forward",
     .flag = "--feed-forward",
     .member = &C::feed_forward,
     .help = "The activation between the two layers of a block's feed-forward; swiglu has a third, "
             "its gate (gpt)",
     .otherwise = "gelu",
     .choices = nn::gpt_feed_forward_names},
    {.path = "model.positions",
     .flag = "--positions",
     .member = &C::positions,
     .help = "How the model knows where a token stands (gpt)",
     .otherwise = "learned",
     .choices = nn::gpt_position_names},
    {.path = "model.rotary_base",
     .flag = "--rotary-base",
     .member = &C::rotary_base,
     .help = "Base of the frequencies of rotary positions (gpt)",
     .otherwise = "10000",
     .low = 0,
     .open_low = true},
    {.path = "model.bias",
     .flag = "--bias",
     .member = &C::bias,
     .help = "Whether the projections have biases (gpt)",
     .otherwise = "false"},
    {.path = "model.tied",
     .flag = "--tied",
     .member = &C::tied,
     .help = "Whether the logits are made by the embedding's own table (gpt)",
     .otherwise = "true"},
    {.path = "model.dropout",
     .flag = "--dropout",
     .member = &C::dropout,
     .help = "Share of the hidden values that training drops; gpt: of the embedding's and of what "
             "each part of a block adds",
     .otherwise = "0.2; small recipe and text: 0",
     .low = 0,
     .high = 1,
     .open_high = true},
    {.path = "model.init",
     .flag = "--init",
     .member = &C::init,
     .help = "First values of the weights (mlp, charlm)",
     .otherwise = "he",
     .choices = nn::init_names},

    {.path = "loss.name",
     .flag = "--loss",
     .member = &C::loss,
     .help = "What training makes small",
     .otherwise = "cross_entropy; of several labels binary_cross_entropy; of numbers mse",
     .choices = loss_names},
    {.path = "loss.label_smoothing",
     .flag = "--label-smoothing",
     .member = &C::label_smoothing,
     .help = "Share of the target that is spread over all classes (cross_entropy)",
     .otherwise = "0",
     .low = 0,
     .high = 1},
    {.path = "loss.delta",
     .flag = "--huber-delta",
     .member = &C::delta,
     .help = "Error from which the loss is a line (huber)",
     .otherwise = "1",
     .low = 0,
     .open_low = true},

    {.path = "optimizer.name",
     .flag = "--optimizer",
     .member = &C::optimizer,
     .help = "What makes steps of gradients",
     .otherwise = "sgd; small recipe: adam; text: adamw",
     .choices = optim::optimizer_names},
    {.path = "optimizer.lr",
     .flag = "--lr",
     .member = &C::rate,
     .help = "Learning rate",
     .otherwise = "sgd 0.05, rmsprop 0.01, adam 0.001, adamw 0.001, adagrad 0.01; small recipe: "
                  "adam 0.005; charlm: adamw 0.002; gpt: adamw 0.003",
     .low = 0},
    {.path = "optimizer.momentum",
     .flag = "--momentum",
     .member = &C::momentum,
     .help = "Momentum (sgd, rmsprop)",
     .otherwise = "sgd 0.9, rmsprop 0",
     .low = 0,
     .high = 1},
    {.path = "optimizer.nesterov",
     .flag = "--nesterov",
     .member = &C::nesterov,
     .help = "Nesterov's form of momentum (sgd)",
     .otherwise = "false"},
    {.path = "optimizer.alpha",
     .flag = "--alpha",
     .member = &C::alpha,
     .help = "Decay of the mean square (rmsprop)",
     .otherwise = "0.99",
     .low = 0,
     .high = 1},
    {.path = "optimizer.centered",
     .flag = "--centered",
     .member = &C::centered,
     .help = "Variance instead of mean square (rmsprop)",
     .otherwise = "false"},
    {.path = "optimizer.beta1",
     .flag = "--beta1",
     .member = &C::beta1,
     .help = "Decay of the mean (adam, adamw)",
     .otherwise = "0.9",
     .low = 0,
     .high = 1,
     .open_high = true},
    {.path = "optimizer.beta2",
     .flag = "--beta2",
     .member = &C::beta2,
     .help = "Decay of the mean square (adam, adamw)",
     .otherwise = "0.999; gpt: 0.99",
     .low = 0,
     .high = 1,
     .open_high = true},
    {.path = "optimizer.amsgrad",
     .flag = "--amsgrad",
     .member = &C::amsgrad,
     .help = "Largest mean square so far (adam, adamw)",
     .otherwise = "false"},
    {.path = "optimizer.eps",
     .flag = "--eps",
     .member = &C::eps,
     .help = "What is added to the root of the mean square (all but sgd)",
     .otherwise = "rmsprop, adam, adamw 1e-8, adagrad 1e-10",
     .low = 0,
     .high = 1e30},
    {.path = "optimizer.initial_sum",
     .flag = "--initial-sum",
     .member = &C::initial_sum,
     .help = "What sums of squares begin with (adagrad)",
     .otherwise = "0",
     .low = 0,
     .high = 1e30},
    {.path = "optimizer.weight_decay",
     .flag = "--weight-decay",
     .member = &C::weight_decay,
     .help = "L2 decay; decoupled in adamw",
     .otherwise = "adamw 0.01, others 0",
     .low = 0,
     .high = 1e30},
    {.path = "optimizer.decay_vectors",
     .flag = "--decay-vectors",
     .member = &C::decay_vectors,
     .help = "Whether biases and the gains of norms decay too",
     .otherwise = "false"},

    {.path = "schedule.name",
     .flag = "--schedule",
     .member = &C::schedule,
     .help = "How the learning rate goes on",
     .otherwise = "linear; text: cosine",
     .choices = optim::schedule_names},
    {.path = "schedule.warmup",
     .flag = "--warmup",
     .member = &C::warmup,
     .help = "Steps in which the rate rises in a line",
     .otherwise = "0; gpt: 100, at most a tenth of the run",
     .low = 0,
     .high = kMostSteps},
    {.path = "schedule.decay_every",
     .flag = "--decay-every",
     .member = &C::decay_every,
     .help = "Epochs between falls (step)",
     .otherwise = "10",
     .low = 1e-6,
     .high = 1e9},
    {.path = "schedule.decay_factor",
     .flag = "--decay-factor",
     .member = &C::decay_factor,
     .help = "What each fall leaves (step)",
     .otherwise = "0.1",
     .low = 0,
     .high = 1},

    {.path = "clip.value",
     .flag = "--clip-value",
     .member = &C::clip_value,
     .help = "Largest size of a gradient's element",
     .otherwise = "no limit",
     .low = 0,
     .open_low = true},
    {.path = "clip.norm",
     .flag = "--clip-norm",
     .member = &C::clip_norm,
     .help = "Largest L2 norm of all gradients together",
     .otherwise = "no limit; gpt: 1",
     .low = 0,
     .open_low = true},

    {.path = "epochs",
     .flag = "--epochs",
     .member = &C::epochs,
     .help = "Passes over the training part",
     .otherwise = "10; small recipe: 100, and more until there are 1,000 steps; charlm: 5",
     .low = 0,
     .high = 1e9},
    {.path = "steps",
     .flag = "--steps",
     .member = &C::steps,
     .help = "The same in updates: the run ends behind so many, in the middle of an epoch where "
             "they say so",
     .otherwise = "as many as the epochs have; gpt: 2000",
     .low = 0,
     .high = kMostSteps},
    {.path = "batch",
     .flag = "--batch",
     .member = &C::batch,
     .help = "Examples of a batch",
     .otherwise = "128; small recipe: 32; charlm: 256; gpt: 12",
     .low = 1,
     .high = kMostRows},
    {.path = "accumulate",
     .flag = "--accumulate",
     .member = &C::accumulate,
     .help = "Batches whose gradients make one step together",
     .otherwise = "1",
     .low = 1,
     .high = kMostRows},
    {.path = "seed",
     .flag = "--seed",
     .member = &C::seed,
     .help = "Of the first weights, the order and the dropout",
     .otherwise = "0",
     .low = 0,
     .high = 9.2e18},

    {.path = "early_stopping.patience",
     .flag = "--patience",
     .member = &C::patience,
     .help = "Epochs without a better metric on the validation part after which training ends; the "
             "model is then the best epoch's. 0: train all epochs and keep the last",
     .otherwise = "0",
     .low = 0,
     .high = 1e9},
    {.path = "early_stopping.metric",
     .flag = "--metric",
     .member = &C::metric,
     .help = "What says which epoch is the best",
     .otherwise = "loss",
     .choices = all_metric_names},
    {.path = "early_stopping.min_delta",
     .flag = "--min-delta",
     .member = &C::min_delta,
     .help = "By more than this an epoch must be better than the best before it",
     .otherwise = "0",
     .low = 0,
     .high = 1e30},

    {.path = "check_finite",
     .flag = "--check-finite",
     .member = &C::check_finite,
     .help =
         "Look for NaN and infinity in every parameter after every step, not in the loss and in "
         "the norm of the gradient alone",
     .otherwise = "false"},
    {.path = "log_every",
     .flag = "--log-every",
     .member = &C::log_every,
     .help = "Steps between lines of the log that tell of a step",
     .otherwise = "a hundredth of an epoch",
     .low = 1,
     .high = kMostSteps},
    {.path = "probe_every",
     .flag = "--probe-every",
     .member = &C::probe_every,
     .help = "Steps between looks into the layers; 0: never",
     .otherwise =
         "an epoch, and four times in the first; a hundredth of the run where that is more",
     .low = 0,
     .high = kMostSteps},
    {.path = "sample_every",
     .flag = "--sample-every",
     .member = &C::sample_every,
     .help = "Steps between the texts that the model draws as it learns; 0: never (charlm, gpt)",
     .otherwise = "a tenth of the run",
     .low = 0,
     .high = kMostSteps},
    {.path = "checkpoint_every",
     .flag = "--checkpoint-every",
     .member = &C::checkpoint_every,
     .help = "Steps between checkpoints; 0: at the end of an epoch, where the last one is more "
             "than a second old, and every minute",
     .otherwise = "0",
     .low = 0,
     .high = kMostSteps},
};

std::string_view kind_of(const ConfigKey& key) {
  constexpr std::string_view kKinds[] = {"text", "integer", "number", "switch", "list of integers"};
  return kKinds[key.member.index()];
}

std::string range_of(const ConfigKey& key) {
  if (key.choices) return fmt::format("{}", fmt::join(key.choices(), ", "));
  if (key.low == -std::numeric_limits<double>::infinity()) return "";
  if (key.high == std::numeric_limits<double>::infinity())
    return fmt::format("{} {}", key.open_low ? "above" : "from", key.low);
  return fmt::format("{} {} {} {}", key.open_low ? "above" : "from", key.low,
                     key.open_high ? "to below" : "to", key.high);
}

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

std::string train_reference() {
  std::string page =
      "# Keys of a training configuration\n\n"
      "`limpid train --config FILE` reads a JSON object of these keys; a dot stands for an object "
      "inside of one, so that\n`optimizer.lr` is `{\"optimizer\": {\"lr\": 0.01}}`. A flag "
      "overrides the file; of a switch, `--no-tied` is the opposite of `--tied`. RUN/config.json "
      "holds all of them as they\nwere in effect. "
      "docs/training.md explains their use.\n\n"
      "Where a default names a *small recipe*, that is for everything but text and a "
      "classification of 10,000 examples or more.\n\n"
      "This page is written by `limpid train --markdown`; `./dev docs` does it.\n\n"
      "| key | flag | kind | values | default | meaning |\n|---|---|---|---|---|---|\n";
  for (const ConfigKey& key : kKeys)
    page += fmt::format("| `{}` | `{}` | {} | {} | {} | {} |\n", key.path, key.flag, kind_of(key),
                        range_of(key), key.otherwise, key.help);
  return page;
}

}  // namespace limpid::train
