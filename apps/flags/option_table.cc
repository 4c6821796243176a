#include "apps/flags/option_table.h"

#include <algorithm>
#include <iterator>

namespace dtnn {
namespace {

using enum OptionGroup;
using enum OptionType;

constexpr Range kAny = {};
constexpr Range kAtLeast0 = {.low = 0};
constexpr Range kAtLeast1 = {.low = 1};
constexpr Range kPositive = {.low = 0, .low_open = true};
constexpr Range kFactor = {.low = 0, .high = 1, .low_open = true};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};
constexpr Range kInside01 = {.low = 0, .high = 1, .low_open = true, .high_open = true};
// Numbers that index lists are held to what lists of a common machine can hold.
constexpr Range kSteps = {.low = 0, .high = 1e9};
constexpr Range kSamples = {.low = 1, .high = 1e8};
constexpr Range kPort = {.low = 1, .high = 65535};

constexpr std::string_view kMissingMetrics =
    "categorical_hinge,categorical_mse,categorical_mae,regression_mse,regression_mae,"
    "binary_confusion_matrix,multiclass_confusion_matrix,precision,recall,f1_score";
// What schedulers may watch: any loss and any metric.
constexpr std::string_view kWatched =
    "categorical_cross_entropy,binary_cross_entropy,categorical_accuracy,categorical_hinge,"
    "categorical_mse,categorical_mae,regression_mse,regression_mae,binary_confusion_matrix,"
    "multiclass_confusion_matrix,precision,recall,f1_score";
constexpr std::string_view kValLoss = "val_categorical_cross_entropy";

// A row that works.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         OptionField field, std::string_view help, Range range = kAny) {
  return {.name = name, .group = group, .type = type, .help = help, .range = range, .field = field};
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

// A row that does not work yet.
constexpr OptionSpec Later(std::string_view name, OptionGroup group, OptionType type,
                           std::string_view documented_default,
                           std::optional<std::string_view> harmless, std::string_view help,
                           Range range = kAny) {
  return {.name = name,
          .group = group,
          .type = type,
          .help = help,
          .range = range,
          .documented_default = documented_default,
          .harmless = harmless};
}

constexpr OptionSpec Later(std::string_view name, OptionGroup group, OptionType type,
                           std::string_view documented_default,
                           std::optional<std::string_view> harmless, std::string_view help,
                           std::string_view words) {
  OptionSpec spec = Later(name, group, type, documented_default, harmless, help);
  spec.words = words;
  return spec;
}

// A switch that is off, and may only be switched off.
constexpr OptionSpec LaterSwitch(std::string_view name, OptionGroup group, std::string_view help) {
  return Later(name, group, kBool, "False", "False", help);
}

constexpr std::nullopt_t kNever = std::nullopt;  // no value is harmless
using O = Options;

constexpr OptionSpec kTable[] = {
    Now("model", kModel, kText, &O::model, "network to build; list shows all"),
    Now("batch-size", kModel, kInt, &O::batch_size,
        "samples per step and rank; 64 if no size is given", kAtLeast1),
    Now("global-batch-size", kModel, kInt, &O::global_batch_size,
        "samples per step over all ranks, in place of --batch-size", kAtLeast1),
    Now("dtype", kModel, kWord, &O::dtype, "type of parameters and activations", "float32,float64"),
    Now("num-epochs", kModel, kInt, &O::num_epochs, "passes over the training data", kAtLeast0),
    Now("steps-per-epoch", kModel, kReal, &O::steps_per_epoch,
        "train on this many batches per epoch; 0: on all", kSteps),
    Now("evaluate", kModel, kBool, &O::evaluate, "test before and after training"),
    Now("evaluate-only", kModel, kBool, &O::evaluate_only, "test and do not train"),
    Later("weights-and-bias-filename", kModel, kText, "None", "None", ".npz file to start from"),
    Later("history-file", kModel, kText, "None", "None",
          "file for the loss and metrics of every epoch"),
    Now("tensor-format", kModel, kWord, &O::tensor_format,
        "order of image axes; AUTO: NCHW on a GPU, else NHWC", "NHWC,NCHW,AUTO"),
    Now("random-seed", kModel, kInt, &O::random_seed, "seed of everything random"),

    Later("shared-storage", kSynchronisation, kBool, "True", "True",
          "all ranks see one file system"),
    Later("model-sync-freq", kSynchronisation, kInt, "0", "0",
          "batches between synchronisations; 0: every gradient; negative: never"),
    Later("model-sync-alg", kSynchronisation, kWord, "avg", "avg", "how ranks are weighted",
          "avg,wavg,invwavg"),
    Later("model-sync-participation", kSynchronisation, kWord, "all", "all",
          "which ranks contribute", "all,avail2all"),
    Later("model-sync-min-avail", kSynchronisation, kInt, "0", "0",
          "ranks that must still have data for a synchronisation", kAtLeast0),
    Later("initial-model-sync", kSynchronisation, kBool, "True", "True|False",
          "synchronise before training"),
    Later("final-model-sync", kSynchronisation, kBool, "True", "True|False",
          "average the models after training"),

    Now("dataset", kDataset, kWord, &O::dataset,
        "source of the samples; synthetic: zeros, to time training; list shows all",
        "mnist,synthetic", "cifar10,cyclone,tsunamis,imagenet,archive,folder,chestxray"),
    Now("dataset-path", kDataset, kText, &O::dataset_path,
        "folder of the data; for mnist without one: Debian's Fashion-MNIST"),
    Now("dataset-train-path", kDataset, kText, &O::dataset_train_path,
        "folder of the training part, in place of --dataset-path"),
    Now("dataset-test-path", kDataset, kText, &O::dataset_test_path,
        "folder of the test part, in place of --dataset-path"),
    Now("dataset-lang", kDataset, kText, &O::dataset_lang,
        "language of a text data set (image data ignores it)"),
    Now("dataset-lang2", kDataset, kText, &O::dataset_lang2,
        "second language of a text data set (image data ignores it)"),
    Now("synthetic-train-samples", kDataset, kInt, &O::synthetic_train_samples,
        "training samples of synthetic data", kSamples),
    Now("synthetic-test-samples", kDataset, kInt, &O::synthetic_test_samples,
        "test samples of synthetic data", kSamples),
    Now("synthetic-input-shape", kDataset, kInts, &O::synthetic_input_shape,
        "channels,height,width of a synthetic sample", kAtLeast1),
    Now("synthetic-output-shape", kDataset, kInts, &O::synthetic_output_shape,
        "classes of synthetic data", kAtLeast1),
    Later("dataset-percentage", kDataset, kReal, "0", "0|1",
          "fraction of the data to use; above 1: repeat it; 0: off", kAtLeast0),
    Now("test-as-validation", kDataset, kBool, &O::test_as_validation,
        "validate on the test part and train on all training data"),
    Now("validation-split", kDataset, kReal, &O::validation_split,
        "fraction of the training data held out for validation", kBelow1),
    Now("augment-shuffle", kDataset, kBool, &O::augment_shuffle,
        "shuffle the training data in every epoch"),
    LaterSwitch("augment-flip", kDataset, "mirror training images left to right"),
    Later("augment-flip-prob", kDataset, kReal, "0.5", kNever, "share of images mirrored", kFactor),
    LaterSwitch("augment-crop", kDataset, "crop training images at random"),
    Later("augment-crop-size", kDataset, kInt, "16", kNever, "side of that crop in pixels",
          kAtLeast1),
    Later("augment-crop-prob", kDataset, kReal, "0.5", kNever, "share of images cropped", kFactor),
    LaterSwitch("transform-crop", kDataset, "keep the centre of every image"),
    Later("transform-crop-perc", kDataset, kReal, "0.875", kNever, "fraction of each side kept",
          kFactor),
    LaterSwitch("transform-resize", kDataset, "resize every image to a square"),
    Later("transform-resize-size", kDataset, kInt, "300", kNever, "its side in pixels", kAtLeast1),
    LaterSwitch("normalize", kDataset, "(x + offset) * scale on every sample"),
    Later("normalize-offset", kDataset, kReal, "-0.45", kNever, "that offset"),
    Later("normalize-scale", kDataset, kReal, "3.75", kNever, "that scale"),
    LaterSwitch("use-synthetic-data", kDataset, "zeros in the data set's shape; reads no file"),

    LaterSwitch("enable-best-of", kOptimisation, "time the variants at run time, keep the best"),
    Now("enable-memory-cache", kOptimisation, kBool, &O::enable_memory_cache,
        "keep scratch memory between steps; the plan always does, whatever is set"),
    LaterSwitch("enable-fused-bn-relu", kOptimisation, "fuse batch normalisation and relu"),
    LaterSwitch("enable-fused-conv-relu", kOptimisation, "fuse convolution and relu"),
    LaterSwitch("enable-fused-conv-bn", kOptimisation, "fuse convolution and normalisation"),
    LaterSwitch("enable-fused-conv-bn-relu", kOptimisation, "fuse all three"),

    Now("conv-variant", kConvolution, kWord, &O::conv_variant, "convolution algorithm on CPUs",
        "i2c", "gemm,winograd,direct"),
    Later("conv-direct-method", kConvolution, kText, "", "", "kernel of the direct variant"),
    Later("conv-direct-methods-for-best-of", kConvolution, kText, "", "",
          "direct kernels that --enable-best-of tries as well"),

    Now("optimizer", kOptimizer, kWord, &O::optimizer, "update rule", "sgd,adam", "rmsprop,nadam"),
    Now("learning-rate", kOptimizer, kReal, &O::learning_rate, "step size", kPositive),
    LaterSwitch("learning-rate-scaling", kOptimizer, "divide the rate by the number of ranks"),
    Now("optimizer-momentum", kOptimizer, kReal, &O::optimizer_momentum, "momentum of sgd",
        kAtLeast0),
    Now("optimizer-decay", kOptimizer, kReal, &O::optimizer_decay, "weight decay", kAtLeast0),
    Now("optimizer-nesterov", kOptimizer, kBool, &O::optimizer_nesterov,
        "Nesterov's momentum in sgd"),
    Now("optimizer-beta1", kOptimizer, kReal, &O::optimizer_beta1, "first decay rate of adam",
        kBelow1),
    Now("optimizer-beta2", kOptimizer, kReal, &O::optimizer_beta2, "second decay rate of adam",
        kBelow1),
    Now("optimizer-epsilon", kOptimizer, kReal, &O::optimizer_epsilon,
        "what adam adds under the square root", kPositive),
    Later("optimizer-rho", kOptimizer, kReal, "0.9", kNever, "decay rate of rmsprop", kBelow1),
    Now("loss-func", kOptimizer, kWords, &O::loss_func, "loss to minimise",
        "categorical_cross_entropy,categorical_accuracy", "binary_cross_entropy"),
    Now("metrics", kOptimizer, kWords, &O::metrics, "comma list of what is measured besides",
        "categorical_accuracy", kMissingMetrics),

    Later("schedulers", kSchedulers, kWords, "early_stopping,reduce_lr_on_plateau,model_checkpoint",
          "", "comma list, run in this order",
          "warm_up,early_stopping,reduce_lr_on_plateau,reduce_lr_every_nepochs,model_checkpoint,"
          "stop_at_loss"),
    Later("warm-up-batches", kSchedulers, kInt, "5", kNever, "batches of warm-up", kAtLeast1),
    Later("warm-up-epochs", kSchedulers, kInt, "5", kNever, "epochs of warm-up", kAtLeast0),
    Later("early-stopping-metric", kSchedulers, kMetric, kValLoss, kNever, "what is watched",
          kWatched),
    Later("early-stopping-patience", kSchedulers, kInt, "10", kNever,
          "epochs without improvement before the end", kAtLeast1),
    Later("early-stopping-minimize", kSchedulers, kBool, "True", kNever, "smaller is better"),
    Later("reduce-lr-on-plateau-metric", kSchedulers, kMetric, kValLoss, kNever, "what is watched",
          kWatched),
    Later("reduce-lr-on-plateau-factor", kSchedulers, kReal, "0.1", kNever,
          "what the rate is multiplied by", kInside01),
    Later("reduce-lr-on-plateau-patience", kSchedulers, kInt, "5", kNever,
          "epochs without improvement before that", kAtLeast1),
    Later("reduce-lr-on-plateau-min-lr", kSchedulers, kReal, "0", kNever, "lowest rate", kAtLeast0),
    Later("reduce-lr-every-nepochs-factor", kSchedulers, kReal, "0.1", kNever,
          "what the rate is multiplied by", kInside01),
    Later("reduce-lr-every-nepochs-nepochs", kSchedulers, kInt, "5", kNever,
          "epochs between reductions", kAtLeast1),
    Later("reduce-lr-every-nepochs-min-lr", kSchedulers, kReal, "0", kNever, "lowest rate",
          kAtLeast0),
    Later("stop-at-loss-metric", kSchedulers, kMetric, "val_accuracy", kNever, "what is watched",
          kWatched),
    Later("stop-at-loss-threshold", kSchedulers, kReal, "0", kNever, "value that ends the run"),
    Later("model-checkpoint-metric", kSchedulers, kMetric, kValLoss, kNever, "what is watched",
          kWatched),
    Later("model-checkpoint-save-freq", kSchedulers, kInt, "2", kNever,
          "epochs between checkpoints", kAtLeast1),

    Now("parallel", kParallel, kWord, &O::parallel, "how ranks share the work", "sequential",
        "data"),
    Later("use-blocking-mpi", kParallel, kBool, "True", "True",
          "reduce after the backward pass, not during it"),
    Later("use-mpi-buffers", kParallel, kBool, "None", "None", "send raw buffers, not objects"),
    Now("enable-gpu", kParallel, kBool, &O::enable_gpu, "compute on an NVIDIA GPU"),
    LaterSwitch("enable-gpudirect", kParallel, "hand GPU memory to MPI"),
    LaterSwitch("enable-nccl", kParallel, "reduce with NCCL"),
    Later("enable-cudnn-auto-conv-alg", kParallel, kBool, "True", "True",
          "let cuDNN choose its algorithms"),

    Later("encryption", kEncryption, kWord, "None", "None", "library that encrypts what ranks send",
          "tenseal,openfhe"),
    Later("encryption-poly-degree", kEncryption, kInt, "13", kNever,
          "base-2 logarithm of the ring dimension", kAtLeast1),
    Later("encryption-global-scale", kEncryption, kInt, "40", kNever,
          "base-2 logarithm of the scale", kAtLeast1),
    Later("encryption-security-level", kEncryption, kWord, "128", kNever,
          "bits of security; 0: not enforced", "0,128,192,256"),

    LaterSwitch("tracing", kTracing, "record a trace"),
    Later("tracer-output", kTracing, kText, "", "", "file of the trace"),
    Later("tracer-pmlib-server", kTracing, kText, "127.0.0.1", kNever, "host of the power meter"),
    Later("tracer-pmlib-port", kTracing, kInt, "6526", kNever, "its port", kPort),
    Later("tracer-pmlib-device", kTracing, kText, "", "", "its device"),
    LaterSwitch("profile", kTracing, "print where the time went"),

    LaterSwitch("dry-run", kOther, "check everything, compute nothing"),
    Later("cpu-speed", kOther, kReal, "4e12", kNever, "flop/s in the cost model", kPositive),
    Later("memory-bw", kOther, kReal, "50e9", kNever, "bytes/s of memory in the cost model",
          kPositive),
    Later("network-bw", kOther, kReal, "1e9", kNever, "bytes/s of the network in the cost model",
          kPositive),
    Later("network-lat", kOther, kReal, "0.5e-6", kNever, "seconds per message in the cost model",
          kAtLeast0),
    Later("network-alg", kOther, kWord, "vdg", kNever, "all-reduce in the cost model", "vdg,bta"),
    Later("optimizer-tau", kOther, kInt, "64", kNever, "threshold period of oktopk", kAtLeast1),
    Later("optimizer-tau-prime", kOther, kInt, "32", kNever, "boundary period of oktopk",
          kAtLeast1),
    Later("optimizer-density", kOther, kReal, "0.01", kNever, "share of gradients oktopk sends",
          kFactor),
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

}  // namespace dtnn
