#include "models/run/parts/make_trainer_options.h"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "kernels/conv/choice/direct_methods.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/make_encryption.h"

namespace dtnn {
namespace {

ModelSyncOptions ModelSyncOf(const RunOptions& options) {
  return {.frequency = options.sync.model_steps.number(),
          .weighting = options.sync.weighting,
          .participation = options.sync.participation,
          .min_available = int(std::min<int64_t>(options.sync.min_available, INT_MAX))};
}

}  // namespace

GradientReducerOptions ReducerOptionsOf(const RunOptions& options) {
  GradientReducerOptions reducer = {.blocking = options.sync.blocking};
  if (options.sync.compression == "fp16") reducer.wire = HalfType::kFloat16;
  if (options.sync.compression == "bf16") reducer.wire = HalfType::kBfloat16;
  const int64_t bytes = BucketBytes(options).value_or(0);
  if (bytes > 0) reducer.bucket_bytes = bytes;
  return reducer;
}

double ExchangedBytes(const RunOptions& options, double elements) {
  // Pairs of an index and a value: each rank sends what it has found to one other rank, and the
  // sums go to all.
  if (options.optimizer.name == "oktopk")
    return elements * 3 * *InForce(options).optimizer.density * 4;
  // Each number of a fresh ciphertext has as many bits as the modulus, of a sum twice as many; an
  // all-reduce sends two plain ones.
  if (EncryptsSums(options)) return elements * CkksParametersOf(options).modulus_bits() * 3 / 16;
  const bool halves = options.sync.compression != "none";
  return elements * double(halves ? 2 : SizeOf(ElementTypeOf(options)));
}

std::string_view ConvVariantOf(const RunOptions& options) {
  if (options.convolution.variant != "direct" || options.convolution.direct_method.empty()) {
    return options.convolution.variant;
  }
  return VariantOfDirectMethod(options.convolution.direct_method);
}

std::map<std::string, std::string, std::less<>> BestOfNames(const RunOptions& options) {
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string& method : options.convolution.best_of_methods) {
    names.emplace(VariantOfDirectMethod(method), method);  // the first of several
  }
  return names;
}

bool KeepsWholeSteps(const RunOptions& options) {
  const bool saves =
      !options.checkpoint.folder.empty() && options.ranks.parallel != Parallel::kFederated;
  return saves || !options.ranks.elastic.empty();
}

TrainerOptions MakeTrainerOptions(const RunOptions& options, const MetricSet& metric_set,
                                  std::shared_ptr<const Optimizer> optimizer,
                                  Communicator* communicator) {
  const int ranks = communicator == nullptr ? 1 : communicator->size();
  return {.metric_set = metric_set,
          .optimizer = std::move(optimizer),
          .learning_rate = InitialLearningRate(options, ranks),
          .accumulate_steps = options.training.accumulate_steps,
          .clip_norm = options.training.clip_norm,
          .privacy = {.clip = options.training.dp_sgd_clip,
                      .noise = options.training.dp_sgd_noise,
                      .delta = options.training.dp_sgd_delta},
          .conv_variant = std::string(ConvVariantOf(options)),
          .random_seed = uint64_t(options.training.seed),
          .fusions = MakeFusions(options),
          .communicator = communicator,
          .sync_batch_norm = options.sync.batch_norm,
          .model_sync = ModelSyncOf(options),
          .initial_model_sync = options.sync.initial_model,
          .final_model_sync = options.sync.final_model,
          .reducer = ReducerOptionsOf(options),
          .choose_buckets = BucketBytes(options).value_or(0) == 0,
          .graphs = options.device.cuda_graphs,
          .keep_workspaces = options.device.keep_workspaces || options.device.gpu,
          .whole_steps = KeepsWholeSteps(options),
          .common_metrics = !options.ranks.elastic.empty()};
}

}  // namespace dtnn
