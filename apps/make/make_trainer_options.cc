#include "apps/make/make_trainer_options.h"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "apps/make/make_encryption.h"
#include "kernels/conv/direct_methods.h"

namespace dtnn {
namespace {

ModelSyncOptions ModelSyncOf(const Options& options) {
  const std::string& alg = options.model_sync_alg;
  return {.frequency = options.model_sync_freq,
          .weighting = alg == "wavg"      ? RankWeighting::kSamples
                       : alg == "invwavg" ? RankWeighting::kInverseSamples
                                          : RankWeighting::kEqual,
          .participation = options.model_sync_participation == "all" ? Participation::kAll
                                                                     : Participation::kWithData,
          .min_available = int(std::min<int64_t>(options.model_sync_min_avail, INT_MAX))};
}

}  // namespace

GradientReducerOptions ReducerOptionsOf(const Options& options) {
  GradientReducerOptions reducer = {.blocking = options.use_blocking_mpi};
  if (options.gradient_compression == "fp16") reducer.wire = HalfType::kFloat16;
  if (options.gradient_compression == "bf16") reducer.wire = HalfType::kBfloat16;
  const int64_t bytes = BucketBytes(options).value_or(0);
  if (bytes > 0) reducer.bucket_bytes = bytes;
  return reducer;
}

double ExchangedBytes(const Options& options, double elements) {
  // Of a place and a number: what each rank has found goes to one other, and what was made of it
  // to all.
  if (options.optimizer == "oktopk") return elements * 3 * options.optimizer_density * 4;
  // Each number of a fresh ciphertext has as many bits as the modulus, of a sum twice as many; an
  // all-reduce sends two plain ones.
  if (EncryptsSums(options)) return elements * CkksParametersOf(options).modulus_bits() * 3 / 16;
  const bool halves = options.gradient_compression != "none";
  return elements * double(halves ? 2 : SizeOf(ElementTypeOf(options)));
}

std::string_view ConvVariantOf(const Options& options) {
  if (options.conv_variant != "direct" || options.conv_direct_method.empty()) {
    return options.conv_variant;
  }
  return VariantOfDirectMethod(options.conv_direct_method);
}

std::map<std::string, std::string, std::less<>> BestOfNames(const Options& options) {
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string& method : options.conv_direct_methods_for_best_of) {
    names.emplace(VariantOfDirectMethod(method), method);  // the first of several
  }
  return names;
}

Fusions MakeFusions(const Options& options) {
  return {.conv_bn = options.enable_fused_conv_bn,
          .conv_bn_relu = options.enable_fused_conv_bn_relu,
          .conv_relu = options.enable_fused_conv_relu,
          .bn_relu = options.enable_fused_bn_relu};
}

TrainerOptions MakeTrainerOptions(const Options& options, const MetricSet& metric_set,
                                  std::shared_ptr<const Optimizer> optimizer,
                                  Communicator* communicator) {
  const int ranks = communicator == nullptr ? 1 : communicator->size();
  return {.metric_set = metric_set,
          .optimizer = std::move(optimizer),
          .learning_rate = InitialLearningRate(options, ranks),
          .accumulate_steps = options.accumulate_steps,
          .clip_norm = options.clip_norm,
          .conv_variant = std::string(ConvVariantOf(options)),
          .random_seed = uint64_t(options.random_seed),
          .fusions = MakeFusions(options),
          .communicator = communicator,
          .sync_batch_norm = options.sync_batch_norm,
          .model_sync = ModelSyncOf(options),
          .initial_model_sync = options.initial_model_sync,
          .final_model_sync = options.final_model_sync,
          .reducer = ReducerOptionsOf(options),
          .choose_buckets = BucketBytes(options).value_or(0) == 0,
          .graphs = options.enable_cuda_graphs,
          .keep_workspaces = options.enable_memory_cache || options.enable_gpu,
          .whole_steps = !options.checkpoint_dir.empty() || !options.elastic.empty(),
          .common_metrics = !options.elastic.empty()};
}

}  // namespace dtnn
