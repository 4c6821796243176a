#include "models/run/options/option_members.h"

#include <string>
#include <variant>
#include <vector>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using enum MayChange;
using enum OtherMetrics;
using In = Identity::In;

// Real numbers beyond this are infinite in float32, or become so soon.
constexpr double kLargest = 1e38, kSmallest = 1e-30;
constexpr OptionRange kAnyReal = {.low = -kLargest, .high = kLargest};
constexpr OptionRange kNotZero = {.low = -kLargest, .high = kLargest, .hole = kSmallest};
constexpr OptionRange kAtLeast0 = {.low = 0, .high = kLargest};
constexpr OptionRange kAtLeast1Client = {.low = 1, .high = 64};
constexpr OptionRange kNeighbours = {.low = 0, .high = 254};
constexpr OptionRange kPositive = {.low = 0, .high = kLargest, .low_open = true};
constexpr OptionRange kDivisor = {.low = kSmallest, .high = kLargest};
constexpr OptionRange kFactor = {.low = 0, .high = 1, .low_open = true};
constexpr OptionRange kBelow1 = {.low = 0, .high = 1, .high_open = true};
constexpr OptionRange kClipRate = {.low = 0, .high = 10, .low_open = true};
constexpr OptionRange kInside01 = {.low = 0, .high = 1, .low_open = true, .high_open = true};
// Numbers that index lists are held to what lists of a common machine can hold.
constexpr OptionRange kAnyCount = {.low = -1e9, .high = 1e9};
constexpr OptionRange kCountFrom0 = {.low = 0, .high = 1e9};
constexpr OptionRange kCountFrom1 = {.low = 1, .high = 1e9};
constexpr OptionRange kSamples = {.low = 1, .high = 1e8};
constexpr OptionRange kSideRange = {.low = 1, .high = 65536};
constexpr OptionRange kRepeats = {.low = 0, .high = 1000};
constexpr OptionRange kThreads = {.low = 0, .high = 1024};
constexpr OptionRange kSeconds = {.low = 0.5, .high = 1e9};
constexpr OptionRange kMixup = {.low = 0, .high = 2};
constexpr OptionRange kPort = {.low = 1, .high = 65535};
constexpr OptionRange kLogarithm = {.low = 1, .high = 62};

constexpr Identity No() { return {}; }
constexpr Identity Elsewhere() { return {.in = In::kElsewhere}; }
constexpr Identity Choice(std::string_view key, MayChange may_change = kYes,
                          OtherMetrics other_metrics = kNone) {
  return {.in = In::kChoices, .key = key, .may_change = may_change, .other_metrics = other_metrics};
}
constexpr Identity OfScheduler(std::string_view key, std::string_view scheduler,
                               OtherMetrics other_metrics = kNone) {
  return {
      .in = In::kChoices, .key = key, .other_metrics = other_metrics, .of_scheduler = scheduler};
}

#define DTNN_MEMBER(member) \
#member, [](const RunOptions& options) { return ToValue(options.member); }

constexpr OptionMember kMembers[] = {
    {DTNN_MEMBER(network.name), Elsewhere()},
    {DTNN_MEMBER(training.batch), Choice("batch-size"), kSamples},
    {DTNN_MEMBER(training.global_batch), Choice("global-batch-size"), kSamples},
    {DTNN_MEMBER(network.dtype), Elsewhere()},
    {DTNN_MEMBER(device.math_mode), Choice("math-mode")},
    {DTNN_MEMBER(training.epochs), Elsewhere(), kCountFrom0},
    {DTNN_MEMBER(training.steps_per_epoch), Choice("steps-per-epoch"), kCountFrom0},
    {DTNN_MEMBER(training.evaluate), No()},
    {DTNN_MEMBER(training.evaluate_only), No()},
    {DTNN_MEMBER(network.weights), No()},
    {DTNN_MEMBER(network.weights_format), No()},
    {DTNN_MEMBER(network.weights_partial), No()},
    {DTNN_MEMBER(network.freeze), Elsewhere()},
    {DTNN_MEMBER(output.model), No()},
    {DTNN_MEMBER(output.history), No()},
    {DTNN_MEMBER(checkpoint.folder), No()},
    {DTNN_MEMBER(checkpoint.every_epochs), No(), kCountFrom1},
    {DTNN_MEMBER(checkpoint.every_steps), No(), kCountFrom0},
    {DTNN_MEMBER(checkpoint.resume), No()},
    {DTNN_MEMBER(network.format), No()},
    {DTNN_MEMBER(training.seed), Elsewhere()},
    {DTNN_MEMBER(ranks.shared_storage), Elsewhere()},
    {DTNN_MEMBER(sync.model_steps), Choice("model-sync-freq"), kAnyCount},
    {DTNN_MEMBER(sync.weighting), Choice("model-sync-alg")},
    {DTNN_MEMBER(sync.participation), Choice("model-sync-participation")},
    {DTNN_MEMBER(sync.min_available), Choice("model-sync-min-avail"), kCountFrom0},
    {DTNN_MEMBER(sync.initial_model), No()},
    {DTNN_MEMBER(sync.final_model), Choice("final-model-sync")},
    {DTNN_MEMBER(sync.batch_norm), Choice("sync-batch-norm")},
    {DTNN_MEMBER(data.name), Elsewhere()},
    {DTNN_MEMBER(data.path), Elsewhere()},
    {DTNN_MEMBER(data.train_path), Elsewhere()},
    {DTNN_MEMBER(data.test_path), No()},
    {DTNN_MEMBER(data.skip_damaged_images), Elsewhere()},
    {DTNN_MEMBER(data.archive_format), Elsewhere()},
    {DTNN_MEMBER(data.language), No()},
    {DTNN_MEMBER(data.language2), No()},
    {DTNN_MEMBER(data.synthetic.train_samples), Elsewhere(), kSamples},
    {DTNN_MEMBER(data.synthetic.test_samples), Elsewhere(), kSamples},
    {DTNN_MEMBER(data.synthetic.input_shape), Elsewhere(), kSideRange},
    {DTNN_MEMBER(data.synthetic.output_shape), Elsewhere(), kCountFrom1},
    {DTNN_MEMBER(data.synthetic.pattern), Elsewhere()},
    {DTNN_MEMBER(data.share), Choice("dataset-percentage", kAfterAnEpoch, kAll), kRepeats},
    {DTNN_MEMBER(data.part), Choice("dataset-part", kAfterAnEpoch, kAll)},
    {DTNN_MEMBER(data.test_as_validation), Choice("test-as-validation", kAfterAnEpoch, kAll)},
    {DTNN_MEMBER(data.validation_split), Choice("validation-split", kAfterAnEpoch, kAll), kBelow1},
    {DTNN_MEMBER(data.shuffle), Choice("augment-shuffle")},
    {DTNN_MEMBER(data.augment.transforms), Elsewhere()},
    {DTNN_MEMBER(data.augment.mixup), Elsewhere(), kMixup},
    {DTNN_MEMBER(data.augment.flip), Elsewhere()},
    {DTNN_MEMBER(data.augment.flip_probability), Elsewhere(), kFactor},
    {DTNN_MEMBER(data.augment.crop), Elsewhere()},
    {DTNN_MEMBER(data.augment.crop_size), Elsewhere(), kSideRange},
    {DTNN_MEMBER(data.augment.crop_probability), Elsewhere(), kFactor},
    {DTNN_MEMBER(data.center_square), Elsewhere()},
    {DTNN_MEMBER(data.center_crop), Elsewhere()},
    {DTNN_MEMBER(data.center_crop_share), Elsewhere(), kFactor},
    {DTNN_MEMBER(data.resize), Elsewhere()},
    {DTNN_MEMBER(data.resize_side), Elsewhere(), kSideRange},
    {DTNN_MEMBER(data.normalize), Elsewhere()},
    {DTNN_MEMBER(data.normalize_offset), Elsewhere(), kAnyReal},
    {DTNN_MEMBER(data.normalize_scale), Elsewhere(), kNotZero},
    {DTNN_MEMBER(data.standardize), Elsewhere()},
    {DTNN_MEMBER(data.synthetic.instead), Elsewhere()},
    {DTNN_MEMBER(data.threads), No(), kThreads},
    {DTNN_MEMBER(convolution.best_of), No()},
    {DTNN_MEMBER(device.keep_workspaces), No()},
    {DTNN_MEMBER(device.fusions.bn_relu), No()},
    {DTNN_MEMBER(device.fusions.conv_relu), No()},
    {DTNN_MEMBER(device.fusions.conv_bn), No()},
    {DTNN_MEMBER(device.fusions.conv_bn_relu), No()},
    {DTNN_MEMBER(convolution.variant), No()},
    {DTNN_MEMBER(convolution.best_of_file), No()},
    {DTNN_MEMBER(convolution.direct_method), No()},
    {DTNN_MEMBER(convolution.best_of_methods), No()},
    {DTNN_MEMBER(optimizer.name), Elsewhere()},
    {DTNN_MEMBER(optimizer.learning_rate), Elsewhere(), kPositive},
    {DTNN_MEMBER(optimizer.find_learning_rate), No()},
    {DTNN_MEMBER(optimizer.learning_rate_scaling), Elsewhere()},
    {DTNN_MEMBER(optimizer.momentum), Elsewhere(), kBelow1},
    {DTNN_MEMBER(optimizer.decay), Elsewhere(), kAtLeast0},
    {DTNN_MEMBER(optimizer.decay_all), Elsewhere()},
    {DTNN_MEMBER(optimizer.nesterov), Elsewhere()},
    {DTNN_MEMBER(optimizer.beta1), Elsewhere(), kBelow1},
    {DTNN_MEMBER(optimizer.beta2), Elsewhere(), kBelow1},
    {DTNN_MEMBER(optimizer.epsilon), Elsewhere(), kDivisor},
    {DTNN_MEMBER(optimizer.rho), Elsewhere(), kBelow1},
    {DTNN_MEMBER(optimizer.density), Elsewhere(), kFactor},
    {DTNN_MEMBER(optimizer.tau), Elsewhere(), kCountFrom1},
    {DTNN_MEMBER(optimizer.tau_prime), Elsewhere(), kCountFrom1},
    {DTNN_MEMBER(optimizer.average_decay), Elsewhere(), kBelow1},
    {DTNN_MEMBER(training.clip_norm), Choice("clip-norm", kAfterAnEpoch), kAtLeast0},
    {DTNN_MEMBER(training.dp_sgd_clip), Choice("dp-sgd-clip"), kAtLeast0},
    {DTNN_MEMBER(training.dp_sgd_noise), Choice("dp-sgd-noise"), kAtLeast0},
    {DTNN_MEMBER(training.dp_sgd_delta), No(), kInside01},
    {DTNN_MEMBER(training.accumulate_steps), Choice("accumulate-steps"), kCountFrom1},
    {DTNN_MEMBER(training.loss), Choice("loss-func", kYes, kAll)},
    {DTNN_MEMBER(training.label_smoothing), Choice("label-smoothing", kAfterAnEpoch, kAll),
     kBelow1},
    {DTNN_MEMBER(training.class_weights), Choice("class-weights", kYes, kTraining)},
    {DTNN_MEMBER(training.metrics), Choice("metrics")},
    {DTNN_MEMBER(schedule.schedulers), Elsewhere()},
    {DTNN_MEMBER(schedule.model_folder), No()},
    {DTNN_MEMBER(schedule.warm_up.batches), OfScheduler("warm-up-batches", "warm_up"), kCountFrom1},
    {DTNN_MEMBER(schedule.warm_up.epochs), OfScheduler("warm-up-epochs", "warm_up"), kCountFrom0},
    {DTNN_MEMBER(schedule.early_stopping.metric),
     OfScheduler("early-stopping-metric", "early_stopping", kAll)},
    {DTNN_MEMBER(schedule.early_stopping.patience),
     OfScheduler("early-stopping-patience", "early_stopping"), kCountFrom1},
    {DTNN_MEMBER(schedule.early_stopping.minimize),
     OfScheduler("early-stopping-minimize", "early_stopping")},
    {DTNN_MEMBER(schedule.early_stopping.min_delta),
     OfScheduler("early-stopping-min-delta", "early_stopping"), kAtLeast0},
    {DTNN_MEMBER(schedule.reduce_on_plateau.metric),
     OfScheduler("reduce-lr-on-plateau-metric", "reduce_lr_on_plateau", kAll)},
    {DTNN_MEMBER(schedule.reduce_on_plateau.factor),
     OfScheduler("reduce-lr-on-plateau-factor", "reduce_lr_on_plateau"), kInside01},
    {DTNN_MEMBER(schedule.reduce_on_plateau.patience),
     OfScheduler("reduce-lr-on-plateau-patience", "reduce_lr_on_plateau"), kCountFrom1},
    {DTNN_MEMBER(schedule.reduce_on_plateau.min_rate),
     OfScheduler("reduce-lr-on-plateau-min-lr", "reduce_lr_on_plateau"), kAtLeast0},
    {DTNN_MEMBER(schedule.reduce_every.factor),
     OfScheduler("reduce-lr-every-nepochs-factor", "reduce_lr_every_nepochs"), kInside01},
    {DTNN_MEMBER(schedule.reduce_every.epochs),
     OfScheduler("reduce-lr-every-nepochs-nepochs", "reduce_lr_every_nepochs"), kCountFrom1},
    {DTNN_MEMBER(schedule.reduce_every.min_rate),
     OfScheduler("reduce-lr-every-nepochs-min-lr", "reduce_lr_every_nepochs"), kAtLeast0},
    {DTNN_MEMBER(schedule.stop_at.metric),
     OfScheduler("stop-at-loss-metric", "stop_at_loss", kAll)},
    {DTNN_MEMBER(schedule.stop_at.threshold), OfScheduler("stop-at-loss-threshold", "stop_at_loss"),
     kAnyReal},
    {DTNN_MEMBER(schedule.keep_best.metric),
     OfScheduler("model-checkpoint-metric", "model_checkpoint", kAll)},
    {DTNN_MEMBER(schedule.keep_best.every_epochs),
     OfScheduler("model-checkpoint-save-freq", "model_checkpoint"), kCountFrom1},
    {DTNN_MEMBER(schedule.cosine.min_rate), OfScheduler("cosine-min-lr", "cosine"), kAtLeast0},
    {DTNN_MEMBER(schedule.cosine.restart_epochs), OfScheduler("cosine-restart-epochs", "cosine"),
     kCountFrom0},
    {DTNN_MEMBER(schedule.cosine.restart_growth), OfScheduler("cosine-restart-growth", "cosine"),
     kCountFrom1},
    {DTNN_MEMBER(schedule.polynomial.power), OfScheduler("polynomial-power", "polynomial"),
     kPositive},
    {DTNN_MEMBER(schedule.polynomial.min_rate), OfScheduler("polynomial-min-lr", "polynomial"),
     kAtLeast0},
    {DTNN_MEMBER(ranks.parallel), No()},
    {DTNN_MEMBER(federation.server), No()},
    {DTNN_MEMBER(federation.client_name), No()},
    {DTNN_MEMBER(federation.client_labels), No()},
    {DTNN_MEMBER(federation.identity_key_file), No()},
    {DTNN_MEMBER(federation.aggregator_key), No()},
    {DTNN_MEMBER(federation.local_parameters), No()},
    {DTNN_MEMBER(ranks.transport), No()},
    {DTNN_MEMBER(ranks.rendezvous), No()},
    {DTNN_MEMBER(ranks.elastic), No()},
    {DTNN_MEMBER(sync.blocking), No()},
    {DTNN_MEMBER(sync.mpi_sums), No()},
    {DTNN_MEMBER(sync.compression), Choice("gradient-compression")},
    {DTNN_MEMBER(sync.bucket_mb), No()},
    {DTNN_MEMBER(ranks.timeout), No(), kSeconds},
    {DTNN_MEMBER(device.gpu), No()},
    {DTNN_MEMBER(device.gpu_device), No()},
    {DTNN_MEMBER(device.gpudirect), No()},
    {DTNN_MEMBER(device.nccl), No()},
    {DTNN_MEMBER(device.cuda_graphs), No()},
    {DTNN_MEMBER(device.time_cudnn), No()},
    {DTNN_MEMBER(device.cudnn_plans), No()},
    {DTNN_MEMBER(encryption.kind), No()},
    {DTNN_MEMBER(encryption.poly_degree), No(), kLogarithm},
    {DTNN_MEMBER(encryption.global_scale), No(), kLogarithm},
    {DTNN_MEMBER(encryption.security_level), No()},
    {DTNN_MEMBER(encryption.key_file), No()},
    {DTNN_MEMBER(federation.plain_metrics), No()},
    {DTNN_MEMBER(federation.mask_neighbours), No(), kNeighbours},
    {DTNN_MEMBER(federation.least_clients), No(), kAtLeast1Client},
    {DTNN_MEMBER(federation.dp_clip), No(), kAtLeast0},
    {DTNN_MEMBER(federation.dp_noise), No(), kAtLeast0},
    {DTNN_MEMBER(federation.dp_delta), No(), kInside01},
    {DTNN_MEMBER(federation.dp_quantile), No(), kBelow1},
    {DTNN_MEMBER(federation.dp_clip_rate), No(), kClipRate},
    {DTNN_MEMBER(federation.dp_bit_noise), No(), kAtLeast0},
    {DTNN_MEMBER(output.tracing), No()},
    {DTNN_MEMBER(output.trace), No()},
    {DTNN_MEMBER(output.pmlib.server), No()},
    {DTNN_MEMBER(output.pmlib.port), No(), kPort},
    {DTNN_MEMBER(output.pmlib.device), No()},
    {DTNN_MEMBER(output.profile), No()},
    {DTNN_MEMBER(output.report), No()},
    {DTNN_MEMBER(output.energy), No()},
    {DTNN_MEMBER(output.tensorboard), No()},
    {DTNN_MEMBER(force), No()},
    {DTNN_MEMBER(output.quiet), No()},
    {DTNN_MEMBER(output.verbose), No()},
    {DTNN_MEMBER(prediction.cpu_speed), No(), kAtLeast0},
    {DTNN_MEMBER(prediction.memory_bandwidth), No(), kAtLeast0},
    {DTNN_MEMBER(prediction.network_bandwidth), No(), kDivisor},
    {DTNN_MEMBER(prediction.network_latency), No(), kAtLeast0},
    {DTNN_MEMBER(prediction.network_algorithm), No()},
};

}  // namespace

std::span<const OptionMember> OptionMembers() { return kMembers; }

}  // namespace dtnn
