#include "apps/flags/option_table.h"

#include <algorithm>
#include <iterator>

namespace dtnn {
namespace {

using enum OptionGroup;
using enum OptionType;

constexpr Range kAny = {};
// Real numbers beyond this are infinite in float32, or become so soon.
constexpr double kLargest = 1e38, kSmallest = 1e-30;
constexpr Range kAnyReal = {.low = -kLargest, .high = kLargest};
constexpr Range kNotZero = {.low = -kLargest, .high = kLargest, .hole = kSmallest};
constexpr Range kAtLeast0 = {.low = 0, .high = kLargest};
constexpr Range kPositive = {.low = 0, .high = kLargest, .low_open = true};
constexpr Range kDivisor = {.low = kSmallest, .high = kLargest};
constexpr Range kFactor = {.low = 0, .high = 1, .low_open = true};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};
constexpr Range kInside01 = {.low = 0, .high = 1, .low_open = true, .high_open = true};
// Numbers that index lists are held to what lists of a common machine can hold.
constexpr Range kAnyCount = {.low = -1e9, .high = 1e9};
constexpr Range kSamples = {.low = 1, .high = 1e8};
constexpr Range kRepeats = {.low = 0, .high = 1000};
constexpr Range kThreads = {.low = 0, .high = 1024};
constexpr Range kSeconds = {.low = 0.5, .high = 1e9};
constexpr Range kMixup = {.low = 0, .high = 2};
constexpr Range kPort = {.low = 1, .high = 65535};
constexpr Range kLogarithm = {.low = 1, .high = 62};

#define DTNN_METRICS                                                                      \
  "categorical_accuracy,top5_accuracy,categorical_hinge,categorical_mse,categorical_mae," \
  "regression_mse,regression_mae,binary_accuracy,binary_confusion_matrix,"                \
  "multiclass_confusion_matrix,precision,recall,f1_score,per_class_report"
#define DTNN_LOSSES "categorical_cross_entropy,binary_cross_entropy,mse,mae"
constexpr std::string_view kMetrics = DTNN_METRICS;
constexpr std::string_view kLosses = DTNN_LOSSES;
// --loss-func takes the one loss and, as old releases did, metrics.
constexpr std::string_view kLossesAndMetrics = DTNN_LOSSES "," DTNN_METRICS;
// What schedulers may watch.
constexpr std::string_view kWatched = kLossesAndMetrics;
#undef DTNN_METRICS
#undef DTNN_LOSSES

// A row that works.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         OptionField field, std::string_view help) {
  return {.name = name, .group = group, .type = type, .help = help, .field = field};
}

// A row that takes numbers.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         OptionField field, std::string_view help, const Range& range) {
  OptionSpec spec = Now(name, group, type, field, help);
  spec.range = range;
  return spec;
}

// A row that takes words.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         OptionField field, std::string_view help, std::string_view words,
                         std::string_view missing_words = "") {
  OptionSpec spec = Now(name, group, type, field, help);
  spec.words = words;
  spec.missing_words = missing_words;
  return spec;
}

// A row whose values can be listed.
constexpr OptionSpec Listed(Action action, OptionSpec spec) {
  spec.on_list = action;
  return spec;
}

// A row that does not work yet.
constexpr OptionSpec Later(std::string_view name, OptionGroup group, OptionType type,
                           std::string_view documented_default, std::string_view help) {
  return {.name = name,
          .group = group,
          .type = type,
          .help = help,
          .documented_default = documented_default};
}

constexpr OptionSpec Later(std::string_view name, OptionGroup group, OptionType type,
                           std::string_view documented_default, std::string_view help,
                           const Range& range) {
  OptionSpec spec = Later(name, group, type, documented_default, help);
  spec.range = range;
  return spec;
}

constexpr OptionSpec Later(std::string_view name, OptionGroup group, OptionType type,
                           std::string_view documented_default, std::string_view help,
                           std::string_view words) {
  OptionSpec spec = Later(name, group, type, documented_default, help);
  spec.words = words;
  return spec;
}

// A switch that is off, and may only be switched off.
constexpr OptionSpec LaterSwitch(std::string_view name, OptionGroup group, std::string_view help) {
  return Later(name, group, kBool, "False", help);
}

using O = Options;

constexpr OptionSpec kTable[] = {
    Listed(Action::kListModels,
           Now("model", kModel, kText, &O::model, "network to build; list shows all")),
    Now("batch-size", kModel, kInt, &O::batch_size,
        "samples per step and rank; 64 if no size is given", kSamples),
    Now("global-batch-size", kModel, kInt, &O::global_batch_size,
        "samples per step over all ranks, in place of --batch-size", kSamples),
    Now("dtype", kModel, kWord, &O::dtype, "type of parameters and activations", "float32,float64"),
    Now("num-epochs", kModel, kInt, &O::num_epochs, "passes over the training data", kCountFrom0),
    Now("steps-per-epoch", kModel, kReal, &O::steps_per_epoch,
        "train on this many batches per epoch; 0: on all", kCountFrom0),
    Now("evaluate", kModel, kBool, &O::evaluate, "test before and after training"),
    Now("evaluate-only", kModel, kBool, &O::evaluate_only, "test and do not train"),
    Now("weights-and-bias-filename", kModel, kPath, &O::weights_and_bias_filename,
        "weights to start from: .npz or .safetensors, or a checkpoint"),
    Now("weights-format", kModel, kWord, &O::weights_format,
        "layout of such a file that does not tell; auto: by its shapes", "auto,NHWC,NCHW"),
    Now("weights-partial", kModel, kBool, &O::weights_partial,
        "accept a file that lacks some of the weights"),
    Now("history-file", kModel, kPath, &O::history_file,
        "loss and metrics of every epoch, as text, .csv or .jsonl"),
    Now("checkpoint-dir", kModel, kPath, &O::checkpoint_dir,
        "folder for the state of the run, to --resume from"),
    Now("checkpoint-freq", kModel, kInt, &O::checkpoint_freq, "epochs between checkpoints",
        kCountFrom1),
    Now("checkpoint-steps", kModel, kInt, &O::checkpoint_steps,
        "batches between checkpoints within an epoch; 0: none", kCountFrom0),
    Now("resume", kModel, kBool, &O::resume,
        "go on from the newest checkpoint, if there is one; --learning-rate may be another"),
    Now("tensor-format", kModel, kWord, &O::tensor_format,
        "order of image axes; AUTO: NCHW on a GPU, else NHWC", "NHWC,NCHW,AUTO"),
    Now("random-seed", kModel, kInt, &O::random_seed, "seed of everything random", kAny),

    Now("shared-storage", kSynchronisation, kBool, &O::shared_storage,
        "ranks share the data and rank 0 writes; False: each has data and files of its own"),
    Now("model-sync-freq", kSynchronisation, kInt, &O::model_sync_freq,
        "batches between averages of the models; 0: gradients of every batch; negative: never",
        kAnyCount),
    Now("model-sync-alg", kSynchronisation, kWord, &O::model_sync_alg,
        "a rank's weight: equal, by its samples, or against them", "avg,wavg,invwavg"),
    Now("model-sync-participation", kSynchronisation, kWord, &O::model_sync_participation,
        "whose models are averaged: of all ranks, or of those with data left", "all,avail2all"),
    Now("model-sync-min-avail", kSynchronisation, kInt, &O::model_sync_min_avail,
        "ranks that must still have data for a synchronisation", kCountFrom0),
    Now("initial-model-sync", kSynchronisation, kBool, &O::initial_model_sync,
        "begin with rank 0's parameters on all ranks"),
    Now("final-model-sync", kSynchronisation, kBool, &O::final_model_sync,
        "average the models after training"),
    Now("sync-batch-norm", kSynchronisation, kBool, &O::sync_batch_norm,
        "batch normalisation over the samples of all ranks"),

    Listed(Action::kListDatasets,
           Now("dataset", kDataset, kWord, &O::dataset,
               "source of the samples; synthetic: zeros, to time training; list shows all",
               "mnist,cifar10,imagenet,chestxray,cyclone,tsunamis,archive,folder,synthetic")),
    Now("dataset-path", kDataset, kPath, &O::dataset_path,
        "folder or archive of the data; for mnist without one: Debian's Fashion-MNIST"),
    Now("dataset-train-path", kDataset, kPath, &O::dataset_train_path,
        "folder of the training split, in place of --dataset-path"),
    Now("dataset-test-path", kDataset, kPath, &O::dataset_test_path,
        "folder of the test split, in place of --dataset-path"),
    Now("archive-format", kDataset, kWord, &O::archive_format,
        "where an archive's images have their channels; auto: as their shape says",
        "auto,NCHW,NHWC"),
    Now("dataset-lang", kDataset, kText, &O::dataset_lang,
        "language of a text data set (image data ignores it)"),
    Now("dataset-lang2", kDataset, kText, &O::dataset_lang2,
        "second language of a text data set (image data ignores it)"),
    Now("synthetic-train-samples", kDataset, kInt, &O::synthetic_train_samples,
        "training samples of synthetic data", kSamples),
    Now("synthetic-test-samples", kDataset, kInt, &O::synthetic_test_samples,
        "test samples of synthetic data", kSamples),
    Now("synthetic-input-shape", kDataset, kInts, &O::synthetic_input_shape,
        "channels,height,width of a synthetic sample", kSideRange),
    Now("synthetic-output-shape", kDataset, kInts, &O::synthetic_output_shape,
        "classes of synthetic data", kCountFrom1),
    Now("synthetic-pattern", kDataset, kWord, &O::synthetic_pattern,
        "what synthetic samples hold; classes: something to learn", "zeros,classes"),
    Now("dataset-percentage", kDataset, kReal, &O::dataset_percentage,
        "fraction of the data to use; above 1: repeat it; 0: off", kRepeats),
    Now("test-as-validation", kDataset, kBool, &O::test_as_validation,
        "validate on the test split and train on all training data"),
    Now("validation-split", kDataset, kReal, &O::validation_split,
        "fraction of the training data held out for validation", kBelow1),
    Now("augment-shuffle", kDataset, kBool, &O::augment_shuffle,
        "shuffle the training data in every epoch"),
    Listed(Action::kListTransforms,
           Now("augment", kDataset, kText, &O::augment,
               "random changes to training images, in order, such as flip,pad_crop:4,cutout:8; "
               "list explains them")),
    Now("mixup", kDataset, kReal, &O::mixup,
        "mix each training image and its target with another's, by a share of the distribution "
        "Beta(X, X); 0: off",
        kMixup),
    Now("augment-flip", kDataset, kBool, &O::augment_flip, "mirror training images left to right"),
    Now("augment-flip-prob", kDataset, kReal, &O::augment_flip_prob, "how likely each is mirrored",
        kFactor),
    Now("augment-crop", kDataset, kBool, &O::augment_crop,
        "keep a random window of training images, at a random place"),
    Now("augment-crop-size", kDataset, kInt, &O::augment_crop_size, "its side in pixels",
        kSideRange),
    Now("augment-crop-prob", kDataset, kReal, &O::augment_crop_prob, "how likely each is cropped",
        kFactor),
    Now("transform-crop", kDataset, kBool, &O::transform_crop, "keep the centre of every image"),
    Now("transform-crop-perc", kDataset, kReal, &O::transform_crop_perc,
        "fraction of each side kept", kFactor),
    Now("transform-resize", kDataset, kBool, &O::transform_resize,
        "resize every image to a square"),
    Now("transform-resize-size", kDataset, kInt, &O::transform_resize_size, "its side in pixels",
        kSideRange),
    Now("normalize", kDataset, kBool, &O::normalize, "(x + offset) * scale on every sample"),
    Now("normalize-offset", kDataset, kReal, &O::normalize_offset, "that offset", kAnyReal),
    Now("normalize-scale", kDataset, kReal, &O::normalize_scale, "that scale", kNotZero),
    Now("standardize", kDataset, kBool, &O::standardize,
        "(x - mean) / deviation, per channel, of the samples that are trained on"),
    Now("use-synthetic-data", kDataset, kBool, &O::use_synthetic_data,
        "zeros in the data set's shape; reads no file"),
    Now("loader-threads", kDataset, kInt, &O::loader_threads,
        "threads that read ahead; 0: as many as the data set needs", kThreads),

    LaterSwitch("enable-best-of", kOptimisation, "time the variants at run time, keep the best"),
    Now("enable-memory-cache", kOptimisation, kBool, &O::enable_memory_cache,
        "keep scratch memory between steps; the plan always does, whatever is set"),
    Now("enable-fused-bn-relu", kOptimisation, kBool, &O::enable_fused_bn_relu,
        "when testing, fuse batch normalisation and relu"),
    Now("enable-fused-conv-relu", kOptimisation, kBool, &O::enable_fused_conv_relu,
        "when testing, fuse convolution and relu"),
    Now("enable-fused-conv-bn", kOptimisation, kBool, &O::enable_fused_conv_bn,
        "when testing, fuse convolution and batch normalisation"),
    Now("enable-fused-conv-bn-relu", kOptimisation, kBool, &O::enable_fused_conv_bn_relu,
        "when testing, fuse all three"),

    Now("conv-variant", kConvolution, kWord, &O::conv_variant, "convolution algorithm on CPUs",
        "i2c", "gemm,winograd,direct"),
    Later("conv-direct-method", kConvolution, kText, "", "kernel of the direct variant"),
    Later("conv-direct-methods-for-best-of", kConvolution, kText, "",
          "direct kernels that --enable-best-of tries as well"),

    Now("optimizer", kOptimizer, kWord, &O::optimizer, "update rule",
        "sgd,rmsprop,adam,nadam,adamw"),
    Now("learning-rate", kOptimizer, kReal, &O::learning_rate, "step size", kPositive),
    Now("learning-rate-scaling", kOptimizer, kWord, &O::learning_rate_scaling,
        "divide (True) or multiply the rate by the number of ranks", "False,True,divide,multiply"),
    Now("optimizer-momentum", kOptimizer, kReal, &O::optimizer_momentum, "momentum of sgd",
        kBelow1),
    Now("optimizer-decay", kOptimizer, kReal, &O::optimizer_decay, "weight decay", kAtLeast0),
    Now("optimizer-decay-all", kOptimizer, kBool, &O::optimizer_decay_all,
        "decay biases and batch normalisations too, not only weights"),
    Now("optimizer-nesterov", kOptimizer, kBool, &O::optimizer_nesterov,
        "Nesterov's momentum in sgd"),
    Now("optimizer-beta1", kOptimizer, kReal, &O::optimizer_beta1,
        "first decay rate of adam, adamw and nadam", kBelow1),
    Now("optimizer-beta2", kOptimizer, kReal, &O::optimizer_beta2,
        "second decay rate of adam, adamw and nadam", kBelow1),
    Now("optimizer-epsilon", kOptimizer, kReal, &O::optimizer_epsilon,
        "what keeps adam, adamw, nadam and rmsprop from dividing by zero", kDivisor),
    Now("optimizer-rho", kOptimizer, kReal, &O::optimizer_rho, "decay rate of rmsprop", kBelow1),
    Now("clip-norm", kOptimizer, kReal, &O::clip_norm,
        "largest Euclidean norm of the gradient; longer ones are shortened; 0: off", kAtLeast0),
    Now("accumulate-steps", kOptimizer, kInt, &O::accumulate_steps,
        "batches whose gradients make one update", kCountFrom1),
    Now("loss-func", kOptimizer, kWords, &O::loss_func,
        "loss to minimise: categorical_cross_entropy, binary_cross_entropy, mse or mae; metrics "
        "may stand beside it",
        kLossesAndMetrics),
    Now("label-smoothing", kOptimizer, kReal, &O::label_smoothing,
        "share of the target that categorical_cross_entropy spreads over all classes", kBelow1),
    Now("metrics", kOptimizer, kWords, &O::metrics,
        "what is measured besides; without: as targets and loss suggest; of:", kMetrics),

    Now("schedulers", kSchedulers, kWords, &O::schedulers, "run in the order given; of:",
        "warm_up,early_stopping,reduce_lr_on_plateau,reduce_lr_every_nepochs,model_checkpoint,"
        "stop_at_loss,cosine,one_cycle"),
    Now("model-dir", kSchedulers, kPath, &O::model_dir,
        "folder for what model_checkpoint saves; without: the current one if --schedulers asks"),
    Now("warm-up-batches", kSchedulers, kInt, &O::warm_up_batches,
        "batches of warm-up, instead of epochs", kCountFrom1),
    Now("warm-up-epochs", kSchedulers, kInt, &O::warm_up_epochs, "epochs of warm-up", kCountFrom0),
    Now("early-stopping-metric", kSchedulers, kMetric, &O::early_stopping_metric, "what is watched",
        kWatched),
    Now("early-stopping-patience", kSchedulers, kInt, &O::early_stopping_patience,
        "epochs without improvement before the end", kCountFrom1),
    Now("early-stopping-minimize", kSchedulers, kBool, &O::early_stopping_minimize,
        "smaller is better; without it, what the metric says"),
    Now("reduce-lr-on-plateau-metric", kSchedulers, kMetric, &O::reduce_lr_on_plateau_metric,
        "what is watched", kWatched),
    Now("reduce-lr-on-plateau-factor", kSchedulers, kReal, &O::reduce_lr_on_plateau_factor,
        "what the rate is multiplied by", kInside01),
    Now("reduce-lr-on-plateau-patience", kSchedulers, kInt, &O::reduce_lr_on_plateau_patience,
        "epochs without improvement before that", kCountFrom1),
    Now("reduce-lr-on-plateau-min-lr", kSchedulers, kReal, &O::reduce_lr_on_plateau_min_lr,
        "rate that is not gone below", kAtLeast0),
    Now("reduce-lr-every-nepochs-factor", kSchedulers, kReal, &O::reduce_lr_every_nepochs_factor,
        "what the rate is multiplied by", kInside01),
    Now("reduce-lr-every-nepochs-nepochs", kSchedulers, kInt, &O::reduce_lr_every_nepochs_nepochs,
        "epochs between reductions", kCountFrom1),
    Now("reduce-lr-every-nepochs-min-lr", kSchedulers, kReal, &O::reduce_lr_every_nepochs_min_lr,
        "rate that is not gone below", kAtLeast0),
    Now("stop-at-loss-metric", kSchedulers, kMetric, &O::stop_at_loss_metric, "what is watched",
        kWatched),
    Now("stop-at-loss-threshold", kSchedulers, kReal, &O::stop_at_loss_threshold,
        "value that ends the run", kAnyReal),
    Now("model-checkpoint-metric", kSchedulers, kMetric, &O::model_checkpoint_metric,
        "what is watched", kWatched),
    Now("model-checkpoint-save-freq", kSchedulers, kInt, &O::model_checkpoint_save_freq,
        "epochs between files", kCountFrom1),
    Now("cosine-min-lr", kSchedulers, kReal, &O::cosine_min_lr, "rate at the end of cosine",
        kAtLeast0),

    Now("parallel", kParallel, kWord, &O::parallel, "how processes share the work",
        "sequential,data"),
    Now("use-blocking-mpi", kParallel, kBool, &O::use_blocking_mpi,
        "exchange gradients after the backward pass; False: while it still runs"),
    Now("use-mpi-buffers", kParallel, kWord, &O::use_mpi_buffers,
        "add gradients on their way; False: gather, and add in the order of ranks", "False,True"),
    Now("comm-bucket-mb", kParallel, kText, &O::comm_bucket_mb,
        "size of the pieces in which gradients are exchanged, in units of 2^20 bytes; auto: the "
        "best by what the first steps measure"),
    Now("comm-timeout", kParallel, kReal, &O::comm_timeout,
        "seconds that a process waits for the others before it gives up", kSeconds),
    Now("enable-gpu", kParallel, kBool, &O::enable_gpu, "compute on an NVIDIA GPU"),
    LaterSwitch("enable-gpudirect", kParallel, "hand GPU memory to MPI"),
    LaterSwitch("enable-nccl", kParallel, "reduce with NCCL"),
    Later("enable-cudnn-auto-conv-alg", kParallel, kBool, "True",
          "let cuDNN choose its algorithms"),

    Later("encryption", kEncryption, kWord, "None", "library that encrypts what ranks send",
          "tenseal,openfhe"),
    Later("encryption-poly-degree", kEncryption, kInt, "13",
          "base-2 logarithm of the ring dimension", kLogarithm),
    Later("encryption-global-scale", kEncryption, kInt, "40", "base-2 logarithm of the scale",
          kLogarithm),
    Later("encryption-security-level", kEncryption, kWord, "128",
          "bits of security; 0: not enforced", "0,128,192,256"),

    LaterSwitch("tracing", kTracing, "record a trace"),
    Later("tracer-output", kTracing, kText, "", "file of the trace"),
    Later("tracer-pmlib-server", kTracing, kText, "127.0.0.1", "host of the power meter"),
    Later("tracer-pmlib-port", kTracing, kInt, "6526", "its port", kPort),
    Later("tracer-pmlib-device", kTracing, kText, "", "its device"),
    LaterSwitch("profile", kTracing, "print where the time went"),

    Now("dry-run", kOther, kBool, &O::dry_run,
        "print the network, its memory and its work; load no data, compute nothing"),
    Now("force", kOther, kBool, &O::force,
        "run even if the network takes more memory than there is"),
    Now("quiet", kOther, kBool, &O::quiet, "print results and warnings only"),
    Now("verbose", kOther, kBool, &O::verbose, "print what was chosen and why"),
    Later("cpu-speed", kOther, kReal, "4e12", "flop/s in the cost model", kPositive),
    Later("memory-bw", kOther, kReal, "50e9", "bytes/s of memory in the cost model", kPositive),
    Later("network-bw", kOther, kReal, "1e9", "bytes/s of the network in the cost model",
          kPositive),
    Later("network-lat", kOther, kReal, "0.5e-6", "seconds per message in the cost model",
          kAtLeast0),
    Later("network-alg", kOther, kWord, "vdg", "all-reduce in the cost model", "vdg,bta"),
    Later("optimizer-tau", kOther, kInt, "64", "threshold period of oktopk", kCountFrom1),
    Later("optimizer-tau-prime", kOther, kInt, "32", "boundary period of oktopk", kCountFrom1),
    Later("optimizer-density", kOther, kReal, "0.01", "share of gradients oktopk sends", kFactor),
};

using enum AliasKind;

constexpr OptionAlias kAliases[] = {
    {"flip-images", "augment-flip"},
    {"flip-images-prob", "augment-flip-prob"},
    {"crop-images", "augment-crop"},
    {"crop-images-size", "augment-crop-size"},
    {"crop-images-prob", "augment-crop-prob"},
    {"lr-schedulers", "schedulers"},
    {"momentum", "optimizer-momentum"},
    {"decay", "optimizer-decay"},
    {"nesterov", "optimizer-nesterov"},
    {"beta1", "optimizer-beta1"},
    {"beta2", "optimizer-beta2"},
    {"epsilon", "optimizer-epsilon"},
    {"rho", "optimizer-rho"},
    {"decay-rate", "optimizer-rho"},
    {"non-blocking-mpi", "use-blocking-mpi", kInvert},
    {"blocking-mpi", "use-blocking-mpi"},
    {"enable-conv-gemm", "conv-variant", kWhenTrue, "gemm"},
    {"enable-conv-winograd", "conv-variant", kWhenTrue, "winograd"},
    {"enable-conv-i2c", "conv-variant", kWhenTrue, "i2c"},
    {"enable-conv-direct", "conv-variant", kWhenTrue, "direct"},
    {"model-sync-algo", "model-sync-alg"},
    {"model-state-filename", "weights-and-bias-filename"},
    {"parallel-data", "parallel", kWhenTrue, "data"},
};

constexpr WordAlias kWordAliases[] = {{"accuracy", "categorical_accuracy"}};

constexpr ComputedValue kComputedValues[] = {
    {"mpi-processes", "it is the number of processes that mpirun starts"},
    {"threads-per-process", "set the environment variable OMP_NUM_THREADS"},
    {"gpus-per-node", "it is the number of GPUs found"},
    {"mpi-protocol", "set the environment variable PYMPI_PROTO"},
    {"mpi-server", "set the environment variable PYMPI_ADDR"},
    {"mpi-port", "set the environment variable PYMPI_PORT"},
};

struct GroupText {
  std::string_view name, title;
};
constexpr GroupText kGroups[kOptionGroups] = {
    {"model", "Model and run"},
    {"synchronisation", "Synchronisation of ranks"},
    {"dataset", "Data set"},
    {"optimisation", "Optimisation"},
    {"convolution", "Convolution"},
    {"optimizer", "Optimizer, loss and metrics"},
    {"schedulers", "Learning-rate schedulers"},
    {"parallel", "Parallel and devices"},
    {"encryption", "Encryption"},
    {"tracing", "Tracing and profiling"},
    {"other", "Cost model and others"},
};

}  // namespace

std::string_view Name(OptionGroup group) { return kGroups[static_cast<int>(group)].name; }
std::string_view Title(OptionGroup group) { return kGroups[static_cast<int>(group)].title; }

std::span<const OptionSpec> OptionTable() { return kTable; }

const OptionSpec* FindOption(std::string_view name) {
  const auto it = std::ranges::find(kTable, name, &OptionSpec::name);
  return it == std::end(kTable) ? nullptr : it;
}

std::span<const OptionAlias> AliasTable() { return kAliases; }

const OptionAlias* FindAlias(std::string_view old_name) {
  const auto it = std::ranges::find(kAliases, old_name, &OptionAlias::old_name);
  return it == std::end(kAliases) ? nullptr : it;
}

std::span<const WordAlias> WordAliasTable() { return kWordAliases; }

std::span<const ComputedValue> ComputedValueTable() { return kComputedValues; }

std::string_view LossWords() { return kLosses; }

}  // namespace dtnn
